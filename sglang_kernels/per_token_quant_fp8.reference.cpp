// per_token_quant_fp8 in double precision. Buffers in parameter order: input [num_tokens, d], output
// [num_tokens, d], scales [num_tokens]. A row of zeros is 448 with scale 0, as the block kernel has it; the
// warp kernel writes 0 there, and the operator promises neither.
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
  const std::int64_t num_tokens = dimensions[0], d = dimensions[1];
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    const double* input = buffers[0] + token * d;
    double maximum = 0;
    for (std::int64_t i = 0; i < d; ++i)
      maximum = std::fmax(maximum, std::fabs(input[i]));
    buffers[2][token] = maximum / 448;
    for (std::int64_t i = 0; i < d; ++i)
      buffers[1][token * d + i] = maximum == 0 ? 448 : to_e4m3(input[i] / buffers[2][token]);
  }
}
