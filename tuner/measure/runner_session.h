// One problem on the runner's device: rotating buffer sets with guard bands, the reference's outputs,
// verification, and timing by graph replay.
#pragma once

#include "tuner/measure/fill.h"
#include "tuner/measure/runner_device.h"
#include "tuner/profile/range_profiler.h"

#include <functional>

// Return from a function of DeviceStatus when a driver call or a step failed.
#define LATHE_DEVICE(call, action)                                                                           \
  do {                                                                                                       \
    DeviceStatus device_status = device_.status_of(call, action);                                            \
    if (!device_status.ok())                                                                                 \
      return device_status;                                                                                  \
  } while (false)
#define LATHE_STEP(expression)                                                                               \
  do {                                                                                                       \
    DeviceStatus device_status = (expression);                                                               \
    if (!device_status.ok())                                                                                 \
      return device_status;                                                                                  \
  } while (false)

namespace lathe {

class RunnerSession {
public:
  // Allocates, fills, runs and, when asked to, times the reference and the copy floor.
  static Result<std::unique_ptr<RunnerSession>> create(RunnerDevice& device, SetupRequest request,
                                                       SetupReply& reply);

  ~RunnerSession();
  RunnerSession(const RunnerSession&) = delete;
  RunnerSession& operator=(const RunnerSession&) = delete;

  EvaluateReply evaluate(const EvaluateRequest& request);
  CompareReply compare(const CompareRequest& request);
  ProfileReply profile(const ProfileRequest& request);

private:
  // A replay should last this long: short enough for ten thousand configurations, long against an event's
  // resolution of half a microsecond.
  static constexpr double REPLAY_US = 300;

  struct Set {
    std::vector<CUdeviceptr> data; // a buffer each
  };
  // A captured sequence of launches over the sets, with event records at both ends inside the graph: a sample
  // has no launch latency in it.
  struct Replay {
    CUgraphExec graph = nullptr;
    CUevent begin = nullptr, end = nullptr;
    int nodes = 0;
  };
  struct RefreshEntry { // as in gpu_utilities.cu
    element::FillPlan plan;
    CUdeviceptr data;
    std::uint64_t poison, poisoned;
  };
  struct Finding { // as in gpu_utilities.cu
    std::uint64_t worst, failures, first;
    double sum;
    std::uint64_t used;
  };

  explicit RunnerSession(RunnerDevice& device) : device_(device) {}

  DeviceStatus load_utilities();
  DeviceStatus allocate();
  DeviceStatus fill_sets();
  DeviceStatus run_reference();
  DeviceStatus run_reference_once(CUfunction function, std::size_t check);
  DeviceStatus read_outputs(std::vector<std::string>& outputs); // of the reference, check 0
  DeviceStatus utility(const char* name, std::uint64_t elements, std::vector<void*> arguments);
  DeviceStatus fill(std::size_t set, std::size_t buffer);
  // Writes the tables of `refresh`.
  DeviceStatus plan_refresh();
  // Fills and poisons every buffer of every set anew, with the values of the present version.
  DeviceStatus refresh();
  DeviceStatus clear_findings();
  DeviceStatus read_findings(std::size_t count);
  DeviceStatus flush();

  // Writes the set's inputs and poisons its outputs.
  DeviceStatus reset(std::size_t set, std::byte poison);
  DeviceStatus launch(CUfunction function, const Launch& geometry, std::size_t set);
  // Compares the outputs of check number `check` with the reference's of the present version, and looks at
  // inputs and guards.
  DeviceStatus judge(std::size_t check, double& error);
  // Two runs, poisoned differently, of different data; `first_us` is the time of the first, roughly.
  DeviceStatus verify(CUfunction function, const Launch& geometry, double limit_s, double& error,
                      double& first_us);
  // The launches of a replay as it is timed are judged.
  DeviceStatus verify_replay(const Replay& replay, CUfunction function, const Launch& geometry,
                             double limit_s, double& error);
  // What a replay that just ended left in the sets that it reached.
  DeviceStatus judge_replay(const Replay& replay, double& error);

  int nodes_for(double estimate_us) const;
  DeviceStatus capture(int nodes, const std::function<DeviceStatus(std::size_t set)>& enqueue,
                       Replay& replay);
  void release(Replay& replay);
  // Microseconds a launch of one replay. Before it, every buffer gets the values of the other version and
  // every output its poison: a kernel can tell a timed call neither from a verified one nor from the one
  // before.
  DeviceStatus sample(const Replay& replay, double limit_s, double& us);
  // `error`: where a timed call, chosen at random, is judged as well.
  DeviceStatus time(const Replay& replay, const RunnerTiming& timing, Timing& result,
                    double* error = nullptr);
  // In the sets' memory, before they are filled.
  DeviceStatus measure_copies(SetupReply& reply);
  DeviceStatus time_copies(std::uint64_t bytes, std::uint64_t chunk, double& us);
  double physics_floor_us(double bytes_per_second, double raw_us) const;

  element::FillPlan plan(std::size_t set, std::size_t buffer) const;
  std::size_t check_set(std::size_t check) const { return check == 0 ? 0 : sets_.size() - 1; }
  std::byte poison_of_check(std::size_t check) const {
    return POISONS[(static_cast<std::size_t>(version_) + check) % 2];
  }
  std::uint64_t bytes_of(std::size_t buffer) const;

  RunnerDevice& device_;
  SetupRequest request_;
  CUmodule utilities_ = nullptr;
  std::vector<Set> sets_;
  std::uint64_t set_bytes_ = 0, moved_bytes_ = 0;
  int version_ = 0; // of the values that the sets hold
  bool sets_exceed_l2_ = false;
  bool filled_ = false;
  DeviceMemory arena_; // the sets, side by side
  std::uint64_t arena_bytes_ = 0;
  DeviceMemory flush_, findings_, bands_;
  std::uint64_t flush_bytes_ = 0, band_count_ = 0;
  std::vector<DeviceMemory> reference_[2][2]; // by version and check; a buffer each, empty for inputs
  std::vector<double> magnitudes_;            // a buffer each
  std::vector<Finding> found_;
  DeviceMemory refresh_tables_[2]; // a RefreshEntry for each buffer of each set, by version
  CUfunction refresh_function_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  std::unique_ptr<RangeProfiler> profiler_; // once a profile was asked for
};

} // namespace lathe
