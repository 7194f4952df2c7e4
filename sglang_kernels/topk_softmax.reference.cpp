// topk_softmax in double precision. Buffers in parameter order: logits [num_tokens, 256], weights
// [num_tokens, k], experts [num_tokens, k]. Scalars in parameter order: num_tokens, k, renormalise.
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void lathe_reference(const std::int64_t*, const double* scalars, double* const* buffers) {
  constexpr std::int64_t count = 256;
  const auto num_tokens = static_cast<std::int64_t>(scalars[0]), k = static_cast<std::int64_t>(scalars[1]);
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    const double* logits = buffers[0] + token * count;
    double maximum = logits[0], sum = 0, chosen = 0;
    for (std::int64_t i = 0; i < count; ++i)
      maximum = std::fmax(maximum, logits[i]);
    std::vector<double> p(count);
    for (std::int64_t i = 0; i < count; ++i)
      sum += p[i] = std::exp(logits[i] - maximum);
    for (std::int64_t round = 0; round < k; ++round) {
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < count; ++i)
        if (p[i] > p[best])
          best = i;
      chosen += buffers[1][token * k + round] = p[best] / sum;
      buffers[2][token * k + round] = static_cast<double>(best);
      p[best] = -1;
    }
    for (std::int64_t round = 0; scalars[2] != 0 && round < k; ++round)
      buffers[1][token * k + round] /= chosen;
  }
}
