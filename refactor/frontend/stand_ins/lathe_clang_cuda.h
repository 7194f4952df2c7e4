// Device functions that nvcc and NVRTC build in and Clang 19's CUDA wrapper leaves out. Included before every
// source; never copied into an extracted kernel. The cache hints have no effect on the value that is read or
// written.
#pragma once
// nvcc's own headers include these before every source (crt/common_functions.h).
#include <assert.h>
#include <string.h>
#include <time.h>
#if defined(__CUDA__) && defined(__clang__)
#define LATHE_DEVICE_ static __inline__ __device__ __attribute__((always_inline))
#define LATHE_LOAD_(name)                                                                                    \
  template <class T> LATHE_DEVICE_ T name(const T* p) {                                                      \
    return *p;                                                                                               \
  }
// The pointer alone decides the type: the value converts to it, as to nvcc's overloads.
template <class T> struct lathe_same_ {
  using type = T;
};
#define LATHE_STORE_(name)                                                                                   \
  template <class T> LATHE_DEVICE_ void name(T* p, typename lathe_same_<T>::type v) {                        \
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
LATHE_DEVICE_ int __signbit(double x) {
  return __signbitd(x);
}
#undef LATHE_DEVICE_

// nvcc and NVRTC declare it for both sides before every source, the wrapper for devices alone.
extern "C" int printf(const char*, ...);

// nvcc lets host code call CUDA's min and max, which the wrapper declares for devices alone.
#define LATHE_EXTREMES_(type, a_type, b_type)                                                                \
  static __inline__ __host__ type min(a_type a, b_type b) {                                                  \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(a) : static_cast<type>(b);        \
  }                                                                                                          \
  static __inline__ __host__ type max(a_type a, b_type b) {                                                  \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(b) : static_cast<type>(a);        \
  }
#define LATHE_INTEGERS_(name)                                                                                \
  LATHE_EXTREMES_(name, name, name)                                                                          \
  LATHE_EXTREMES_(unsigned name, unsigned name, unsigned name)                                               \
  LATHE_EXTREMES_(unsigned name, name, unsigned name)                                                        \
  LATHE_EXTREMES_(unsigned name, unsigned name, name)
LATHE_INTEGERS_(int)
LATHE_INTEGERS_(long)
LATHE_INTEGERS_(long long)
LATHE_EXTREMES_(float, float, float)
LATHE_EXTREMES_(double, double, double)
LATHE_EXTREMES_(double, float, double)
LATHE_EXTREMES_(double, double, float)
#undef LATHE_INTEGERS_
#undef LATHE_EXTREMES_
#endif
