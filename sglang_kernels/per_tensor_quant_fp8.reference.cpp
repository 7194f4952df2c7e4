// per_tensor_quant_fp8 in double precision. Buffers in parameter order: input [num_elements], output
// [num_elements], scale [1].
#include <cmath>
#include <cstdint>

namespace {

// The nearest e4m3 number, ties to even, saturated at 448.
double to_e4m3(double value) {
  const double magnitude = std::fmin(std::fabs(value), 448.0);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const double step = std::ldexp(1.0, (exponent - 1 < -6 ? -6 : exponent - 1) - 3);
  return std::copysign(std::nearbyint(magnitude / step) * step, value);
}

} // namespace

extern "C" void lathe_reference(const std::int64_t* dimensions, const double*, double* const* buffers) {
  for (std::int64_t i = 0; i < dimensions[0]; ++i)
    buffers[1][i] = to_e4m3(buffers[0][i] / buffers[2][0]);
}
