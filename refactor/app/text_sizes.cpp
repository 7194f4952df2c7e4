#include "refactor/app/text_sizes.h"

#include "refactor/app/traced_kernel.h"
#include "refactor/guard/shapes.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

constexpr std::size_t MOST_TRIALS = 3; // each has both kernels compiled anew
constexpr double RUN_LIMIT_S = 2;
constexpr std::int64_t FEW = 4; // of what nothing fixes, where that runs

using Sizes = std::vector<std::int64_t>; // one a text size

// Halved as often as it is even, and then a multiple of nothing, down to `most`.
std::int64_t lowered(std::int64_t size, std::int64_t most) {
  while (size > most && size % 2 == 0)
    size /= 2;
  return size > most ? most - 1 : size;
}

// What the kernel may need its sizes to be is not known: parts of the program's own, others in other
// proportions, and odd ones; of each kind the largest first.
std::vector<std::vector<Sizes>> candidates(const std::vector<TextSize>& text_sizes) {
  std::vector<std::vector<Sizes>> kinds(3);
  for (const std::int64_t most : {256, 128, 64, 32, 16, 8, 4}) {
    Sizes parts, others, odd;
    for (std::size_t i = 0; i < text_sizes.size(); ++i) {
      const std::int64_t part = lowered(text_sizes[i].value, most);
      parts.push_back(part);
      others.push_back(i % 2 == 0      ? (part % 4 == 0 ? part / 4 * 3 : part)
                       : part % 8 == 0 ? part / 8 * 5
                                       : std::max<std::int64_t>(1, part / 2));
      odd.push_back(std::max<std::int64_t>(1, (part - 1 - 2 * static_cast<std::int64_t>(i)) | 1));
    }
    kinds[0].push_back(std::move(parts));
    kinds[1].push_back(std::move(others));
    kinds[2].push_back(std::move(odd));
  }
  return kinds;
}

// Whether a run of the guard may be so large.
bool is_small(const TracedKernel& kernel, const Dimensions& sizes) {
  const ShapeLimits limits;
  const auto workload = kernel.workload(sizes);
  const auto launch = kernel.launch(sizes);
  return workload.ok() && launch.ok() && fits(*workload, *launch, limits.bytes, limits.threads);
}

// Whether the raw kernel stays inside the buffers that it is given there.
bool runs(const Candidate& raw, const TracedKernel& kernel, const Dimensions& sizes) {
  const auto extents = kernel.run(sizes, RUN_LIMIT_S);
  const auto workload = kernel.workload(sizes);
  if (!extents.ok() || !workload.ok())
    return false;
  std::size_t buffer = 0;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i)
    if (raw.arguments[i].is_buffer) {
      const auto count = static_cast<std::int64_t>(workload->buffers[buffer++].count);
      if ((*extents)[i].elements > count || (*extents)[i].is_left)
        return false;
    }
  return std::ranges::any_of(*extents, &Extent::written);
}

} // namespace

void keep_text_sizes(const Candidate& raw, std::vector<Problem>& problems) {
  if (raw.text_sizes.empty())
    return;
  std::set<Dimensions> seen;
  std::erase_if(problems, [&](Problem& problem) {
    for (const TextSize& size : raw.text_sizes)
      problem.dimensions[size.dimension] = size.value;
    return !seen.insert(problem.dimensions).second;
  });
}

void name_text_sizes(const std::vector<TextSize>& text_sizes, std::vector<Condition>& conditions) {
  for (Condition& condition : conditions)
    for (const TextSize& size : text_sizes) {
      const auto& names = condition.expression.names();
      if (std::ranges::find(names, size.dimension) == names.end())
        continue;
      const std::regex number("\\b" + std::to_string(size.value) + "\\b");
      const std::string text = std::regex_replace(condition.expression.text(), number, size.dimension);
      if (auto named = Expression::parse(text); named.ok())
        condition.expression = std::move(*named);
    }
}

Status choose_text_sizes(Candidate& raw, const std::string& architecture,
                         const std::vector<Problem>& problems, std::vector<std::string>& notes) {
  if (raw.text_sizes.empty() || problems.empty())
    return Done{};
  TracedKernel kernel(raw, architecture);
  LATHE_CHECK(kernel.compile());
  Dimensions few = problems.front().dimensions;
  for (auto& [name, size] : few)
    size = std::min(size, FEW);
  std::set<Sizes> chosen;
  std::vector<Sizes> trials;
  for (const std::vector<Sizes>& kind : candidates(raw.text_sizes))
    for (const Sizes& sizes : kind) {
      const auto are_clean = [&](Dimensions dimensions) {
        for (std::size_t i = 0; i < sizes.size(); ++i)
          dimensions[raw.text_sizes[i].dimension] = sizes[i];
        return is_small(kernel, dimensions) && runs(raw, kernel, dimensions);
      };
      if (chosen.contains(sizes) || !(are_clean(few) || are_clean(problems.front().dimensions)))
        continue;
      chosen.insert(sizes);
      trials.push_back(sizes);
      break;
    }
  if (trials.empty())
    return Error{"cannot try " + raw.kernel + " at other sizes",
                 "with no smaller numbers for those that its text has does it run clean", ""};
  trials.resize(std::min(trials.size(), MOST_TRIALS));
  std::string told;
  for (std::size_t i = 0; i < raw.text_sizes.size(); ++i) {
    TextSize& size = raw.text_sizes[i];
    std::string others;
    for (const Sizes& trial : trials) {
      size.trials.push_back(trial[i]);
      others += (others.empty() ? "" : ", ") + std::to_string(trial[i]);
    }
    told += fmt::format("{}{} = {} ({})", told.empty() ? "" : ", ", size.dimension, size.value, others);
  }
  notes.push_back(fmt::format(
      "the kernel's text fixes {}: runs of the guard are with the numbers in parentheses in their place",
      told));
  return Done{};
}

} // namespace lathe::refactor
