// Stand-in for PyTorch's complex numbers: products by their definition, quotients by the larger part of the
// divisor. Kernels that name this type are compiled with this text, which therefore belongs to what a
// certificate trusts.
#pragma once
#include <type_traits>

namespace c10 {

template <class T> struct alignas(sizeof(T) * 2) complex {
  using value_type = T;
  T real_ = T(0), imag_ = T(0);

  constexpr complex() = default;
  __host__ __device__ constexpr complex(const T& real, const T& imag = T()) : real_(real), imag_(imag) {}
  // Implicit where nothing is lost.
  template <class U, std::enable_if_t<(sizeof(U) < sizeof(T)), int> = 0>
  __host__ __device__ constexpr complex(const complex<U>& other)
      : real_(static_cast<T>(other.real_)), imag_(static_cast<T>(other.imag_)) {}
  template <class U, std::enable_if_t<(sizeof(U) > sizeof(T)), int> = 0>
  __host__ __device__ explicit constexpr complex(const complex<U>& other)
      : real_(static_cast<T>(other.real_)), imag_(static_cast<T>(other.imag_)) {}

  __host__ __device__ constexpr T real() const { return real_; }
  __host__ __device__ constexpr void real(T value) { real_ = value; }
  __host__ __device__ constexpr T imag() const { return imag_; }
  __host__ __device__ constexpr void imag(T value) { imag_ = value; }
  __host__ __device__ constexpr explicit operator bool() const { return real_ != T(0) || imag_ != T(0); }

  __host__ __device__ constexpr complex& operator=(T real) {
    real_ = real;
    imag_ = T(0);
    return *this;
  }
  __host__ __device__ constexpr complex& operator+=(T real) {
    real_ += real;
    return *this;
  }
  __host__ __device__ constexpr complex& operator-=(T real) {
    real_ -= real;
    return *this;
  }
  __host__ __device__ constexpr complex& operator*=(T real) {
    real_ *= real;
    imag_ *= real;
    return *this;
  }
  __host__ __device__ constexpr complex& operator/=(T real) {
    real_ /= real;
    imag_ /= real;
    return *this;
  }
  template <class U> __host__ __device__ constexpr complex& operator+=(const complex<U>& by) {
    real_ += by.real_;
    imag_ += by.imag_;
    return *this;
  }
  template <class U> __host__ __device__ constexpr complex& operator-=(const complex<U>& by) {
    real_ -= by.real_;
    imag_ -= by.imag_;
    return *this;
  }
  template <class U> __host__ __device__ constexpr complex& operator*=(const complex<U>& by) {
    const T real = real_, imag = imag_;
    real_ = real * by.real_ - imag * by.imag_;
    imag_ = real * by.imag_ + imag * by.real_;
    return *this;
  }
  template <class U> __host__ __device__ constexpr complex& operator/=(const complex<U>& by) {
    const T real = real_, imag = imag_;
    const U size_of_real = by.real_ < 0 ? -by.real_ : by.real_;
    const U size_of_imag = by.imag_ < 0 ? -by.imag_ : by.imag_;
    if (size_of_real < size_of_imag) {
      const U ratio = by.real_ / by.imag_, scale = U(1) / (by.real_ * ratio + by.imag_);
      real_ = (real * ratio + imag) * scale;
      imag_ = (imag * ratio - real) * scale;
    } else if (size_of_real == U(0) && size_of_imag == U(0)) {
      real_ = real / size_of_real;
      imag_ = imag / size_of_imag;
    } else {
      const U ratio = by.imag_ / by.real_, scale = U(1) / (by.real_ + by.imag_ * ratio);
      real_ = (real + imag * ratio) * scale;
      imag_ = (imag - real * ratio) * scale;
    }
    return *this;
  }
};

template <class T> __host__ __device__ constexpr complex<T> operator+(const complex<T>& a) {
  return a;
}
template <class T> __host__ __device__ constexpr complex<T> operator-(const complex<T>& a) {
  return {-a.real_, -a.imag_};
}
template <class T> __host__ __device__ constexpr bool operator==(const complex<T>& a, const complex<T>& b) {
  return a.real_ == b.real_ && a.imag_ == b.imag_;
}
template <class T> __host__ __device__ constexpr bool operator!=(const complex<T>& a, const complex<T>& b) {
  return !(a == b);
}
// Between two of them, with a real number on either side, and with a whole one.
#define LATHE_C10_COMPLEX(operation, assignment)                                                             \
  template <class T>                                                                                         \
  __host__ __device__ constexpr complex<T> operator operation(const complex<T>& a, const complex<T>& b) {    \
    complex<T> result = a;                                                                                   \
    return result assignment b;                                                                              \
  }                                                                                                          \
  template <class T>                                                                                         \
  __host__ __device__ constexpr complex<T> operator operation(const complex<T>& a, const T & b) {            \
    complex<T> result = a;                                                                                   \
    return result assignment b;                                                                              \
  }                                                                                                          \
  template <class T>                                                                                         \
  __host__ __device__ constexpr complex<T> operator operation(const T & a, const complex<T>& b) {            \
    complex<T> result(a);                                                                                    \
    return result assignment b;                                                                              \
  }                                                                                                          \
  template <class T, class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>                              \
  __host__ __device__ constexpr complex<T> operator operation(const complex<T>& a, const I & b) {            \
    complex<T> result = a;                                                                                   \
    return result assignment static_cast<T>(b);                                                              \
  }                                                                                                          \
  template <class T, class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>                              \
  __host__ __device__ constexpr complex<T> operator operation(const I & a, const complex<T>& b) {            \
    complex<T> result(static_cast<T>(a));                                                                    \
    return result assignment b;                                                                              \
  }
LATHE_C10_COMPLEX(+, +=)
LATHE_C10_COMPLEX(-, -=)
LATHE_C10_COMPLEX(*, *=)
LATHE_C10_COMPLEX(/, /=)
#undef LATHE_C10_COMPLEX

} // namespace c10

