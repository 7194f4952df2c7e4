// Device functions that nvcc and NVRTC build in and Clang 19's CUDA wrapper leaves out. Included before every
// source; never copied into an extracted kernel. The cache hints have no effect on the value that is read or
// written.
#pragma once
#if defined(__CUDA__) && defined(__clang__)
#define LATHE_DEVICE_ static __inline__ __device__ __attribute__((always_inline))
#define LATHE_LOAD_(name)                                                                                    \
  template <class T> LATHE_DEVICE_ T name(const T* p) {                                                      \
    return *p;                                                                                               \
  }
#define LATHE_STORE_(name)                                                                                   \
  template <class T> LATHE_DEVICE_ void name(T* p, T v) {                                                    \
    *p = v;                                                                                                  \
  }
LATHE_LOAD_(__ldcs)
LATHE_LOAD_(__ldcg)
LATHE_LOAD_(__ldca)
LATHE_LOAD_(__ldlu)
LATHE_LOAD_(__ldcv)
LATHE_STORE_(__stcs)
LATHE_STORE_(__stcg)
LATHE_STORE_(__stwb)
LATHE_STORE_(__stwt)
#undef LATHE_LOAD_
#undef LATHE_STORE_
LATHE_DEVICE_ float __tanhf(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#undef LATHE_DEVICE_
#endif
