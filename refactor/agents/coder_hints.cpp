#include "refactor/agents/coder_hints.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor::agents {
namespace {

constexpr std::string_view TILING = R"(An example of tiling: a thread takes several elements of a tile.
before:
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = f(in[i]);
after, with a knob PER_THREAD:
  for (int base = threadIdx.x; base < n; base += blockDim.x * PER_THREAD)
    for (int k = 0; k < PER_THREAD; ++k)
      if (const int i = base + k * blockDim.x; i < n)
        out[i] = f(in[i]);
)";
constexpr std::string_view FUSION =
    R"(An example of fusion: a second pass uses what the first kept in registers.
before:
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  sum = block_sum(sum);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] * sum;
after, with a knob KEEP:
  float kept[KEEP];
  for (int k = 0; k < KEEP; ++k) {
    const int i = threadIdx.x + k * blockDim.x;
    kept[k] = i < n ? in[i] : 0;
    sum += kept[k];
  }
  for (int i = threadIdx.x + KEEP * blockDim.x; i < n; i += blockDim.x) sum += in[i];
  sum = block_sum(sum);
  for (int k = 0; k < KEEP; ++k)
    if (const int i = threadIdx.x + k * blockDim.x; i < n) out[i] = kept[k] * sum;
  for (int i = threadIdx.x + KEEP * blockDim.x; i < n; i += blockDim.x) out[i] = in[i] * sum;
)";
constexpr std::string_view PIPELINE =
    R"(An example of pipelining: the next element is on its way while this one is used.
before:
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = f(in[i]);
after:
  int i = threadIdx.x;
  float next = i < n ? in[i] : 0;
  for (; i < n; i += blockDim.x) {
    const float now = next;
    if (i + blockDim.x < n) next = in[i + blockDim.x];
    out[i] = f(now);
  }
)";
constexpr std::string_view REORDERING =
    R"(An example of reordering: a load that depends on nothing shared is issued before the wait.
before:
  __syncthreads();
  const float scale = scales[row];
after:
  const float scale = scales[row];
  __syncthreads();
)";

// "expose-unroll:unroll" -> "expose-unroll".
std::string rule_of(const std::string& strategy) {
  return strategy.substr(0, strategy.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"));
}

} // namespace

std::string_view example_of(ActionKind kind) {
  switch (kind) {
  case ActionKind::tiling:
    return TILING;
  case ActionKind::fusion:
    return FUSION;
  case ActionKind::pipeline:
    return PIPELINE;
  case ActionKind::reordering:
    return REORDERING;
  }
  return {};
}

std::string strategies_of(Direction direction, const TransitionGraph* memory) {
  const ScoreOptions options;
  std::string text = fmt::format("Strategies of the direction {}, best first:\n", to_string(direction));
  const std::vector<std::string> known =
      memory ? memory->strategies(direction, options) : std::vector<std::string>{};
  for (const std::string& strategy : known)
    text += fmt::format("- {}: {}; worth {:+.3f} so far\n", strategy,
                        summary_of(rule_of(strategy)).value_or("a rewriting by a model"),
                        memory->strategy_score(direction, strategy, options));
  for (const auto& rule : all_rules()) {
    const std::string name(rule->name());
    const bool is_listed = std::any_of(known.begin(), known.end(),
                                       [&](const std::string& each) { return rule_of(each) == name; });
    if (!is_listed && direction_of(name, {}) == direction)
      text += fmt::format("- {}: {}\n", name, rule->summary());
  }
  return text;
}

} // namespace lathe::refactor::agents
