// What cub had for device code before CUDA 13 and has no longer, in terms of CUDA's own functions. Included
// by a source only where it names one of these.
#pragma once

namespace cub {

__device__ __forceinline__ unsigned int LaneId() {
  unsigned int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ __forceinline__ unsigned int WarpId() {
  unsigned int warp;
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  return warp;
}

// The lanes in front of, up to, behind and from a thread's own.
__device__ __forceinline__ unsigned int LaneMaskLt() {
  return (1u << LaneId()) - 1u;
}
__device__ __forceinline__ unsigned int LaneMaskLe() {
  return LaneMaskLt() | 1u << LaneId();
}
__device__ __forceinline__ unsigned int LaneMaskGt() {
  return ~LaneMaskLe();
}
__device__ __forceinline__ unsigned int LaneMaskGe() {
  return ~LaneMaskLt();
}

__device__ __forceinline__ void CTA_SYNC() {
  __syncthreads();
}
__device__ __forceinline__ int CTA_SYNC_AND(int holds) {
  return __syncthreads_and(holds);
}
__device__ __forceinline__ int CTA_SYNC_OR(int holds) {
  return __syncthreads_or(holds);
}
__device__ __forceinline__ void WARP_SYNC(unsigned int lanes) {
  __syncwarp(lanes);
}
__device__ __forceinline__ int WARP_ANY(int holds, unsigned int lanes) {
  return __any_sync(lanes, holds);
}
__device__ __forceinline__ int WARP_ALL(int holds, unsigned int lanes) {
  return __all_sync(lanes, holds);
}
__device__ __forceinline__ int WARP_BALLOT(int holds, unsigned int lanes) {
  return static_cast<int>(__ballot_sync(lanes, holds));
}

__device__ __forceinline__ unsigned int SHR_ADD(unsigned int value, unsigned int shift, unsigned int added) {
  return (value >> shift) + added;
}
__device__ __forceinline__ unsigned int SHL_ADD(unsigned int value, unsigned int shift, unsigned int added) {
  return (value << shift) + added;
}
__device__ __forceinline__ unsigned int IADD3(unsigned int a, unsigned int b, unsigned int c) {
  return a + b + c;
}
__device__ __forceinline__ int PRMT(unsigned int a, unsigned int b, unsigned int selector) {
  return static_cast<int>(__byte_perm(a, b, selector));
}

template <int NUMBER> struct Int2Type {
  enum { VALUE = NUMBER };
};
template <bool HOLDS, class Then, class Else> struct If {
  typedef Then Type;
};
template <class Then, class Else> struct If<false, Then, Else> {
  typedef Else Type;
};
template <class A, class B> struct Equals {
  enum { VALUE = 0, NEGATE = 1 };
};
template <class A> struct Equals<A, A> {
  enum { VALUE = 1, NEGATE = 0 };
};
template <class T> struct RemoveQualifiers {
  typedef T Type;
};
template <class T> struct RemoveQualifiers<const T> {
  typedef T Type;
};
template <class T> struct RemoveQualifiers<volatile T> {
  typedef T Type;
};
template <class T> struct RemoveQualifiers<const volatile T> {
  typedef T Type;
};

} // namespace cub
