// Where a kernel finds its block and thread, the executor's functions, and CUDA's keywords.
#pragma once

#include "lathe_abi.h"

extern "C" __attribute__((visibility("hidden"))) const lathe_host::Api* lathe_api;

#define LATHE_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define LATHE_UNCHECKED __attribute__((disable_sanitizer_instrumentation))
#else
#define LATHE_UNCHECKED
#endif

namespace lathe_host {

// A fiber's stack lies in its arena, so the stack pointer is the thread's identity. Not volatile: it is the
// same arena and slot wherever a thread asks.
LATHE_INLINE uintptr_t stack_pointer() {
  uintptr_t value;
  __asm__("mov %%rsp, %0" : "=r"(value));
  return value;
}
LATHE_INLINE uintptr_t arena() {
  return stack_pointer() & ~(static_cast<uintptr_t>(ARENA_BYTES) - 1);
}
LATHE_INLINE const Block& block() {
  return *reinterpret_cast<const Block*>(arena());
}
LATHE_INLINE ThreadSlot& thread() {
  const uintptr_t sp = stack_pointer();
  const uintptr_t slot = (sp & (ARENA_BYTES - 1)) / SLOT_BYTES;
  return *reinterpret_cast<ThreadSlot*>((sp & ~(static_cast<uintptr_t>(ARENA_BYTES) - 1)) +
                                        THREAD_SLOTS_OFFSET + slot * sizeof(ThreadSlot));
}
LATHE_INLINE unsigned lane() {
  return thread().linear % WARP;
}

// Stands where inline assembly could not be translated.
inline void unsupported(const char* why, int line) {
  lathe_api->fail(why, nullptr, line);
}

} // namespace lathe_host

#undef __host__
#undef __device__
#undef __global__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __grid_constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __maxnreg__
#undef __cluster_dims__
#undef __block_size__
#undef __align__
#undef __device_builtin__
#undef __device_builtin_texture_type__
#undef __device_builtin_surface_type__
#undef __cudart_builtin__
#undef __nv_pure__
#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __nv_pure__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __align__(n) __attribute__((aligned(n)))
