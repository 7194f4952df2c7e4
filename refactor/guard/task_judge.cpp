#include "refactor/guard/task_judge.h"

#include "refactor/guard/strides.h"
#include "refactor/guard/tolerance.h"
#include "refactor/guard/trial_comparison.h"
#include "refactor/guard/trial_data.h"
#include "refactor/guard/unordered_results.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>

namespace lathe::refactor {
namespace {

constexpr std::size_t FORERUNS = 3; // trials of a demand with one, before the template's own
// Reassociated sums round another way in few of a small format's elements; another rounding on the way shows
// in many.
constexpr double MOST_ROUNDED_ANEW = 0.04;
constexpr std::uint64_t FEWEST_ROUNDED = 64; // elements from which on a share says something
constexpr double MOST_TERMS = 0x1p20;
constexpr double MORE_THAN_ITS_OWN = 8; // a sum in another order rounds each partial sum, not each term

constexpr const char* ROUNDS_ANOTHER_WAY = "rounds another way: ";

bool rounds_anew(const TrialComparison& comparison) {
  return comparison.small >= FEWEST_ROUNDED && static_cast<double>(comparison.differing_small) >
                                                   MOST_ROUNDED_ANEW * static_cast<double>(comparison.small);
}

// Data that are there for what comparing and rounding decide.
bool decides_ties(Data data) {
  return data == Data::coarse || data == Data::ties || data == Data::opposed;
}

// Whether a run ended at an address that is no multiple of what is accessed there, by the words of the host
// executor and of its checks.
bool is_fault_of_alignment(const TrialResult& result) {
  return !result.clean && (result.problem.find("misaligned") != std::string::npos ||
                           result.problem.find("wrong alignment") != std::string::npos);
}

// Of the demands on data that no other task has a few, drawn, and those for the template's own numbers.
std::vector<Demand> some_on_own_data(const std::vector<Demand>& demands, std::uint64_t seed) {
  constexpr std::size_t MOST = 3;
  std::vector<Demand> found, others;
  for (const Demand& demand : demands)
    if (!demand.reference && !demand.follows)
      (demand.is_told_apart ? found : others).push_back(demand);
  for (std::size_t taken = 0; taken < MOST && !others.empty(); ++taken) {
    seed = element::mix(seed);
    const auto one = others.begin() + static_cast<std::ptrdiff_t>(seed % others.size());
    found.push_back(*one);
    others.erase(one);
  }
  return found;
}

} // namespace

void TaskJudge::judge(const std::vector<Task>& tasks, const std::vector<std::size_t>& indices,
                      std::vector<std::string>& problems) {
  std::vector<Trial> trials;
  TrialMemory* const memory = raw_.kernels().memory();
  // The templates' trials, in order; those without a reference come behind the raw kernel's own run.
  std::vector<std::vector<Demand>> demands;
  std::vector<std::pair<std::size_t, bool>> of_template; // with whether its code is the raw kernel's
  for (const std::size_t index : indices) {
    const Task& task = tasks[index];
    const std::vector<std::string> macros = task.configuration.macros();
    const HostKernel *raw = raw_.kernels().find(task.configuration.raw_instance, macros),
                     *templated = templated_.find(task.configuration.template_instance, macros);
    demands.push_back(demands_of_task(task, index, raw != nullptr));
    for (const Demand& demand : demands.back()) {
      const Workload* workload = &task.shape->workload_of(demand.settings);
      if (demand.forerun) {
        TrialSettings first = demand.settings;
        first.again = false;
        trials.push_back({raw, &demand.forerun->raw_launch, demand.forerun->workload.get(), first});
        trials.push_back({raw, &task.configuration.raw_launch, workload, demand.settings});
        trials.push_back(
            {templated, &demand.forerun->template_launch, demand.forerun->workload.get(), first});
      }
      if (!demand.reference)
        trials.push_back({raw, &task.configuration.raw_launch, workload, demand.settings, memory});
      of_template.emplace_back(trials.size(), same_code_ && task.configuration.is_default);
      trials.push_back({templated, &task.configuration.template_launch, workload, demand.settings});
      // In order all that are there, in every other order some.
      trials.back().settings.parts_of_active_lanes =
          parts_lanes_ && demand.settings.schedule != HostSchedule::forward;
    }
  }
  const std::vector<TrialResult> results = run_trials(trials);
  const TrialResult* next = results.data();
  for (std::size_t t = 0; t < indices.size(); ++t)
    problems[indices[t]] = judge_results(tasks[indices[t]], demands[t], next);
  for (const auto& [i, is_proved] : of_template)
    reach_.note(*trials[i].kernel, results[i], is_proved);
}

std::vector<Demand> TaskJudge::demands_of_task(const Task& task, std::size_t index, bool has_raw) const {
  std::vector<Demand> demands =
      demands_of(task.configuration, *task.shape, raw_.accepted(task.configuration.workload->types),
                 served_layouts(task), trial_seed(subject_, 0), trial_seed(subject_, 1 + index));
  if (task.is_brief) {
    // In order with everything watched, or in reverse under the other poison.
    const std::vector<Demand> own = task.has_own_data && has_raw
                                        ? some_on_own_data(demands, trial_seed(subject_, 1 + index))
                                        : std::vector<Demand>{};
    demands.erase(demands.begin(), demands.begin() + static_cast<std::ptrdiff_t>(index % 2));
    demands.resize(1);
    // A block meets what it left itself only where a capped grid goes round, as it does at few sizes.
    const bool goes_round = !fits(*task.shape->workload, task.shape->usual.raw_launch, raw_.limits().bytes,
                                  raw_.limits().threads);
    demands.front().settings.find_races |= asks_for_barriers_ || goes_round;
    demands.front().settings.equal_writes_race |= asks_for_barriers_;
    demands.insert(demands.end(), own.begin(), own.end());
    return demands;
  }
  if (auto forerun = launch_before(task); has_raw && forerun) {
    Demand& behind = demands.emplace_back();
    behind.settings = demands.front().settings;
    behind.settings.record_accesses = behind.settings.find_races = false;
    behind.settings.again = true;
    behind.reference = &task.shape->raw[0];
    behind.suffix = " behind a launch at " + forerun->workload->key();
    behind.forerun = std::move(forerun);
  }
  if (asks_for_barriers_)
    for (Demand& demand : demands)
      demand.settings.find_races = demand.settings.equal_writes_race = true;
  if (!has_raw)
    std::erase_if(demands, [](const Demand& demand) { return !demand.reference; });
  return demands;
}

// Whether a configuration is admitted where each stride is odd that may be.
bool TaskJudge::serves_odd_strides(const Configuration& configuration) const {
  const Strides& strides = raw_.parameters().strides;
  std::set<int> left = strides.odd;
  for (const auto& size : raw_.clean().at(configuration.workload->types))
    if (admitted(*size->workload, configuration.knobs))
      for (const int parameter : odd_strides(*size->workload, strides))
        left.erase(parameter);
  return left.empty();
}

// The layouts at which the task's configuration is admitted.
std::set<Layout> TaskJudge::served_layouts(const Task& task) const {
  std::set<Layout> served;
  for (const auto& [layout, other] : task.shape->layouts)
    if (layout == Layout::strides_odd ? serves_odd_strides(task.configuration)
                                      : admitted(*other.workload, task.configuration.knobs))
      served.insert(layout);
  return served;
}

// The task's configuration at another size with another grid, where the raw kernel has variables that
// outlive a launch and may be launched twice.
std::shared_ptr<const Configuration> TaskJudge::launch_before(const Task& task) const {
  if (!task.shape->gives_the_same_again)
    return nullptr;
  for (const auto& other : raw_.clean().at(task.configuration.workload->types)) {
    if (!other->gives_the_same_again || !admitted(*other->workload, task.configuration.knobs))
      continue;
    auto bound = bind_configuration(other->workload, task.configuration.knobs);
    if (bound && bound->template_instance == task.configuration.template_instance &&
        bound->raw_instance == task.configuration.raw_instance &&
        bound->template_launch.grid != task.configuration.template_launch.grid)
      return std::make_shared<const Configuration>(std::move(*bound));
  }
  return nullptr;
}

// `next`: the first result of the task; ends behind its last.
std::string TaskJudge::judge_results(const Task& task, const std::vector<Demand>& demands,
                                     const TrialResult*& next) {
  std::string refusal;
  bool was_met = true;
  for (const Demand& demand : demands) {
    const TrialResult* raw_behind = nullptr; // the forerun
    if (demand.forerun) {
      raw_behind = next + 1;
      next += FORERUNS;
    }
    const TrialResult& reference = demand.reference ? *demand.reference : *next++;
    const TrialResult& result = *next++;
    if (demand.follows && !was_met)
      continue; // nor is what follows in turn asked
    was_met = true;
    if (!reference.clean || !refusal.empty())
      continue; // the raw kernel's own trouble with that data, or the answer is known
    const Workload& workload = task.shape->workload_of(demand.settings);
    if (raw_behind && (!raw_behind->clean || !compare_trials(workload, *raw_behind, reference,
                                                             demand.settings, task.shape->unordered)
                                                  .problem.empty()))
      continue;
    if (reference.wrote)
      raw_wrote_ = true;
    std::string problem = differs(task, workload, result, reference, demand.settings);
    if (problem.empty() && demand.settings.record_accesses)
      problem = compare_accesses(workload, result, reference);
    if (problem.empty() && demand.settings.find_races)
      problem = new_race(*task.shape, result, demand.settings);
    if (problem.empty() && asks_for_barriers_)
      barrier_runs_.note(task.configuration, workload, result);
    // Where the raw kernel has fences, and none is missing.
    if (problem.empty() && reference.fences > 0 && reference.unfenced.empty() && !result.unfenced.empty())
      problem = "lacks a memory fence that the raw kernel has: " + result.unfenced;
    if (problem.empty() || (result.clean && (raw_depends_on_order(task, demand, reference) ||
                                             raw_depends_on_last_bits(task, demand, reference, result) ||
                                             raw_rounds_by_order(task, demand, reference, result, problem))))
      continue;
    was_met = false;
    if (demand.otherwise == Otherwise::refused ||
        (demand.otherwise == Otherwise::refused_but_for_alignment && !is_fault_of_alignment(result)))
      refusal = problem + demand.suffix;
    else
      note(problem + demand.suffix + ", at " + task.configuration.text());
  }
  if (const auto& races = task.shape->races; !refusal.empty() && !races.empty())
    refusal +=
        "; the raw kernel itself has a race there, so that neither result is certain: " + races.front().text +
        " of " + races.front().place;
  return refusal;
}

// What is wrong with a result, or nothing; counts it.
std::string TaskJudge::differs(const Task& task, const Workload& workload, const TrialResult& result,
                               const TrialResult& reference, const TrialSettings& settings) {
  ++runs_;
  if (result.out_of_time)
    return "did not end: " + result.problem;
  if (!result.clean)
    return result.problem;
  const TrialComparison comparison =
      compare_trials(workload, result, reference, settings, task.shape->unordered);
  const std::string elsewhere = comparison.problem.empty() && task.shape->depends_on_order
                                    ? lies_elsewhere(task, workload, result, reference, settings)
                                    : std::string();
  const std::lock_guard lock(mutex_);
  identical_ += comparison.identical;
  if (comparison.problem.empty())
    worst_error_ = std::max(worst_error_, comparison.error);
  if (!elsewhere.empty())
    return elsewhere;
  if (comparison.problem.empty() && (settings.data == Data::usual || settings.data == Data::ties) &&
      settings.real_scalars != RealScalars::negated && settings.real_scalars_of.empty() &&
      !task.shape->depends_on_order && !task.configuration.flag_is_set() && rounds_anew(comparison))
    return std::string(ROUNDS_ANOTHER_WAY) + std::to_string(comparison.differing_small) + " of " +
           std::to_string(comparison.small) + " elements differ, each within the tolerance";
  return comparison.problem;
}

// The raw kernel's runs on the same data in drawn orders of its threads.
std::vector<TrialResult> TaskJudge::raw_in_drawn_orders(const Task& task,
                                                        const TrialSettings& settings) const {
  const HostKernel* raw = raw_.kernels().find(task.configuration.raw_instance, task.configuration.macros());
  if (!raw)
    return {};
  std::vector<Trial> trials;
  for (const TrialSettings& drawn :
       in_drawn_orders(settings, task.shape->accepts_any_block_first || task.shape->exchanged))
    trials.push_back({raw, &task.configuration.raw_launch, &task.shape->workload_of(settings), drawn});
  return run_trials(trials);
}

// The raw kernel's runs on the same data with its threads and blocks interrupted, each time elsewhere.
std::vector<TrialResult> TaskJudge::raw_interrupted(const Task& task, const TrialSettings& settings) const {
  const HostKernel* raw = raw_.kernels().find(task.configuration.raw_instance, task.configuration.macros());
  if (!raw)
    return {};
  std::vector<Trial> trials;
  for (std::size_t order = 0; order <= DRAWN_ORDERS; ++order) {
    TrialSettings drawn = settings;
    drawn.schedule = HostSchedule::interrupted;
    drawn.order += order; // the first as the template's own, where that was interrupted
    drawn.record_accesses = drawn.find_races = false;
    trials.push_back(
        {raw, &task.configuration.raw_launch, &task.shape->workload_of(settings), std::move(drawn)});
  }
  return run_trials(trials);
}

// What is wrong with where unordered results lie that are right as sets, or nothing. Of data on which the raw
// kernel was not run in many orders it is asked for them, where a template is about to be refused.
std::string TaskJudge::lies_elsewhere(const Task& task, const Workload& workload, const TrialResult& result,
                                      const TrialResult& reference, const TrialSettings& settings) const {
  const ReferenceRuns& shape = *task.shape;
  if (shape.exchanged && &reference == shape.raw &&
      !shape.exchanged->problem_of(workload, reference, result).empty()) {
    // Threads that run on until the next barrier take their slots of a bin together: element for element the
    // first slot then goes to what is theirs first. Interrupted ones share the slots out in other ways.
    ExchangedPlaces exchanged = *shape.exchanged;
    for (const TrialResult& other : raw_interrupted(task, settings))
      if (other.clean &&
          compare_trials(workload, other, reference, settings, shape.unordered).problem.empty())
        exchanged.learn(workload, reference, other);
    if (std::string problem = exchanged.problem_of(workload, reference, result); !problem.empty())
      return problem;
  }
  std::vector<TrialResult> in_other_orders;
  const auto is_fixed = [&](const auto& holds) {
    if (in_other_orders.empty())
      in_other_orders = raw_in_drawn_orders(task, settings);
    return std::ranges::all_of(in_other_orders,
                               [&](const TrialResult& other) { return !other.clean || holds(other); });
  };
  const auto is_together = [&](const TrialResult& other) {
    return belong_together(workload, other, reference, shape.unordered);
  };
  if (shape.unordered_together && !is_together(result) && is_fixed(is_together))
    return "puts other elements of its results beside each other than the raw kernel, which keeps together "
           "what it stores in no order";
  for (const PlacesIn& places : shape.places_in) {
    const auto points_there = [&](const TrialResult& other) {
      return point_to_the_same(workload, other, reference, places);
    };
    if (!points_there(result) && is_fixed(points_there))
      return "has places in '" + workload.buffers[places.from].name + "' at which other elements lie in '" +
             workload.buffers[places.to].name + "' than with the raw kernel, which stores both in no order";
  }
  return {};
}

// Whether the raw kernel's own result on a run's own data, such as two rows of one slot, is another in
// another order: at the sizes at which it was asked whether it takes such data, they may not have met; and
// with NaN, which no order puts in its place, a sort may leave places that nobody writes. Made only where a
// template is about to be refused.
bool TaskJudge::raw_depends_on_order(const Task& task, const Demand& demand,
                                     const TrialResult& reference) const {
  const HostKernel* raw = raw_.kernels().find(task.configuration.raw_instance, task.configuration.macros());
  const bool is_asked = demand.settings.data == Data::nans || demand.settings.data == Data::infinities;
  const bool is_interrupted = demand.settings.schedule == HostSchedule::interrupted;
  if ((demand.reference && !is_asked && !is_interrupted) || demand.forerun || !raw)
    return false;
  const Workload& workload = task.shape->workload_of(demand.settings);
  const auto is_another = [&](const TrialResult& other) {
    return other.clean && !compare_trials(workload, other, reference, demand.settings, task.shape->unordered)
                               .problem.empty();
  };
  // It gave the same under one drawing of the interruptions; others may tell.
  if (is_interrupted)
    return std::ranges::any_of(raw_interrupted(task, demand.settings), is_another);
  if (task.shape->depends_on_order &&
      std::ranges::any_of(raw_in_drawn_orders(task, demand.settings), is_another))
    return true;
  std::vector<Trial> trials;
  for (const HostSchedule schedule : {HostSchedule::reverse, HostSchedule::warps}) {
    TrialSettings settings = demand.settings;
    settings.schedule = schedule;
    // Nor does it answer for what it makes of memory that nobody wrote.
    settings.reverse_blocks = settings.other_scratch = schedule == HostSchedule::reverse;
    trials.push_back({raw, &task.configuration.raw_launch, &workload, settings});
  }
  return std::ranges::any_of(run_trials(trials), is_another);
}

// Whether the raw kernel's own results on neighbours of the same numbers lie as far apart as the template's,
// element by element: what is left of large terms that take each other away is rounding, of whichever order.
// Made only where a template is about to be refused for the size of a difference, and not where ties are
// asked for: a neighbour of a tie decides otherwise, too, and would excuse any rule for ties.
bool TaskJudge::raw_depends_on_last_bits(const Task& task, const Demand& demand, const TrialResult& reference,
                                         const TrialResult& result) const {
  constexpr std::uint64_t DRAWS = 6; // an element may come out the same by chance
  const HostKernel* raw = raw_.kernels().find(task.configuration.raw_instance, task.configuration.macros());
  const Workload& workload = task.shape->workload_of(demand.settings);
  const TrialComparison found =
      compare_trials(workload, result, reference, demand.settings, task.shape->unordered);
  if (demand.forerun || decides_ties(demand.settings.data) || !raw || found.problem.empty() ||
      found.error <= 1 || std::ranges::none_of(workload.buffers, has_neighbours))
    return false;
  std::vector<Trial> trials;
  for (std::uint64_t draw = 1; draw <= DRAWS; ++draw) {
    TrialSettings settings = demand.settings;
    settings.nudge = settings.seed + draw;
    settings.record_accesses = settings.find_races = false;
    trials.push_back({raw, &task.configuration.raw_launch, &workload, settings});
  }
  // A neighbour changes a term by its last bit; another order rounds each of the partial sums, which are
  // larger by up to the root of the number of terms.
  const double times =
      std::max(MORE_THAN_ITS_OWN, std::sqrt(std::min(terms_of(workload, reference), MOST_TERMS)));
  return lies_no_further(task, demand, reference, result, errors_of_raw(task, demand, reference, trials),
                         times);
}

// Whether the raw kernel's own sums lie as far apart in other orders of its threads as the template's do in
// one: what adds to a half precision number with each of thousands of threads rounds each time.
bool TaskJudge::raw_rounds_by_order(const Task& task, const Demand& demand, const TrialResult& reference,
                                    const TrialResult& result, const std::string& problem) const {
  const HostKernel* raw = raw_.kernels().find(task.configuration.raw_instance, task.configuration.macros());
  const bool is_in_another_order =
      demand.settings.schedule != HostSchedule::forward || demand.settings.reverse_blocks;
  if (!is_in_another_order || demand.forerun || demand.settings.data != Data::usual || !raw)
    return false;
  const Workload& workload = task.shape->workload_of(demand.settings);
  // Whole numbers are no matter of rounding, nor is what is not there.
  const TrialComparison found =
      compare_trials(workload, result, reference, demand.settings, task.shape->unordered);
  const bool is_of_rounding = problem.starts_with(ROUNDS_ANOTHER_WAY);
  if ((found.problem.empty() && !is_of_rounding) || !std::isfinite(found.error))
    return false;
  std::vector<Trial> trials;
  for (const HostSchedule schedule :
       {demand.settings.schedule, HostSchedule::reverse, HostSchedule::random, HostSchedule::interleaved}) {
    TrialSettings settings = demand.settings;
    settings.schedule = schedule;
    settings.reverse_blocks |= schedule == HostSchedule::reverse;
    settings.record_accesses = settings.find_races = false;
    trials.push_back({raw, &task.configuration.raw_launch, &workload, settings});
  }
  if (is_of_rounding)
    return std::ranges::any_of(run_trials(trials), [&](const TrialResult& other) {
      return other.clean &&
             rounds_anew(compare_trials(workload, other, reference, demand.settings, task.shape->unordered));
    });
  // Of as many additions each, one element may come out the same by chance.
  auto own = errors_of_raw(task, demand, reference, trials);
  for (std::vector<double>& errors : own)
    if (!errors.empty()) {
      const double share = std::ranges::max(errors) / MORE_THAN_ITS_OWN;
      for (double& error : errors)
        error = std::max(error, share);
    }
  return lies_no_further(task, demand, reference, result, std::move(own), MORE_THAN_ITS_OWN);
}

// How far the raw kernel's own trials lie from the reference at most, by buffer and element.
std::vector<std::vector<double>> TaskJudge::errors_of_raw(const Task& task, const Demand& demand,
                                                          const TrialResult& reference,
                                                          const std::vector<Trial>& trials) const {
  const Workload& workload = task.shape->workload_of(demand.settings);
  std::vector<std::vector<double>> own(workload.buffers.size());
  for (const TrialResult& other : run_trials(trials)) {
    if (!other.clean)
      continue;
    const auto errors = element_errors(workload, other, reference, demand.settings, task.shape->unordered);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      own[i].resize(errors[i].size(), 0);
      for (std::size_t k = 0; k < errors[i].size(); ++k)
        own[i][k] = std::max(own[i][k], errors[i][k]);
    }
  }
  return own;
}

