// Stand-in for the few device functions and macros of ATen that kernels of PyTorch extensions call: warp
// primitives with their defaults, atomic addition, and the grid-stride loop. Kernels that use them are
// compiled with this text, which therefore belongs to what a certificate trusts.
#pragma once
#include "lathe_c10_types.h"

#define LATHE_ATEN_SHUFFLE(name, primitive, operand)                                                         \
  template <class T>                                                                                         \
  __device__ __forceinline__ T name(T value, operand, int width = 32, unsigned mask = 0xffffffffu) {         \
    return primitive(mask, value, lane, width);                                                              \
  }
LATHE_ATEN_SHUFFLE(WARP_SHFL, __shfl_sync, int lane)
LATHE_ATEN_SHUFFLE(WARP_SHFL_XOR, __shfl_xor_sync, int lane)
LATHE_ATEN_SHUFFLE(WARP_SHFL_UP, __shfl_up_sync, unsigned lane)
LATHE_ATEN_SHUFFLE(WARP_SHFL_DOWN, __shfl_down_sync, unsigned lane)
#undef LATHE_ATEN_SHUFFLE
__device__ __forceinline__ unsigned WARP_ACTIVE_MASK() {
  return __activemask();
}
__device__ __forceinline__ unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffffu) {
  return __ballot_sync(mask, predicate);
}
__device__ __forceinline__ void WARP_SYNC(unsigned mask = 0xffffffffu) {
  __syncwarp(mask);
}

template <class T> __device__ __forceinline__ T gpuAtomicAdd(T* address, T value) {
  return atomicAdd(address, value);
}
template <class T> __device__ __forceinline__ void gpuAtomicAddNoReturn(T* address, T value) {
  atomicAdd(address, value);
}

#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                              \
  long long lathe_index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;                     \
  for (index_type i = lathe_index; lathe_index < (n); lathe_index += blockDim.x * gridDim.x, i = lathe_index)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
