// Read before every source: what nvcc's implicit cuda_runtime.h brings and NVRTC does not.
#pragma once
#ifndef INFINITY
#define INFINITY (__builtin_bit_cast(float, 0x7f800000u))
#endif
#ifndef NAN
#define NAN (__builtin_bit_cast(float, 0x7fc00000u))
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#define HUGE_VAL (__builtin_bit_cast(double, 0x7ff0000000000000ull))
#endif
#define __asm__ asm
#define __volatile__ volatile
#define __extension__

// Programmatic dependent launch, as cuda_device_runtime_api.h has it; without it in the architecture there is
// nothing to wait for.
__device__ inline void cudaGridDependencySynchronize() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void cudaTriggerProgrammaticLaunchCompletion() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
