#include "refactor/guard/reference_runs.h"

#include "refactor/guard/parallel.h"

#include <algorithm>
#include <iterator>

namespace lathe::refactor {
namespace {

constexpr std::size_t SIZES_PER_CHILD = 5;

// Under either poison, with threads in reverse, on special values, on buffers that start one element off,
// with one warp after the other, and with the last block first.
std::vector<TrialSettings> settings_of(std::uint64_t seed) {
  std::vector<TrialSettings> all(8);
  for (TrialSettings& settings : all)
    settings.seed = seed;
  all[0].record_accesses = true;
  all[1].poison = 1;
  all[2].schedule = HostSchedule::reverse;
  all[3].data = Data::infinities;
  all[4].data = Data::nans;
  all[5].misalignment = 1;
  all[6].schedule = HostSchedule::warps;
  all[7].reverse_blocks = true;
  all[7].time_limit_s = 5; // a block may wait for one before it
  all[0].find_races = true;
  return all;
}

// What depends on the size too: other scalars; a result in place of an input, in three orders of threads.
std::vector<TrialSettings> settings_at(const Workload& workload, std::uint64_t seed,
                                       const std::vector<bool>& is_restrict) {
  std::vector<TrialSettings> all = settings_of(seed);
  if (has_real_scalars(workload)) {
    all.emplace_back().seed = seed;
    all.back().other_scalars = true;
  }
  for (const auto& pair : shareable_buffers(workload, is_restrict))
    for (const HostSchedule schedule : {HostSchedule::forward, HostSchedule::reverse, HostSchedule::warps}) {
      all.emplace_back().seed = seed;
      all.back().schedule = schedule;
      all.back().shared_buffers = pair;
      all.back().find_races = true;
      all.back().reverse_blocks = schedule == HostSchedule::reverse;
    }
  return all;
}

// What the results at one size come to.
ReferenceTrial conclude(std::unique_ptr<ReferenceRuns> runs, TrialResult* results,
                        const std::vector<TrialSettings>& settings) {
  const Workload& workload = *runs->workload;
  for (std::size_t i = 0; i < 3; ++i)
    if (!results[i].clean)
      return {nullptr, results[i].problem};
  // A raw kernel whose result depends on the order of its threads is no reference, but as a set.
  runs->unordered.assign(workload.buffers.size(), false);
  if (!compare_trials(workload, results[2], results[0], settings[2], {}).problem.empty()) {
    for (std::size_t i = 0; i < workload.buffers.size(); ++i)
      runs->unordered[i] =
          workload.buffers[i].direction != Direction::in && results[2].contents[i] != results[0].contents[i];
    if (!compare_trials(workload, results[2], results[0], settings[2], runs->unordered).problem.empty())
      return {nullptr, "its result depends on the order in which threads run"};
    runs->depends_on_order = true;
  }
  if (results[3].clean)
    runs->infinities = std::move(results[3]);
  if (results[4].clean)
    runs->nans = std::move(results[4]);
  runs->accepts_misalignment = results[5].clean;
  runs->accepts_warps_in_turn =
      results[6].clean &&
      compare_trials(workload, results[6], results[0], settings[6], runs->unordered).problem.empty();
  runs->accepts_any_block_first =
      results[7].clean &&
      compare_trials(workload, results[7], results[0], settings[7], runs->unordered).problem.empty();
  for (std::size_t i = 8; i < settings.size(); ++i) {
    if (settings[i].other_scalars && results[i].clean)
      runs->other_scalars = std::move(results[i]);
    if (!settings[i].shared_buffers)
      continue;
    // Three runs in a row, which must agree, without a race that the kernel has only here.
    if (results[i].clean && results[i + 1].clean && results[i + 2].clean &&
        results[i].contents == results[i + 1].contents && results[i].contents == results[i + 2].contents &&
        results[i].races.size() <= results[0].races.size()) {
      runs->in_place.emplace_back(*settings[i].shared_buffers, std::move(results[i]));
    }
    i += 2;
  }
  runs->races = results[0].races;
  runs->raw[0] = std::move(results[0]);
  runs->raw[1] = std::move(results[1]);
  return {std::move(runs), {}};
}

} // namespace

void keep_pairs_of(const ReferenceRuns& earlier, ReferenceRuns& size) {
  std::erase_if(size.in_place, [&](const auto& accepted) {
    return std::ranges::none_of(earlier.in_place,
                                [&](const auto& other) { return other.first == accepted.first; });
  });
}

void keep_pairs_of_all_sizes(std::vector<std::unique_ptr<ReferenceRuns>>& sizes) {
  if (sizes.empty())
    return;
  for (const auto& size : sizes)
    keep_pairs_of(*size, *sizes.front());
  for (const auto& size : sizes)
    keep_pairs_of(*sizes.front(), *size);
}

std::vector<ReferenceTrial> run_reference(const HostKernels& raw, const std::vector<bool>& is_restrict,
                                          const std::vector<std::shared_ptr<const Workload>>& workloads,
                                          std::uint64_t seed, int jobs,
                                          std::chrono::steady_clock::time_point deadline) {
  std::vector<ReferenceTrial> trials(workloads.size());
  const auto serve = [&](std::size_t batch) {
    std::vector<std::pair<std::size_t, std::unique_ptr<ReferenceRuns>>> tried;
    std::vector<Trial> runs;
    std::vector<std::vector<TrialSettings>> settings;
    for (std::size_t i = batch * SIZES_PER_CHILD;
         i < std::min(workloads.size(), (batch + 1) * SIZES_PER_CHILD); ++i) {
      const auto knobs = default_knobs(*workloads[i]);
      auto bound = bind_configuration(workloads[i], knobs ? *knobs : KnobValues{});
      if (!bound)
        continue;
      const HostKernel* kernel = raw.find(bound->raw_instance, bound->macros());
      if (!kernel)
        continue;
      auto reference = std::make_unique<ReferenceRuns>();
      reference->workload = workloads[i];
      reference->usual = std::move(*bound);
      settings.push_back(settings_at(*workloads[i], seed, is_restrict));
      for (const TrialSettings& one : settings.back())
        runs.push_back({kernel, &reference->usual.raw_launch, workloads[i].get(), one});
      tried.emplace_back(i, std::move(reference));
    }
    std::vector<TrialResult> results = run_trials(runs);
    TrialResult* next = results.data();
    for (std::size_t t = 0; t < tried.size(); ++t) {
      trials[tried[t].first] = conclude(std::move(tried[t].second), next, settings[t]);
      next += settings[t].size();
    }
  };
  parallel((workloads.size() + SIZES_PER_CHILD - 1) / SIZES_PER_CHILD, jobs, deadline, serve);
  return trials;
}

} // namespace lathe::refactor
