// Stands in for the headers cuda/std/*, cuda/cmath and cuda/functional in kernels that the host executor
// compiles: the C++ library's own entities under libcu++'s names.
#ifndef LATHE_CUDA_STD_H
#define LATHE_CUDA_STD_H

#include <complex>

namespace cuda {
namespace std {
using namespace ::std;
} // namespace std

template <class T = void> struct maximum {
  constexpr T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <> struct maximum<void> {
  template <class T, class U> constexpr auto operator()(const T& a, const U& b) const {
    using Common = ::std::common_type_t<T, U>;
    return a < b ? static_cast<Common>(b) : static_cast<Common>(a);
  }
};
template <class T = void> struct minimum {
  constexpr T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <> struct minimum<void> {
  template <class T, class U> constexpr auto operator()(const T& a, const U& b) const {
    using Common = ::std::common_type_t<T, U>;
    return b < a ? static_cast<Common>(b) : static_cast<Common>(a);
  }
};

// Integers, as <cuda/cmath> has them: of two types, in the one that holds both.
template <class T, class U> constexpr auto ceil_div(T a, U b) {
  using Common = ::std::common_type_t<T, U>;
  return static_cast<Common>(static_cast<Common>(a) / static_cast<Common>(b) +
                             (static_cast<Common>(a) % static_cast<Common>(b) != 0));
}
template <class T, class U> constexpr auto round_down(T a, U multiple) {
  using Common = ::std::common_type_t<T, U>;
  return static_cast<Common>(static_cast<Common>(a) / static_cast<Common>(multiple) *
                             static_cast<Common>(multiple));
}
template <class T, class U> constexpr auto round_up(T a, U multiple) {
  using Common = ::std::common_type_t<T, U>;
  return static_cast<Common>(cuda::ceil_div(a, multiple) * static_cast<Common>(multiple));
}
template <class T> constexpr int ilog2(T a) {
  int bits = 0;
  while (a > 1) {
    a = static_cast<T>(a / 2);
    ++bits;
  }
  return bits;
}
template <class T> constexpr bool is_power_of_two(T a) {
  return a > 0 && (a & (a - 1)) == 0;
}
template <class T> constexpr T next_power_of_two(T a) {
  T power = 1;
  while (power < a)
    power = static_cast<T>(power * 2);
  return power;
}
template <class T> constexpr T prev_power_of_two(T a) {
  return a < 1 ? T(0) : static_cast<T>(T(1) << cuda::ilog2(a));
}
} // namespace cuda

#endif
