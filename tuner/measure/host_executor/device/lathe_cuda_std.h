// Stands in for the headers cuda/std/* and cuda/functional in kernels that the host executor compiles: the
// C++ library's own entities under libcu++'s names.
#ifndef LATHE_CUDA_STD_H
#define LATHE_CUDA_STD_H

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
} // namespace cuda

#endif
