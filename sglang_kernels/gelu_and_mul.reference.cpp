// gelu_and_mul in double precision. Buffers in parameter order: out [num_tokens, d], input
// [num_tokens, 2 * d].
#include <cmath>
#include <cstdint>

extern "C" void lathe_reference(const std::int64_t* dimensions, const double*, double* const* buffers) {
  const std::int64_t num_tokens = dimensions[0], d = dimensions[1];
  for (std::int64_t token = 0; token < num_tokens; ++token)
    for (std::int64_t i = 0; i < d; ++i) {
      const double gate = buffers[1][token * 2 * d + i], up = buffers[1][token * 2 * d + d + i];
      buffers[0][token * d + i] = gate / 2 * (1 + std::erf(gate / std::sqrt(2.0))) * up;
    }
}
