// concat_mla_k. Buffers in parameter order: k [num_tokens, 128, 192], k_nope [num_tokens, 128, 128], k_rope
// [num_tokens, 64].
#include <cstdint>

extern "C" void lathe_reference(const std::int64_t* dimensions, const double*, double* const* buffers) {
  for (std::int64_t token = 0; token < dimensions[0]; ++token)
    for (std::int64_t head = 0; head < 128; ++head)
      for (std::int64_t i = 0; i < 192; ++i)
        buffers[0][(token * 128 + head) * 192 + i] =
            i < 128 ? buffers[1][(token * 128 + head) * 128 + i] : buffers[2][token * 64 + i - 128];
}
