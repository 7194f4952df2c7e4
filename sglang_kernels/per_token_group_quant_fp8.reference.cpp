// per_token_group_quant_fp8 in double precision. Buffers in parameter order: input [num_groups, group_size],
// output [num_groups, group_size], scales [num_groups]. Scalars in parameter order: group_size,
// groups_per_block, eps, min_8bit, max_8bit.
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

extern "C" void lathe_reference(const std::int64_t* dimensions, const double* scalars,
                                double* const* buffers) {
  const std::int64_t num_groups = dimensions[0], group_size = dimensions[1];
  const double eps = scalars[2], low = scalars[3], high = scalars[4];
  for (std::int64_t group = 0; group < num_groups; ++group) {
    const double* input = buffers[0] + group * group_size;
    double maximum = eps;
    for (std::int64_t i = 0; i < group_size; ++i)
      maximum = std::fmax(maximum, std::fabs(input[i]));
    const double scale = buffers[2][group] = maximum / high;
    for (std::int64_t i = 0; i < group_size; ++i)
      buffers[1][group * group_size + i] = to_e4m3(std::fmin(std::fmax(input[i] / scale, low), high));
  }
}
