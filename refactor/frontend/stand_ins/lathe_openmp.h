// Stand-in for <omp.h>, used only where none is found: launchers are read, not run, and a host that asks how
// many threads it has or what time it is launches the same kernels.
#pragma once

struct omp_lock_t {};
struct omp_nest_lock_t {};
enum omp_sched_t { omp_sched_static = 1, omp_sched_dynamic = 2, omp_sched_guided = 3, omp_sched_auto = 4 };

extern "C" {
double omp_get_wtime();
double omp_get_wtick();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_get_thread_num();
int omp_get_num_procs();
int omp_get_num_devices();
int omp_get_level();
int omp_in_parallel();
int omp_get_dynamic();
int omp_get_nested();
void omp_set_num_threads(int);
void omp_set_dynamic(int);
void omp_set_nested(int);
void omp_set_schedule(omp_sched_t, int);
void omp_init_lock(omp_lock_t*);
void omp_destroy_lock(omp_lock_t*);
void omp_set_lock(omp_lock_t*);
void omp_unset_lock(omp_lock_t*);
int omp_test_lock(omp_lock_t*);
void omp_init_nest_lock(omp_nest_lock_t*);
void omp_destroy_nest_lock(omp_nest_lock_t*);
void omp_set_nest_lock(omp_nest_lock_t*);
void omp_unset_nest_lock(omp_nest_lock_t*);
}
