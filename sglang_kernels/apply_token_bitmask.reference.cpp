// apply_token_bitmask. Dimensions: vocab_size, num_rows. Buffers in parameter order: logits [num_rows,
// vocab_size], bitmask [num_rows, vocab_size / 32].
#include <cmath>
#include <cstdint>

extern "C" void lathe_reference(const std::int64_t* dimensions, const double*, double* const* buffers) {
  const std::int64_t vocab_size = dimensions[0], num_rows = dimensions[1];
  for (std::int64_t row = 0; row < num_rows; ++row)
    for (std::int64_t i = 0; i < vocab_size; ++i) {
      const auto word = static_cast<std::int64_t>(buffers[1][row * (vocab_size / 32) + i / 32]);
      if ((static_cast<std::uint32_t>(word) >> (i % 32) & 1) == 0)
        buffers[0][row * vocab_size + i] = -INFINITY;
    }
}