namespace std {
template <class T> __host__ __device__ constexpr T real(const c10::complex<T>& a) {
  return a.real_;
}
template <class T> __host__ __device__ constexpr T imag(const c10::complex<T>& a) {
  return a.imag_;
}
template <class T> __host__ __device__ constexpr c10::complex<T> conj(const c10::complex<T>& a) {
  return {a.real_, -a.imag_};
}
template <class T> __host__ __device__ constexpr T norm(const c10::complex<T>& a) {
  return a.real_ * a.real_ + a.imag_ * a.imag_;
}
template <class T> __host__ __device__ T abs(const c10::complex<T>& a) {
  return ::hypot(a.real_, a.imag_);
}
template <class T> __host__ __device__ T arg(const c10::complex<T>& a) {
  return ::atan2(a.imag_, a.real_);
}
} // namespace std

// PyTorch's functions of complex numbers, by their definitions, under its own namespace, the standard's and
// none.
namespace c10_complex_math {
template <class T> __host__ __device__ c10::complex<T> exp(const c10::complex<T>& a) {
  const T length = ::exp(a.real_);
  return {length * ::cos(a.imag_), length * ::sin(a.imag_)};
}
template <class T> __host__ __device__ c10::complex<T> log(const c10::complex<T>& a) {
  return {::log(::hypot(a.real_, a.imag_)), ::atan2(a.imag_, a.real_)};
}
template <class T> __host__ __device__ c10::complex<T> sqrt(const c10::complex<T>& a) {
  const T length = ::sqrt(::hypot(a.real_, a.imag_)), angle = ::atan2(a.imag_, a.real_) / T(2);
  return {length * ::cos(angle), length * ::sin(angle)};
}
template <class T>
__host__ __device__ c10::complex<T> pow(const c10::complex<T>& a, const c10::complex<T>& by) {
  return c10_complex_math::exp(c10_complex_math::log(a) * by);
}
template <class T> __host__ __device__ c10::complex<T> pow(const c10::complex<T>& a, const T& by) {
  return c10_complex_math::exp(c10_complex_math::log(a) * by);
}
template <class T> __host__ __device__ c10::complex<T> sin(const c10::complex<T>& a) {
  return {::sin(a.real_) * ::cosh(a.imag_), ::cos(a.real_) * ::sinh(a.imag_)};
}
template <class T> __host__ __device__ c10::complex<T> cos(const c10::complex<T>& a) {
  return {::cos(a.real_) * ::cosh(a.imag_), -::sin(a.real_) * ::sinh(a.imag_)};
}
template <class T> __host__ __device__ c10::complex<T> sinh(const c10::complex<T>& a) {
  return {::sinh(a.real_) * ::cos(a.imag_), ::cosh(a.real_) * ::sin(a.imag_)};
}
template <class T> __host__ __device__ c10::complex<T> cosh(const c10::complex<T>& a) {
  return {::cosh(a.real_) * ::cos(a.imag_), ::sinh(a.real_) * ::sin(a.imag_)};
}
template <class T> __host__ __device__ c10::complex<T> tan(const c10::complex<T>& a) {
  return c10_complex_math::sin(a) / c10_complex_math::cos(a);
}
template <class T> __host__ __device__ c10::complex<T> tanh(const c10::complex<T>& a) {
  return c10_complex_math::sinh(a) / c10_complex_math::cosh(a);
}
} // namespace c10_complex_math

#define LATHE_C10_FUNCTIONS                                                                                  \
  using c10_complex_math::exp;                                                                               \
  using c10_complex_math::log;                                                                               \
  using c10_complex_math::sqrt;                                                                              \
  using c10_complex_math::pow;                                                                               \
  using c10_complex_math::sin;                                                                               \
  using c10_complex_math::cos;                                                                               \
  using c10_complex_math::tan;                                                                               \
  using c10_complex_math::sinh;                                                                              \
  using c10_complex_math::cosh;                                                                              \
  using c10_complex_math::tanh;
LATHE_C10_FUNCTIONS
namespace std {
LATHE_C10_FUNCTIONS
}
#undef LATHE_C10_FUNCTIONS
