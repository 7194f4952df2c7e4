// merge_attn_states_lse in double precision. Buffers in parameter order: output [n, h, s], output_lse [n, h],
// prefix_output, prefix_lse, suffix_output, suffix_lse.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

extern "C" void lathe_reference(const std::int64_t* dimensions, const double*, double* const* buffers) {
  const std::int64_t heads = dimensions[0] * dimensions[1], size = dimensions[2];
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto finite_or_empty = [](double lse) {
      return std::isinf(lse) ? -std::numeric_limits<double>::infinity() : lse;
    };
    const double prefix = finite_or_empty(buffers[3][head]), suffix = finite_or_empty(buffers[5][head]);
    const double largest = std::max(prefix, suffix);
    const double p = std::exp(prefix - largest), s = std::exp(suffix - largest);
    buffers[1][head] = std::log(p + s) + largest;
    for (std::int64_t i = head * size; i < (head + 1) * size; ++i)
      buffers[0][i] = (buffers[2][i] * p + buffers[4][i] * s) / (p + s);
  }
}
