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

// Atomic functions (CUDA 12.8 and newer): in what order they take effect, and for whom, is not followed.
enum {
  __NV_ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST
};
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};
template <class T> struct lathe_plain_ {
  using type = T;
};
template <class T> struct lathe_plain_<const T> {
  using type = T;
};
template <class T> struct lathe_plain_<volatile T> {
  using type = T;
};
template <class T> struct lathe_plain_<const volatile T> {
  using type = T;
};
LATHE_DEVICE_ void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __threadfence();
}
template <class T>
LATHE_DEVICE_ typename lathe_plain_<T>::type __nv_atomic_load_n(T* p, int order,
                                                                int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typename lathe_plain_<T>::type value;
  __atomic_load(p, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T>
LATHE_DEVICE_ void __nv_atomic_load(T* p, typename lathe_plain_<T>::type* into, int order,
                                    int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __atomic_load(p, into, __ATOMIC_RELAXED);
}
template <class T>
LATHE_DEVICE_ void __nv_atomic_store_n(T* p, typename lathe_same_<T>::type value, int order,
                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __atomic_store(p, &value, __ATOMIC_RELAXED);
}
template <class T>
LATHE_DEVICE_ void __nv_atomic_store(T* p, typename lathe_same_<T>::type* value, int order,
                                     int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __atomic_store(p, value, __ATOMIC_RELAXED);
}
template <class T>
LATHE_DEVICE_ T __nv_atomic_exchange_n(T* p, typename lathe_same_<T>::type value, int order,
                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {
  T before;
  __atomic_exchange(p, &value, &before, __ATOMIC_RELAXED);
  return before;
}
template <class T>
LATHE_DEVICE_ void __nv_atomic_exchange(T* p, typename lathe_same_<T>::type* value,
                                        typename lathe_same_<T>::type* into, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __atomic_exchange(p, value, into, __ATOMIC_RELAXED);
}
template <class T>
LATHE_DEVICE_ bool __nv_atomic_compare_exchange_n(T* p, typename lathe_same_<T>::type* expected,
                                                  typename lathe_same_<T>::type desired, bool weak, int order,
                                                  int otherwise, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __atomic_compare_exchange(p, expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
template <class T>
LATHE_DEVICE_ bool __nv_atomic_compare_exchange(T* p, typename lathe_same_<T>::type* expected,
                                                typename lathe_same_<T>::type* desired, bool weak, int order,
                                                int otherwise, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __atomic_compare_exchange(p, expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#define LATHE_NV_ATOMIC_(name)                                                                               \
  template <class T>                                                                                         \
  LATHE_DEVICE_ T __nv_atomic_fetch_##name(T* p, typename lathe_same_<T>::type value, int order,             \
                                           int scope = __NV_THREAD_SCOPE_SYSTEM) {                           \
    return __atomic_fetch_##name(p, value, __ATOMIC_RELAXED);                                                \
  }                                                                                                          \
  template <class T>                                                                                         \
  LATHE_DEVICE_ void __nv_atomic_##name(T* p, typename lathe_same_<T>::type value, int order,                \
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {                              \
    __atomic_fetch_##name(p, value, __ATOMIC_RELAXED);                                                       \
  }
LATHE_NV_ATOMIC_(add)
LATHE_NV_ATOMIC_(sub)
LATHE_NV_ATOMIC_(min)
LATHE_NV_ATOMIC_(max)
LATHE_NV_ATOMIC_(and)
LATHE_NV_ATOMIC_(or)
LATHE_NV_ATOMIC_(xor)
#undef LATHE_NV_ATOMIC_

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
