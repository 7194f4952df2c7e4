// Stand-in for the few device functions and macros of ATen that kernels of PyTorch extensions call: warp
// primitives with their defaults, atomic addition, and the grid-stride loop. Kernels that use them are
// compiled with this text, which therefore belongs to what a certificate trusts.
#pragma once
#include "lathe_c10_types.h"

#include <cassert>

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

template <class T> __host__ __device__ __forceinline__ T THCCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}

// Of PyTorch's own types, as its headers have it.
#define LATHE_ATEN_ATOMIC_ADD(type, raw)                                                                     \
  __device__ __forceinline__ type atomicAdd(type* address, type value) {                                     \
    return static_cast<type>(atomicAdd(reinterpret_cast<raw*>(address), static_cast<raw>(value)));           \
  }
LATHE_ATEN_ATOMIC_ADD(c10::Half, __half)
LATHE_ATEN_ATOMIC_ADD(c10::BFloat16, __nv_bfloat16)
#undef LATHE_ATEN_ATOMIC_ADD

template <class T> __device__ __forceinline__ T gpuAtomicAdd(T* address, T value) {
  return atomicAdd(address, value);
}
template <class T> __device__ __forceinline__ void gpuAtomicAddNoReturn(T* address, T value) {
  atomicAdd(address, value);
}

// What CUDA has no instruction for is a loop of compare and swap over the number's bits, which ends where
// nobody else changed them. Of two numbers, one of which is not a number, that one is the greater and the
// lesser.
namespace lathe {
template <unsigned bytes> struct AtomicBits;
template <> struct AtomicBits<2> {
  using type = unsigned short;
};
template <> struct AtomicBits<4> {
  using type = unsigned int;
};
template <> struct AtomicBits<8> {
  using type = unsigned long long;
};

template <class T, class Combine>
__device__ __forceinline__ T atomically(T* address, T value, Combine combine) {
  using Bits = typename AtomicBits<sizeof(T)>::type;
  Bits* const place = reinterpret_cast<Bits*>(address);
  T before = *address;
  for (;;) {
    const T after = combine(before, value);
    const Bits assumed = *reinterpret_cast<const Bits*>(&before);
    const Bits found = atomicCAS(place, assumed, *reinterpret_cast<const Bits*>(&after));
    before = *reinterpret_cast<const T*>(&found);
    if (found == assumed)
      return before;
  }
}
} // namespace lathe

template <class T> __device__ __forceinline__ T gpuAtomicMax(T* address, T value) {
  return lathe::atomically(address, value, [](T a, T b) { return a != a ? a : b != b ? b : a < b ? b : a; });
}
template <class T> __device__ __forceinline__ T gpuAtomicMin(T* address, T value) {
  return lathe::atomically(address, value, [](T a, T b) { return a != a ? a : b != b ? b : b < a ? b : a; });
}
template <class T> __device__ __forceinline__ T gpuAtomicMul(T* address, T value) {
  return lathe::atomically(address, value, [](T a, T b) { return static_cast<T>(a * b); });
}

// What a kernel holds to be true.
#define CUDA_KERNEL_ASSERT(condition) assert(condition)
#define CUDA_KERNEL_ASSERT_MSG(condition, message) assert(condition)
#define CUDA_KERNEL_ASSERT_PRINTF(condition, ...) assert(condition)
#define CUDA_KERNEL_ASSERT2(condition) assert(condition)

// Where a kernel tells of assertions that do not hold: here they stop it.
namespace c10::cuda {
struct DeviceAssertionsData;
}
#define TORCH_DSA_KERNEL_ARGS                                                                                \
  [[maybe_unused]] c10::cuda::DeviceAssertionsData *const assertions_data,                                   \
      [[maybe_unused]] unsigned assertion_caller_id
#define TORCH_DSA_KERNEL_LAUNCH(kernel, grid, block, shared, stream, ...)                                    \
  kernel<<<grid, block, shared, stream>>>(__VA_ARGS__, nullptr, 0u)

#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                              \
  long long lathe_index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;                     \
  for (index_type i = lathe_index; lathe_index < (n); lathe_index += blockDim.x * gridDim.x, i = lathe_index)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
