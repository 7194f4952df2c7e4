#include "refactor/guard/reference_runs.h"

#include "refactor/guard/parallel.h"
#include "refactor/guard/trial_comparison.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <span>

namespace lathe::refactor {
namespace {

// Of runs in one child: what a child costs is spread over them, and no core waits long for another's.
constexpr std::size_t MOST_RUNS_PER_CHILD = 40, FEWEST_RUNS_PER_CHILD = 4, CHILDREN_PER_CORE = 2;
// A size is looked at in a dozen runs, and in another dozen for each configuration.
constexpr std::uint64_t MUCH_WORK = 2'000'000; // HostRunResult::work
constexpr std::uint64_t MOST_IN_LONG_RUNS = 20 * MUCH_WORK;
constexpr std::size_t BRIEF = 3; // settings without which a size tells nothing
constexpr std::size_t FEWEST_SIZES = 2, ENOUGH_SIZES = 10;

// Under either poison, with threads in reverse, on special values, on buffers that start one element off,
// with one warp after the other, and with the last block first.
std::vector<TrialSettings> settings_of(std::uint64_t seed) {
  std::vector<TrialSettings> all(8);
  for (TrialSettings& settings : all)
    settings.seed = seed;
  all[0].record_accesses = true;
  all[1].poison = 1;
  all[1].time_limit_s = 5; // it tells whether more runs are worth it
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

// Buffers that a kernel only writes.
std::set<std::size_t> outputs_of(const Workload& workload) {
  std::set<std::size_t> outputs;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i)
    if (workload.buffers[i].direction == Direction::out)
      outputs.insert(i);
  return outputs;
}

// Those that are not the usual one, in which something changes.
std::map<Layout, ReferenceRuns::OtherLayout> layouts_of(const std::shared_ptr<const Workload>& workload,
                                                        const Strides& strides) {
  std::map<Layout, ReferenceRuns::OtherLayout> layouts;
  const auto add = [&](Layout layout, std::shared_ptr<const Workload> other) {
    if (other)
      layouts[layout].workload = std::move(other);
  };
  add(Layout::strides_apart, with_strides_apart(workload, strides));
  add(Layout::strides_odd, with_strides_apart(workload, strides, true));
  add(Layout::rows_repeated, with_rows_repeated(workload, strides));
  add(Layout::other_divisors, with_other_divisors(workload, strides));
  return layouts;
}

// What depends on the size too: outputs alone that start one element off, other scalars; everything in one
// range, and ranges that leave elements out; a result in place of an input, in three orders of threads;
// strides apart and other divisors, in two.
std::vector<TrialSettings> settings_at(const ReferenceRuns& runs, std::uint64_t seed,
                                       const RawParameters& parameters) {
  const Workload& workload = *runs.workload;
  std::vector<TrialSettings> all = settings_of(seed);
  if (auto outputs = outputs_of(workload); !outputs.empty() && outputs.size() < workload.buffers.size()) {
    all.emplace_back().seed = seed;
    all.back().misalignment = 1;
    all.back().misaligned_buffers = std::move(outputs);
  }
  for (const auto& [layout, other] : runs.layouts)
    for (const HostSchedule schedule : {HostSchedule::forward, HostSchedule::reverse}) {
      all.emplace_back().seed = seed;
      all.back().layout = layout;
      all.back().schedule = schedule;
      all.back().reverse_blocks = schedule == HostSchedule::reverse;
    }
  if (parameters.has_atomics) {
    all.emplace_back().seed = seed;
    all.back().schedule = HostSchedule::interrupted;
    all.back().time_limit_s = 5; // threads may wait for each other
  }
  if (parameters.has_globals) {
    all.emplace_back().seed = seed;
    all.back().again = true;
  }
  if (has_switches(workload)) {
    all.emplace_back().seed = seed;
    all.back().other_switches = true;
  }
  if (has_offsets(workload))
    for (const Data data : {Data::one_range, Data::inner_ranges}) {
      all.emplace_back().seed = seed;
      all.back().data = data;
    }
  if (has_real_scalars(workload)) {
    all.emplace_back().seed = seed;
    all.back().real_scalars = RealScalars::other;
  }
  for (const auto& pair : shareable_buffers(workload, parameters.is_restrict))
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
  for (std::size_t i = 0; i < BRIEF; ++i)
    if (!results[i].clean)
      return {nullptr, results[i].problem, false};
  // A raw kernel whose result depends on the order of its threads is no reference, but as a set.
  runs->unordered.assign(workload.buffers.size(), false);
  if (!compare_trials(workload, results[2], results[0], settings[2], {}).problem.empty()) {
    for (std::size_t i = 0; i < workload.buffers.size(); ++i)
      runs->unordered[i] =
          workload.buffers[i].direction != Direction::in && results[2].contents[i] != results[0].contents[i];
    if (!compare_trials(workload, results[2], results[0], settings[2], runs->unordered).problem.empty())
      return {nullptr, "its result depends on the order in which threads run", false};
    runs->depends_on_order = true;
    runs->unordered_together = belong_together(workload, results[2], results[0], runs->unordered);
    runs->places_in = places_in_each_other(workload, results[2], results[0], runs->unordered);
  }
  runs->races = results[0].races;
  if (settings.size() <= BRIEF) {
    runs->raw[0] = std::move(results[0]);
    runs->raw[1] = std::move(results[1]);
    return {std::move(runs), {}, false};
  }
  if (results[3].clean)
    runs->infinities = std::move(results[3]);
  if (results[4].clean)
    runs->nans = std::move(results[4]);
  runs->misalignment_tried = true;
  runs->accepts_misalignment = results[5].clean;
  runs->accepts_warps_in_turn =
      results[6].clean &&
      compare_trials(workload, results[6], results[0], settings[6], runs->unordered).problem.empty();
  runs->accepts_any_block_first =
      results[7].clean &&
      compare_trials(workload, results[7], results[0], settings[7], runs->unordered).problem.empty();
  // What goes where is left to the order of threads, and so is what goes at all.
  if (runs->depends_on_order && results[7].clean && !runs->accepts_any_block_first)
    return {nullptr, "its result depends on the order in which blocks run", false};
  for (std::size_t i = 8; i < settings.size(); ++i) {
    if (settings[i].misalignment > 0) {
      if (results[i].clean)
        runs->misaligned_outputs = settings[i].misaligned_buffers;
      continue;
    }
    if (settings[i].schedule == HostSchedule::interrupted) {
      runs->accepts_interruptions =
          results[i].clean &&
          compare_trials(workload, results[i], results[0], settings[i], runs->unordered).problem.empty();
      continue;
    }
    if (settings[i].again) {
      runs->gives_the_same_again =
          results[i].clean &&
          compare_trials(workload, results[i], results[0], settings[i], runs->unordered).problem.empty();
      continue;
    }
    std::optional<TrialResult>* alone = nullptr; // one run, which nothing is held against here
    if (settings[i].other_switches)
      alone = &runs->other_switches;
    else if (settings[i].real_scalars == RealScalars::other)
      alone = &runs->other_scalars;
    else if (settings[i].data == Data::one_range)
      alone = &runs->one_range;
    else if (settings[i].data == Data::inner_ranges)
      alone = &runs->inner_ranges;
    if (alone) {
      if (results[i].clean)
        *alone = std::move(results[i]);
      continue;
    }
    if (settings[i].layout != Layout::usual) {
      // Rows that lie over each other would be written in an order that nothing fixes.
      if (results[i].clean && results[i + 1].clean && results[i].contents == results[i + 1].contents)
        runs->layouts.at(settings[i].layout).result = std::move(results[i]);
      ++i;
      continue;
    }
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
  runs->raw[0] = std::move(results[0]);
  runs->raw[1] = std::move(results[1]);
  return {std::move(runs), {}, false};
}

// What is left of it in further orders of the threads: an order and its reverse put the same beside each
// other where one result is the other's inverse, such as where each element went and what came there.
ReferenceTrial conclude_drawn_orders(std::unique_ptr<ReferenceRuns> runs, const TrialResult* results,
                                     const std::vector<TrialSettings>& settings) {
  constexpr std::size_t ENOUGH = DRAWN_ORDERS / 2; // of those that ended in time
  const Workload& workload = *runs->workload;
  const TrialResult& usual = runs->raw[0];
  ExchangedPlaces exchanged(workload, usual, runs->unordered);
  std::size_t ended = 0;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const TrialResult& other = results[i];
    if (!other.clean)
      continue;
    if (!compare_trials(workload, other, usual, settings[i], runs->unordered).problem.empty())
      return {nullptr, "its result depends on the order in which threads run", false};
    ++ended;
    runs->unordered_together &= belong_together(workload, other, usual, runs->unordered);
    std::erase_if(runs->places_in,
                  [&](const PlacesIn& places) { return !point_to_the_same(workload, other, usual, places); });
    exchanged.learn(workload, usual, other);
  }
  if (settings.front().shuffle_blocks && ended >= ENOUGH)
    runs->exchanged = std::move(exchanged);
  return {std::move(runs), {}, false};
}

} // namespace

std::vector<TrialSettings> in_drawn_orders(const TrialSettings& settings, bool shuffles_blocks) {
  std::vector<TrialSettings> all(DRAWN_ORDERS, settings);
  for (std::size_t order = 0; order < DRAWN_ORDERS; ++order) {
    all[order].schedule = HostSchedule::random;
    all[order].order = order;
    all[order].shuffle_blocks = shuffles_blocks;
    all[order].record_accesses = all[order].find_races = false;
    all[order].time_limit_s = 5; // threads may wait for each other
  }
  return all;
}

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

namespace {

// One workload's runs while they are made.
struct RawCandidate {
  std::size_t index = 0; // of the workload
  const HostKernel* kernel = nullptr;
  std::unique_ptr<ReferenceRuns> runs;
  std::vector<TrialSettings> settings;
  std::vector<TrialResult> results;
};

// What a kernel has to do grows with its sizes, however it does.
double magnitude(const Problem& problem) {
  double product = 1;
  for (const auto& [name, size] : problem.dimensions)
    product *= static_cast<double>(size);
  return product;
}

// The run that is made first: with nothing recorded.
constexpr std::size_t PLAIN = 1;

// One run of a candidate.
struct Piece {
  RawCandidate* candidate;
  std::size_t setting;
};

// Where each child's runs begin, and the end. A run that follows another stays behind it.
std::vector<std::size_t> shares_of(const std::vector<Piece>& pieces, std::size_t jobs) {
  const std::size_t children = CHILDREN_PER_CORE * jobs,
                    each = std::clamp((pieces.size() + children - 1) / children, FEWEST_RUNS_PER_CHILD,
                                      MOST_RUNS_PER_CHILD);
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (i >= begins.back() + each && !pieces[i].candidate->settings[pieces[i].setting].again)
      begins.push_back(i);
  begins.push_back(pieces.size());
  return begins;
}

// Makes these runs; with `plain`, while most of them end.
void run_pieces(const std::vector<Piece>& pieces, bool plain, TrialMemory* memory, int jobs,
                std::chrono::steady_clock::time_point deadline) {
  if (pieces.empty())
    return;
  const std::vector<std::size_t> begins = shares_of(pieces, static_cast<std::size_t>(std::max(1, jobs)));
  std::atomic<std::size_t> unended{0};
  parallel(begins.size() - 1, jobs, deadline, [&](std::size_t child) {
    if (unended >= MOST_UNENDED)
      return;
    const std::span share = std::span(pieces).subspan(begins[child], begins[child + 1] - begins[child]);
    std::vector<Trial> trials;
    for (const auto& [candidate, setting] : share) {
      const ReferenceRuns& runs = *candidate->runs;
      const TrialSettings& settings = candidate->settings[setting];
      trials.push_back(
          {candidate->kernel, &runs.usual.raw_launch, &runs.workload_of(settings), settings, memory});
    }
    std::vector<TrialResult> results = run_trials(trials);
    for (std::size_t i = 0; i < results.size(); ++i) {
      unended += plain && results[i].out_of_time ? 1 : 0;
      share[i].candidate->results[share[i].setting] = std::move(results[i]);
    }
  });
}

// Runs the plain setting of each candidate, or all others.
void run_candidates(const std::vector<RawCandidate*>& candidates, bool plain, TrialMemory* memory, int jobs,
                    std::chrono::steady_clock::time_point deadline) {
  std::vector<Piece> pieces;
  for (RawCandidate* candidate : candidates)
    for (std::size_t i = 0; i < candidate->settings.size(); ++i)
      if ((i == PLAIN) == plain)
        pieces.push_back({candidate, i});
  run_pieces(pieces, plain, memory, jobs, deadline);
}

// Further orders at sizes where results depend on them. In `brief` nobody has asked yet whether blocks may
// come in another order: where one waits for another, these runs do not end, and say nothing.
void run_drawn_orders(const std::vector<RawCandidate*>& candidates, std::vector<ReferenceTrial>& trials,
                      bool brief, TrialMemory* memory, int jobs,
                      std::chrono::steady_clock::time_point deadline) {
  std::vector<RawCandidate*> asked;
  std::vector<Piece> pieces;
  for (RawCandidate* candidate : candidates) {
    ReferenceTrial& trial = trials[candidate->index];
    if (!trial.runs || !trial.runs->depends_on_order)
      continue;
    candidate->runs = std::move(trial.runs);
    candidate->settings =
        in_drawn_orders(candidate->settings.front(), brief || candidate->runs->accepts_any_block_first);
    candidate->results.assign(candidate->settings.size(), {});
    asked.push_back(candidate);
    for (std::size_t i = 0; i < candidate->settings.size(); ++i)
      pieces.push_back({candidate, i});
  }
  run_pieces(pieces, false, memory, jobs, deadline);
  for (RawCandidate* candidate : asked)
    trials[candidate->index] =
        conclude_drawn_orders(std::move(candidate->runs), candidate->results.data(), candidate->settings);
}

// Runs the plain setting of each, in this order. What executes so much that it is left out where others are
// clean is run to its end only where too few are.
void run_plainly(const std::vector<RawCandidate*>& candidates, std::size_t fewest, TrialMemory* memory,
                 int jobs, std::chrono::steady_clock::time_point deadline) {
  for (RawCandidate* candidate : candidates)
    candidate->settings[PLAIN].work_limit = MOST_IN_LONG_RUNS;
  run_candidates(candidates, true, memory, jobs, deadline);
  auto clean = static_cast<std::size_t>(std::ranges::count_if(
      candidates, [](const RawCandidate* candidate) { return candidate->results[PLAIN].clean; }));
  for (RawCandidate* candidate : candidates) {
    candidate->settings[PLAIN].work_limit = 0;
    if (!candidate->results[PLAIN].is_cut_short || clean >= fewest)
      continue;
    run_candidates({candidate}, true, memory, jobs, deadline);
    clean += candidate->results[PLAIN].clean ? 1 : 0;
  }
}

// Those at which the plain run was clean and executed little, and of the others as many as make up a number.
std::vector<RawCandidate*> choose(std::vector<RawCandidate>& candidates, std::vector<ReferenceTrial>& trials,
                                  std::size_t fewest) {
  std::vector<RawCandidate*> chosen;
  for (RawCandidate& candidate : candidates) {
    const TrialResult& plain = candidate.results[PLAIN];
    if (plain.clean) {
      chosen.push_back(&candidate);
    } else if (plain.is_cut_short) {
      trials[candidate.index].takes_long = true;
    } else {
      trials[candidate.index].problem = plain.problem;
      trials[candidate.index].is_unended = plain.out_of_time || plain.problem.empty();
    }
  }
  std::vector<RawCandidate*> by_work = chosen;
  std::stable_sort(by_work.begin(), by_work.end(), [](const RawCandidate* a, const RawCandidate* b) {
    return a->results[PLAIN].work < b->results[PLAIN].work;
  });
  std::uint64_t in_long_runs = 0;
  for (std::size_t place = 0; place < by_work.size(); ++place) {
    const std::uint64_t work = by_work[place]->results[PLAIN].work;
    if (work <= MUCH_WORK)
      continue;
    in_long_runs += work;
    if (place < fewest || (place < ENOUGH_SIZES && in_long_runs <= MOST_IN_LONG_RUNS))
      continue;
    trials[by_work[place]->index].takes_long = true;
    std::erase(chosen, by_work[place]);
  }
  return chosen;
}

} // namespace

std::vector<ReferenceTrial> run_reference(const HostKernels& raw, const RawParameters& parameters,
                                          const std::vector<std::shared_ptr<const Workload>>& workloads,
                                          std::uint64_t seed, bool brief, int jobs,
                                          std::chrono::steady_clock::time_point deadline) {
  std::vector<ReferenceTrial> trials(workloads.size());
  std::vector<RawCandidate> candidates;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const auto knobs = default_knobs(*workloads[i]);
    auto bound = bind_configuration(workloads[i], knobs ? *knobs : KnobValues{});
    if (!bound)
      continue;
    RawCandidate candidate;
    candidate.kernel = raw.find(bound->raw_instance, bound->macros());
    if (!candidate.kernel)
      continue;
    candidate.index = i;
    candidate.runs = std::make_unique<ReferenceRuns>();
    candidate.runs->workload = workloads[i];
    candidate.runs->usual = std::move(*bound);
    candidate.runs->layouts = layouts_of(workloads[i], parameters.strides);
    candidate.settings = settings_at(*candidate.runs, seed, parameters);
    candidate.runs->meets_by_count = parameters.meets_by_count;
    for (TrialSettings& settings : candidate.settings)
      settings.barriers_by_count = parameters.meets_by_count;
    if (brief)
      candidate.settings.resize(BRIEF);
    candidate.results.resize(candidate.settings.size());
    candidates.push_back(std::move(candidate));
  }
  std::vector<RawCandidate*> all;
  for (RawCandidate& candidate : candidates)
    all.push_back(&candidate);
  std::ranges::stable_sort(
      all, {}, [](const RawCandidate* candidate) { return magnitude(candidate->runs->workload->problem); });
  // In brief sizes are looked for that somebody asks for: one is enough.
  const std::size_t fewest = brief ? 1 : FEWEST_SIZES;
  run_plainly(all, fewest, raw.memory(), jobs, deadline);
  const std::vector<RawCandidate*> chosen = choose(candidates, trials, fewest);
  run_candidates(chosen, false, raw.memory(), jobs, deadline);
  for (RawCandidate* candidate : chosen)
    trials[candidate->index] =
        conclude(std::move(candidate->runs), candidate->results.data(), candidate->settings);
  run_drawn_orders(chosen, trials, brief, raw.memory(), jobs, deadline);
  return trials;
}

} // namespace lathe::refactor
