// apply_token_bitmask. Buffers in parameter order: logits [num_rows, vocab_size], bitmask [num_rows,
// vocab_size / 32]. Scalars in parameter order: vocab_size, logits_stride, bitmask_stride.
#include <cmath>
#include <cstdint>

extern "C" void lathe_reference(const std::int64_t* dimensions, const double* scalars,
                                double* const* buffers) {
  const auto vocab_size = static_cast<std::int64_t>(scalars[0]);
  const std::int64_t num_rows = dimensions[0] == vocab_size ? dimensions[1] : dimensions[0];
  for (std::int64_t row = 0; row < num_rows; ++row)
    for (std::int64_t i = 0; i < vocab_size; ++i) {
      const double word = buffers[1][row * (vocab_size / 32) + i / 32];
      if ((static_cast<std::uint32_t>(static_cast<std::int64_t>(word)) >> (i % 32) & 1) == 0)
        buffers[0][row * vocab_size + i] = -INFINITY;
    }
}
