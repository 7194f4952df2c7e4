// Stand-in for Thrust's complex numbers, whose own header is the host's and which NVRTC does not compile:
// products by their definition, quotients scaled by the divisor. Kernels that name this type are compiled
// with this text, which therefore belongs to what a certificate trusts.
#pragma once
#include <type_traits>

namespace thrust {

template <class T> struct alignas(sizeof(T) * 2) complex {
  using value_type = T;
  T real_ = T(0), imag_ = T(0);

  constexpr complex() = default;
  __host__ __device__ constexpr complex(const T& real, const T& imag = T()) : real_(real), imag_(imag) {}
  // Of another width, and of the C++ library.
  template <class C, class = decltype(static_cast<T>(static_cast<const C*>(nullptr)->imag()))>
  __host__ __device__ constexpr complex(const C& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}

  __host__ __device__ constexpr T real() const { return real_; }
  __host__ __device__ constexpr void real(T value) { real_ = value; }
  __host__ __device__ constexpr T imag() const { return imag_; }
  __host__ __device__ constexpr void imag(T value) { imag_ = value; }

  __host__ __device__ constexpr complex& operator=(const T& real) {
    real_ = real;
    imag_ = T(0);
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
    return *this = *this * by;
  }
  template <class U> __host__ __device__ constexpr complex& operator/=(const complex<U>& by) {
    return *this = *this / by;
  }
  template <class U, std::enable_if_t<std::is_arithmetic_v<U>, int> = 0>
  __host__ __device__ constexpr complex& operator+=(const U& by) {
    real_ += by;
    return *this;
  }
  template <class U, std::enable_if_t<std::is_arithmetic_v<U>, int> = 0>
  __host__ __device__ constexpr complex& operator-=(const U& by) {
    real_ -= by;
    return *this;
  }
  template <class U, std::enable_if_t<std::is_arithmetic_v<U>, int> = 0>
  __host__ __device__ constexpr complex& operator*=(const U& by) {
    real_ *= by;
    imag_ *= by;
    return *this;
  }
  template <class U, std::enable_if_t<std::is_arithmetic_v<U>, int> = 0>
  __host__ __device__ constexpr complex& operator/=(const U& by) {
    real_ /= by;
    imag_ /= by;
    return *this;
  }
};

// As wide as the wider of both.
template <class A, class B> using lathe_wider = decltype(A() + B());

template <class T> __host__ __device__ constexpr complex<T> operator+(const complex<T>& a) {
  return a;
}
template <class T> __host__ __device__ constexpr complex<T> operator-(const complex<T>& a) {
  return {-a.real_, -a.imag_};
}
template <class A, class B>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator+(const complex<A>& a, const complex<B>& b) {
  return {a.real_ + b.real_, a.imag_ + b.imag_};
}
template <class A, class B>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator-(const complex<A>& a, const complex<B>& b) {
  return {a.real_ - b.real_, a.imag_ - b.imag_};
}
template <class A, class B>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator*(const complex<A>& a, const complex<B>& b) {
  return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
}
template <class A, class B>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator/(const complex<A>& a, const complex<B>& b) {
  using T = lathe_wider<A, B>;
  const T scale = T(1) / ((b.real_ < B(0) ? -b.real_ : b.real_) + (b.imag_ < B(0) ? -b.imag_ : b.imag_));
  const T a_real = a.real_ * scale, a_imag = a.imag_ * scale, b_real = b.real_ * scale,
          b_imag = b.imag_ * scale;
  const T size = T(1) / (b_real * b_real + b_imag * b_imag);
  return {(a_real * b_real + a_imag * b_imag) * size, (a_imag * b_real - a_real * b_imag) * size};
}

template <class A, class B, std::enable_if_t<std::is_arithmetic_v<B>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator+(const complex<A>& a, const B& b) {
  return {a.real_ + b, a.imag_};
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator+(const A& a, const complex<B>& b) {
  return {a + b.real_, b.imag_};
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<B>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator-(const complex<A>& a, const B& b) {
  return {a.real_ - b, a.imag_};
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator-(const A& a, const complex<B>& b) {
  return {a - b.real_, -b.imag_};
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<B>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator*(const complex<A>& a, const B& b) {
  return {a.real_ * b, a.imag_ * b};
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator*(const A& a, const complex<B>& b) {
  return {a * b.real_, a * b.imag_};
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<B>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator/(const complex<A>& a, const B& b) {
  return {a.real_ / b, a.imag_ / b};
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>
__host__ __device__ constexpr complex<lathe_wider<A, B>> operator/(const A& a, const complex<B>& b) {
  return complex<A>(a) / b;
}

template <class A, class B>
__host__ __device__ constexpr bool operator==(const complex<A>& a, const complex<B>& b) {
  return a.real_ == b.real_ && a.imag_ == b.imag_;
}
template <class A, class B>
__host__ __device__ constexpr bool operator!=(const complex<A>& a, const complex<B>& b) {
  return !(a == b);
}

template <class T> __host__ __device__ T abs(const complex<T>& a) {
  return ::hypot(a.real_, a.imag_);
}
template <class T> __host__ __device__ T arg(const complex<T>& a) {
  return ::atan2(a.imag_, a.real_);
}
template <class T> __host__ __device__ constexpr T norm(const complex<T>& a) {
  return a.real_ * a.real_ + a.imag_ * a.imag_;
}
template <class T> __host__ __device__ constexpr complex<T> conj(const complex<T>& a) {
  return {a.real_, -a.imag_};
}
template <class T> __host__ __device__ complex<T> polar(const T& size, const T& angle = T()) {
  return {size * ::cos(angle), size * ::sin(angle)};
}
template <class T> __host__ __device__ complex<T> exp(const complex<T>& a) {
  return thrust::polar(T(::exp(a.real_)), a.imag_);
}
template <class T> __host__ __device__ complex<T> log(const complex<T>& a) {
  return {T(::log(thrust::abs(a))), thrust::arg(a)};
}
template <class T> __host__ __device__ complex<T> sqrt(const complex<T>& a) {
  return thrust::polar(T(::sqrt(thrust::abs(a))), thrust::arg(a) / T(2));
}
template <class T> __host__ __device__ complex<T> pow(const complex<T>& a, const T& b) {
  return thrust::exp(thrust::log(a) * b);
}
template <class T> __host__ __device__ complex<T> pow(const complex<T>& a, const complex<T>& b) {
  return thrust::exp(thrust::log(a) * b);
}
template <class T> __host__ __device__ complex<T> sin(const complex<T>& a) {
  return {T(::sin(a.real_) * ::cosh(a.imag_)), T(::cos(a.real_) * ::sinh(a.imag_))};
}
template <class T> __host__ __device__ complex<T> cos(const complex<T>& a) {
  return {T(::cos(a.real_) * ::cosh(a.imag_)), T(-::sin(a.real_) * ::sinh(a.imag_))};
}

} // namespace thrust
