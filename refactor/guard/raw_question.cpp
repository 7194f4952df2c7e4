#include "refactor/guard/raw_question.h"

#include "refactor/guard/trial_comparison.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

constexpr double SECONDS_PER_RUN = 1; // a loop over a number from memory can be long

// Of those ordered by what is executed, one from each third.
std::vector<const ReferenceRuns*> telling_sizes(std::vector<const ReferenceRuns*> sizes) {
  std::ranges::stable_sort(sizes, {}, [](const ReferenceRuns* size) { return size->raw[1].work; });
  std::vector<const ReferenceRuns*> chosen;
  if (!sizes.empty())
    for (const std::size_t sixth : {1, 3, 5})
      if (const ReferenceRuns* size = sizes[sixth * sizes.size() / 6];
          std::ranges::find(chosen, size) == chosen.end())
        chosen.push_back(size);
  return chosen;
}

} // namespace

RawQuestion::RawQuestion(const HostKernels& raw, std::vector<const ReferenceRuns*> sizes, std::uint64_t seed,
                         std::size_t seeds)
    : raw_(raw), sizes_(telling_sizes(std::move(sizes))), seed_(seed), seeds_(seeds) {}

bool RawQuestion::accepts(const Change& change) const {
  std::size_t asked = 0;
  for (const ReferenceRuns* size : sizes_) {
    TrialSettings settings;
    if (!change(*size->workload, settings))
      continue;
    ++asked;
    if (!accepts_at(*size, settings))
      return false;
  }
  return asked > 0;
}

bool RawQuestion::accepts_at(const ReferenceRuns& size, const TrialSettings& changed) const {
  const HostKernel* kernel = raw_.find(size.usual.raw_instance, size.usual.macros());
  if (!kernel)
    return false;
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < 2 * seeds_; ++i) {
    TrialSettings settings = changed;
    settings.seed = seed_ + i / 2;
    settings.schedule = i % 2 == 0 ? HostSchedule::forward : HostSchedule::reverse;
    settings.other_scratch = i % 2 != 0;
    settings.barriers_by_count = size.meets_by_count;
    settings.time_limit_s = SECONDS_PER_RUN;
    trials.push_back({kernel, &size.usual.raw_launch, size.workload.get(), settings, raw_.memory()});
  }
  const std::vector<TrialResult> results = run_trials(trials);
  for (std::size_t i = 0; i < results.size(); i += 2)
    if (!results[i].clean || !results[i + 1].clean ||
        !compare_trials(*size.workload, results[i + 1], results[i], trials[i].settings, size.unordered)
             .problem.empty())
      return false;
  return true;
}

} // namespace lathe::refactor
