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

// 64 bits are `long` in size_t and `long long` in int64_t under NVRTC, where nvcc has `long` for both: what
// it finds one overload for must not be open here.
#define LATHE_OF_LONG(name, first, second, result)                                                           \
  __device__ inline result name(first a, second b) {                                                         \
    return name(static_cast<result>(a), static_cast<result>(b));                                             \
  }                                                                                                          \
  __device__ inline result name(second a, first b) {                                                         \
    return name(static_cast<result>(a), static_cast<result>(b));                                             \
  }
#define LATHE_OF_LONGS(name)                                                                                 \
  LATHE_OF_LONG(name, long, long long, long long)                                                            \
  LATHE_OF_LONG(name, unsigned long, long long, unsigned long long)                                          \
  LATHE_OF_LONG(name, long, unsigned long long, unsigned long long)                                          \
  LATHE_OF_LONG(name, unsigned long, unsigned long long, unsigned long long)
LATHE_OF_LONGS(min)
LATHE_OF_LONGS(max)
#undef LATHE_OF_LONGS
#undef LATHE_OF_LONG

// Mathematics of integers, and of numbers of two types, are those of double, as the C++ library's templates
// have it under nvcc. Templates, so that types with conversions of their own (__half) meet the built-in
// overloads alone.
namespace lathe_prelude {
template <class T> struct Integer {};
template <> struct Integer<int> {
  using type = double;
};
template <> struct Integer<unsigned> {
  using type = double;
};
template <> struct Integer<long> {
  using type = double;
};
template <> struct Integer<unsigned long> {
  using type = double;
};
template <> struct Integer<long long> {
  using type = double;
};
template <> struct Integer<unsigned long long> {
  using type = double;
};
// Those between which NVRTC's own overloads leave the choice open.
template <class A, class B> struct Mixed {};
template <> struct Mixed<float, double> {
  using type = double;
};
template <> struct Mixed<double, float> {
  using type = double;
};
template <> struct Mixed<float, float> {};
template <class A> struct Mixed<A, A> : Integer<A> {};
template <class B> struct Mixed<float, B> : Integer<B> {};
} // namespace lathe_prelude
#define LATHE_OF_INTEGERS(name)                                                                              \
  template <class T> __device__ inline typename lathe_prelude::Integer<T>::type name(T x) {                  \
    return name(static_cast<double>(x));                                                                     \
  }
#define LATHE_OF_TWO_TYPES(name)                                                                             \
  template <class A, class B> __device__ inline typename lathe_prelude::Mixed<A, B>::type name(A a, B b) {   \
    return name(static_cast<double>(a), static_cast<double>(b));                                             \
  }
LATHE_OF_INTEGERS(exp)
LATHE_OF_INTEGERS(exp2)
LATHE_OF_INTEGERS(log)
LATHE_OF_INTEGERS(log2)
LATHE_OF_INTEGERS(log10)
LATHE_OF_INTEGERS(log1p)
LATHE_OF_INTEGERS(sqrt)
LATHE_OF_INTEGERS(cbrt)
LATHE_OF_INTEGERS(sin)
LATHE_OF_INTEGERS(cos)
LATHE_OF_INTEGERS(tan)
LATHE_OF_INTEGERS(atan)
LATHE_OF_INTEGERS(asin)
LATHE_OF_INTEGERS(acos)
LATHE_OF_INTEGERS(tanh)
LATHE_OF_INTEGERS(sinh)
LATHE_OF_INTEGERS(cosh)
LATHE_OF_INTEGERS(erf)
LATHE_OF_INTEGERS(floor)
LATHE_OF_INTEGERS(ceil)
LATHE_OF_INTEGERS(round)
LATHE_OF_INTEGERS(trunc)
LATHE_OF_INTEGERS(fabs)
LATHE_OF_TWO_TYPES(pow)
LATHE_OF_TWO_TYPES(fmod)
LATHE_OF_TWO_TYPES(atan2)
LATHE_OF_TWO_TYPES(hypot)
LATHE_OF_TWO_TYPES(fmin)
LATHE_OF_TWO_TYPES(fmax)
LATHE_OF_TWO_TYPES(fdim)
#undef LATHE_OF_INTEGERS
#undef LATHE_OF_TWO_TYPES
