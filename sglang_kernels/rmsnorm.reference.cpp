// rmsnorm in double precision. Buffers in parameter order: input [num_tokens, d], weight [d], output
// [num_tokens, d]. Scalars in parameter order: d, input_stride, output_stride, weight_bias, eps.
#include <cmath>
#include <cstdint>

extern "C" void lathe_reference(const std::int64_t* dimensions, const double* scalars,
                                double* const* buffers) {
  const std::int64_t num_tokens = dimensions[0], d = dimensions[1];
  const double weight_bias = scalars[3], eps = scalars[4];
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    const double* input = buffers[0] + token * d;
    double sum_of_squares = 0;
    for (std::int64_t i = 0; i < d; ++i)
      sum_of_squares += input[i] * input[i];
    const double scale = 1 / std::sqrt(sum_of_squares / static_cast<double>(d) + eps);
    for (std::int64_t i = 0; i < d; ++i)
      buffers[2][token * d + i] = input[i] * scale * (weight_bias + buffers[1][i]);
  }
}
