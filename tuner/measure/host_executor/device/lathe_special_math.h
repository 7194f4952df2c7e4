// Functions of CUDA's math library that C++ has under no name: norms of vectors, inverse error functions,
// scaled erfc and modified Bessel functions. They are computed in double, and narrowed for float.
#pragma once

namespace lathe_host {

// Of squares that neither overflow nor vanish, as the functions of CUDA promise.
template <class Real> LATHE_INLINE double norm_of(const Real* values, int count) {
  double norm = 0;
  for (int i = 0; i < count; ++i)
    norm = std::hypot(norm, static_cast<double>(values[i]));
  return norm;
}

// x with erfc(x) = y. Begins at a rational approximation of the normal distribution's quantile (Abramowitz
// and Stegun 26.2.23, within 4.5e-4), which Halley's method makes exact.
LATHE_INLINE double inverse_erfc(double y) {
  if (!(y > 0 && y < 2))
    return y == 0 ? HUGE_VAL : y == 2 ? -HUGE_VAL : __builtin_nan("");
  const double tail = y < 1 ? y : 2 - y, t = std::sqrt(-2 * std::log(tail / 2));
  double x = M_SQRT1_2 * (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                                  (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int round = 0; round < 3; ++round) {
    const double error = std::erfc(x) - tail;
    x += error / (M_2_SQRTPI * std::exp(-x * x) - x * error);
  }
  return y < 1 ? x : -x;
}

// Near 0 1 - y would lose y's last digits.
LATHE_INLINE double inverse_erf(double y) {
  if (!(y > -0.5 && y < 0.5))
    return inverse_erfc(1 - y);
  double x = y / M_2_SQRTPI;
  for (int round = 0; round < 4; ++round) {
    const double error = std::erf(x) - y;
    x -= error / (M_2_SQRTPI * std::exp(-x * x) + x * error);
  }
  return x;
}

// exp(x * x) * erfc(x), by the asymptotic series where erfc alone would vanish.
LATHE_INLINE double scaled_erfc(double x) {
  if (x < 20)
    return std::exp(x * x) * std::erfc(x);
  const double s = 1 / (2 * x * x);
  return M_2_SQRTPI / 2 / x * (1 - s * (1 - 3 * s * (1 - 5 * s)));
}

} // namespace lathe_host

#define LATHE_NARROWED(name, parameters, arguments)                                                          \
  LATHE_DEVICE float name##f parameters {                                                                    \
    return static_cast<float>(name arguments);                                                               \
  }

LATHE_DEVICE double norm3d(double x, double y, double z) {
  return std::hypot(std::hypot(x, y), z);
}
LATHE_DEVICE double norm4d(double x, double y, double z, double w) {
  return std::hypot(std::hypot(x, y), std::hypot(z, w));
}
LATHE_NARROWED(norm3d, (float x, float y, float z), (x, y, z))
LATHE_NARROWED(norm4d, (float x, float y, float z, float w), (x, y, z, w))
LATHE_DEVICE double rnorm3d(double x, double y, double z) {
  return 1.0 / norm3d(x, y, z);
}
LATHE_DEVICE double rnorm4d(double x, double y, double z, double w) {
  return 1.0 / norm4d(x, y, z, w);
}
LATHE_NARROWED(rnorm3d, (float x, float y, float z), (x, y, z))
LATHE_NARROWED(rnorm4d, (float x, float y, float z, float w), (x, y, z, w))
LATHE_DEVICE double norm(int count, const double* values) {
  return lathe_host::norm_of(values, count);
}
LATHE_DEVICE float normf(int count, const float* values) {
  return static_cast<float>(lathe_host::norm_of(values, count));
}
LATHE_DEVICE double rnorm(int count, const double* values) {
  return 1.0 / lathe_host::norm_of(values, count);
}
LATHE_DEVICE float rnormf(int count, const float* values) {
  return static_cast<float>(1.0 / lathe_host::norm_of(values, count));
}
LATHE_DEVICE double erfinv(double y) {
  return lathe_host::inverse_erf(y);
}
LATHE_DEVICE double erfcinv(double y) {
  return lathe_host::inverse_erfc(y);
}
LATHE_DEVICE double normcdfinv(double p) {
  return -M_SQRT2 * lathe_host::inverse_erfc(2 * p);
}
LATHE_DEVICE double erfcx(double x) {
  return lathe_host::scaled_erfc(x);
}
LATHE_DEVICE double cyl_bessel_i0(double x) {
  return std::cyl_bessel_i(0.0, std::fabs(x));
}
LATHE_DEVICE double cyl_bessel_i1(double x) {
  return std::copysign(std::cyl_bessel_i(1.0, std::fabs(x)), x);
}
LATHE_NARROWED(erfinv, (float y), (y))
LATHE_NARROWED(erfcinv, (float y), (y))
LATHE_NARROWED(normcdfinv, (float p), (p))
LATHE_NARROWED(erfcx, (float x), (x))
LATHE_NARROWED(cyl_bessel_i0, (float x), (x))
LATHE_NARROWED(cyl_bessel_i1, (float x), (x))
#undef LATHE_NARROWED
LATHE_DEVICE void sincospi(double x, double* s, double* c) {
  *s = sinpi(x), *c = cospi(x);
}
