// rotary_embedding in double precision. Buffers in parameter order: positions [num_tokens], query
// [num_tokens, num_heads, head_size], key [num_tokens, num_kv_heads, head_size], cos_sin_cache [4096,
// rot_dim]. Scalars in parameter order: rot_dim, query_stride, key_stride, num_heads, num_kv_heads,
// head_size.
#include <cstdint>

extern "C" void lathe_reference(const std::int64_t* dimensions, const double* scalars,
                                double* const* buffers) {
  const std::int64_t num_tokens = dimensions[0];
  const auto rot_dim = static_cast<std::int64_t>(scalars[0]);
  const auto head_size = static_cast<std::int64_t>(scalars[5]);
  const std::int64_t half = rot_dim / 2;
  for (int which = 0; which < 2; ++which) {
    const auto stride = static_cast<std::int64_t>(scalars[1 + which]);
    const auto heads = static_cast<std::int64_t>(scalars[3 + which]);
    for (std::int64_t token = 0; token < num_tokens; ++token) {
      const double* cosines = buffers[3] + static_cast<std::int64_t>(buffers[0][token]) * rot_dim;
      for (std::int64_t head = 0; head < heads; ++head) {
        double* x = buffers[1 + which] + token * stride + head * head_size;
        for (std::int64_t i = 0; i < half; ++i) {
          const double first = x[i], second = x[i + half], c = cosines[i], s = cosines[i + half];
          x[i] = first * c - second * s;
          x[i + half] = second * c + first * s;
        }
      }
    }
  }
}