// Whether no element of the result lies further from the reference than `times` that.
bool TaskJudge::lies_no_further(const Task& task, const Demand& demand, const TrialResult& reference,
                                const TrialResult& result, std::vector<std::vector<double>> own,
                                double times) const {
  const Workload& workload = task.shape->workload_of(demand.settings);
  const auto errors = element_errors(workload, result, reference, demand.settings, task.shape->unordered);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    own[i].resize(errors[i].size(), 0);
    for (std::size_t k = 0; k < errors[i].size(); ++k)
      if (errors[i][k] > 1 && errors[i][k] > times * own[i][k])
        return false;
  }
  return true;
}

// An unordered pair of accesses in a place where the raw kernel has none at this size, nor at many. Lanes
// that store one sum of theirs store NaN of other bits each where it is none: on a device they are the
// same.
std::string TaskJudge::new_race(const ReferenceRuns& shape, const TrialResult& result,
                                const TrialSettings& settings) const {
  const bool may_be_nan = settings.data != Data::usual || settings.real_scalars != RealScalars::usual;
  for (const HostRace& race : result.races) {
    if (may_be_nan && !race.is_of_a_read && !race.between_blocks)
      continue;
    const bool is_raws_here = std::ranges::any_of(shape.races, [&](const HostRace& other) {
      return other.place == race.place && other.between_blocks == race.between_blocks;
    });
    constexpr std::size_t MANY = 4; // one size in so many
    const std::size_t known = raw_.sizes_with_race(race.place, race.between_blocks);
    if (!is_raws_here && (known == 0 || known * MANY < raw_.count()))
      return "has a race that the raw kernel has not: " + race.text + " of " + race.place;
  }
  return {};
}

void TaskJudge::note(std::string sentence) {
  const std::lock_guard lock(mutex_);
  if (notes_.size() < 8)
    notes_.push_back(std::move(sentence));
}

} // namespace lathe::refactor
