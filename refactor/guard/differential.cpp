// Differential: the template gives the raw kernel's outputs. Both run on the host executor, every access
// checked, at sizes around the tiles' boundaries, for the default and the sampled configurations, on several
// secret seeds, with outputs and shared memory poisoned twice, with special values in the data and with
// threads in several orders; which bytes are read and written is compared too. Sizes at which the raw kernel
// itself does not run clean are left out, and said so.
#include "refactor/guard/checks.h"
#include "refactor/guard/demands.h"
#include "refactor/guard/parallel.h"
#include "refactor/guard/reach.h"
#include "refactor/guard/reference_runs.h"
#include "refactor/guard/shapes.h"
#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <clang/AST/Decl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <iterator>
#include <mutex>
#include <set>
#include <tuple>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t CANDIDATE_SHAPES = 42; // over all choices of types, tried with the raw kernel
constexpr std::size_t FEWEST_SHAPES = 12;    // of them for each choice
constexpr std::size_t SHAPES_PER_CONFIGURATION = 5;
constexpr std::size_t TASKS_PER_CHILD = 4;
// Reassociated sums round another way in few of a small format's elements; another rounding on the way shows
// in many.
constexpr double MOST_ROUNDED_ANEW = 0.04;
constexpr std::uint64_t FEWEST_ROUNDED = 64; // elements from which on a share says something

// One configuration at one size.
struct Task {
  Configuration configuration;
  const ReferenceRuns* shape = nullptr;
};

class Differential {
public:
  Differential(const JudgedPair& subject, bool same_code)
      : subject_(subject), same_code_(same_code), findings_("differential"),
        raw_(subject, subject.raw_text, subject.spec.reference),
        templated_(subject, subject.template_text, subject.spec.kernel) {
    for (const auto& [instance, facts] : subject.raw.code_facts)
      for (const int parameter : facts.nullable)
        nullable_.insert(static_cast<std::size_t>(parameter));
    for (const auto& [instance, facts] : subject.raw.source_facts)
      for (std::size_t p = 0; p < facts.function->getNumParams(); ++p) {
        is_restrict_.resize(std::max(is_restrict_.size(), p + 1), false);
        is_restrict_[p] =
            is_restrict_[p] ||
            facts.function->getParamDecl(static_cast<unsigned>(p))->getType().isRestrictQualified();
      }
    jobs_ = subject.options.jobs > 0 ? subject.options.jobs
                                     : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    deadline_ =
        Clock::now() + std::chrono::milliseconds(static_cast<long long>(subject.options.time_limit_s * 1000));
  }

  CheckResult run() {
    if (const auto compiler = host_compiler(); !compiler)
      findings_.undecided(compiler.error().sentence());
    else
      judge();
    return conclude();
  }

private:
  std::uint64_t seed(std::size_t index) const { return element::mix(subject_.seed + 0x9e37 * index) | 1; }

  void judge() {
    std::vector<const Configuration*> configurations;
    for (const Configuration& configuration : subject_.sampled)
      configurations.push_back(&configuration);
    for (const Configuration& configuration : subject_.defaults)
      configurations.push_back(&configuration);
    HostKernels::Wanted raw_wanted, template_wanted;
    for (const Configuration& configuration : subject_.defaults)
      raw_wanted.emplace_back(configuration.raw_instance, configuration.macros());
    for (const Configuration* configuration : configurations)
      template_wanted.emplace_back(configuration->template_instance, configuration->macros());
    // Both sides are compiled at once; the raw kernel's runs start as soon as it is there.
    auto building =
        std::async(std::launch::async, [&] { templated_.compile(template_wanted, std::max(1, jobs_ - 1)); });
    raw_.compile(raw_wanted, 1);
    for (const std::string& problem : raw_.problems())
      findings_.undecided("the raw kernel: " + problem);
    for (const auto& types : subject_.type_choices)
      try_raw(types, configurations);
    building.wait();
    if (refuse_uncompiled())
      return;
    plan();
    if (!refuse_uncompiled())
      run_tasks();
  }

  bool refuse_uncompiled() {
    for (const std::string& problem : templated_.problems())
      findings_.fail(problem);
    return findings_.failed();
  }

  // Which of the candidate sizes the raw kernel runs clean at, and what it gives.
  void try_raw(const std::map<std::string, std::string>& types,
               const std::vector<const Configuration*>& configurations) {
    const std::size_t most =
        std::max(FEWEST_SHAPES, CANDIDATE_SHAPES / std::max<std::size_t>(1, subject_.type_choices.size()));
    auto shapes = boundary_shapes(subject_, types, configurations, limits_, most);
    if (shapes.empty()) { // a launch of many blocks whatever the size
      constexpr std::uint64_t MORE = 16;
      limits_.threads *= MORE;
      limits_.bytes *= MORE;
      shapes = boundary_shapes(subject_, types, configurations, limits_, FEWEST_SHAPES);
    }
    RawTally tally;
    run_raw(types, shapes, tally);
    if (clean_[types].empty())
      run_raw_near_problems(types, tally);
    if (tally.unclean)
      findings_.evidence("left out: " + std::to_string(tally.unclean) +
                         " sizes at which the raw kernel itself does not run clean (" + tally.first_problem +
                         ")");
    keep_pairs_of_all_sizes(clean_[types]);
    leave_out_slow(clean_[types]);
    if (!clean_[types].empty())
      return;
    const std::string sizes = std::to_string(tally.tried) + " sizes";
    if (tally.tried == 0)
      findings_.undecided("no size is small enough to be run on the host executor");
    else if (tally.unclean == 0)
      findings_.undecided("the time limit left no run of the raw kernel at any of " + sizes);
    else
      findings_.undecided("the raw kernel runs clean at none of " + sizes + " (" + tally.first_problem + ")");
  }

  struct RawTally {
    std::size_t tried = 0, unclean = 0;
    std::string first_problem;
  };

  // Runs the raw kernel at `shapes` and keeps those at which it runs clean.
  void run_raw(const std::map<std::string, std::string>& types,
               const std::vector<std::shared_ptr<const Workload>>& shapes, RawTally& tally) {
    const Clock::time_point deadline = std::min(deadline_, Clock::now() + std::chrono::seconds(20));
    auto trials = run_reference(raw_, is_restrict_, shapes, seed(0), jobs_, deadline);
    tally.tried += shapes.size();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (trials[i].runs) {
        order_seen_ |= trials[i].runs->depends_on_order;
        if (const HostKernel* kernel =
                raw_.find(trials[i].runs->usual.raw_instance, trials[i].runs->usual.macros()))
          raw_reach_.note(*kernel, trials[i].runs->raw[1]);
        race_seen_ |= !trials[i].runs->accepts_warps_in_turn;
        for (const HostRace& race : trials[i].runs->races)
          ++raw_races_[{race.place, race.between_blocks}];
        clean_[types].push_back(std::move(trials[i].runs));
      } else if (!trials[i].problem.empty()) {
        ++tally.unclean;
        if (tally.first_problem.empty())
          tally.first_problem = shapes[i]->key() + ": " + trials[i].problem;
      }
    }
  }

  // Where sizes hang together (a stride and what it strides over), few are right but those of the problems
  // themselves: each problem with one or two of its sizes made small, in as much memory as some of them need.
  void run_raw_near_problems(const std::map<std::string, std::string>& types, RawTally& tally) {
    constexpr std::uint64_t GROWTH = 8;
    constexpr int STEPS = 3;
    constexpr std::size_t ENOUGH = 4;
    std::set<std::string> tried;
    for (int step = 0; step < STEPS && clean_[types].size() < ENOUGH; ++step) {
      std::vector<std::shared_ptr<const Workload>> shapes;
      for (const Configuration& usual : subject_.defaults)
        if (usual.workload->types == types)
          for (auto& shape : shapes_near_problem(subject_, types, usual, limits_, CANDIDATE_SHAPES))
            if (tried.insert(shape->key()).second)
              shapes.push_back(std::move(shape));
      run_raw(types, shapes, tally);
      limits_.threads *= GROWTH;
      limits_.bytes *= GROWTH;
    }
  }

  // A size at which the raw kernel itself takes long costs a dozen of such runs for each configuration.
  void leave_out_slow(std::vector<std::unique_ptr<ReferenceRuns>>& shapes) {
    constexpr double SLOW_S = 0.1;
    constexpr std::size_t ENOUGH = 10;
    const auto is_slow = [](const auto& shape) { return shape->raw[1].seconds > SLOW_S; };
    const auto slow = static_cast<std::size_t>(std::ranges::count_if(shapes, is_slow));
    if (slow == 0 || shapes.size() - slow < ENOUGH)
      return;
    const auto kept = std::stable_partition(shapes.begin(), shapes.end(), std::not_fn(is_slow));
    std::move(kept, shapes.end(), std::back_inserter(further_[shapes.front()->workload->types]));
    shapes.erase(kept, shapes.end());
    findings_.evidence("left out: " + std::to_string(slow) + " sizes at which a run takes long");
  }

  // Appends a task where the configuration is admitted at the size and was not planned for it; whether it
  // did.
  bool add_task(const Configuration& configuration, const ReferenceRuns& shape, HostKernels::Wanted& wanted) {
    const bool known = std::ranges::any_of(tasks_, [&](const Task& task) {
      return task.shape == &shape && task.configuration.knobs == configuration.knobs;
    });
    auto bound = bind_configuration(shape.workload, configuration.knobs);
    if (known || !bound || !admitted(*shape.workload, configuration.knobs) ||
        !fits(*shape.workload, bound->template_launch, limits_))
      return false;
    bound->is_default = configuration.is_default;
    // Of several raw kernels, the one that the launcher takes at that size is the reference.
    bound->raw_instance = shape.usual.raw_instance;
    bound->raw_launch = shape.usual.raw_launch;
    wanted.emplace_back(bound->template_instance, bound->macros());
    tasks_.push_back({std::move(*bound), &shape});
    return true;
  }

  // Pairs of configurations and sizes. For each configuration the sizes that its conditions admit.
  void plan() {
    HostKernels::Wanted more;
    const auto add = [&](const Configuration& configuration, const ReferenceRuns& shape) {
      return add_task(configuration, shape, more);
    };
    for (const Configuration& configuration : subject_.sampled) {
      const auto& shapes = clean_[configuration.workload->types];
      const std::size_t large = add_largest(configuration, shapes, add);
      const std::size_t taken =
          large + add_telling(configuration, shapes, SHAPES_PER_CONFIGURATION - large, add);
      if (taken == 0 && !add_own_sizes(configuration, add))
        findings_.undecided("no size at which the raw kernel runs clean is admitted at " +
                            configuration.text());
    }
    // The default of each size is that size's own; without the same machine code it is looked at everywhere.
    for (const auto& [types, shapes] : clean_) {
      std::set<std::string> instances;
      std::size_t taken = 0;
      for (const auto& shape : shapes) {
        const bool known = instances.contains(shape->usual.template_instance);
        if (taken >= (same_code_ ? 2 : SHAPES_PER_CONFIGURATION) || (!known && instances.size() >= 3))
          continue;
        Configuration usual = shape->usual;
        usual.is_default = true;
        if (add(usual, *shape)) {
          ++taken;
          instances.insert(shape->usual.template_instance);
        }
      }
    }
    templated_.compile(more, jobs_);
  }

  // The largest size that the configuration admits: its loops make more than one round where any does.
  // Returns how many were added.
  template <class Shapes, class Add>
  std::size_t add_largest(const Configuration& configuration, const Shapes& shapes, const Add& add) {
    std::vector<const ReferenceRuns*> ordered;
    for (const auto& shape : shapes)
      ordered.push_back(shape.get());
    const auto elements = [](const ReferenceRuns* shape) {
      std::uint64_t most = 0; // of one dimension alone: many rows of one element make no rounds
      for (const auto& [name, size] : shape->workload->problem.dimensions)
        most = std::max(most, static_cast<std::uint64_t>(size));
      return most;
    };
    std::stable_sort(ordered.begin(), ordered.end(), [&](const ReferenceRuns* a, const ReferenceRuns* b) {
      return elements(a) > elements(b);
    });
    for (const ReferenceRuns* shape : ordered)
      if (add(configuration, *shape))
        return 1;
    return 0;
  }

  // Sizes that lie otherwise to the configuration's tiles than those before them. Returns how many were
  // added.
  template <class Shapes, class Add>
  std::size_t add_telling(const Configuration& configuration, const Shapes& shapes, std::size_t most,
                          const Add& add) {
    std::set<std::string> known;
    std::vector<std::pair<const ReferenceRuns*, std::set<std::string>>> left;
    for (const auto& shape : shapes)
      left.emplace_back(shape.get(), size_marks(subject_, configuration, *shape->workload));
    std::size_t taken = 0;
    while (taken < most && !left.empty()) {
      const auto news = [&](const auto& candidate) {
        return std::ranges::count_if(candidate.second,
                                     [&](const std::string& mark) { return !known.contains(mark); });
      };
      const auto best =
          std::ranges::max_element(left, [&](const auto& a, const auto& b) { return news(a) < news(b); });
      if (add(configuration, *best->first)) {
        ++taken;
        known.insert(best->second.begin(), best->second.end());
      }
      left.erase(best);
    }
    return taken;
  }

  // Sizes looked for on behalf of one configuration, whose conditions admit none of those that all share.
  template <class Add> bool add_own_sizes(const Configuration& configuration, const Add& add) {
    constexpr std::size_t SIZES = 3;
    const auto& types = configuration.workload->types;
    const auto shapes = boundary_shapes(subject_, types, {&configuration}, limits_, SIZES, &configuration);
    std::size_t taken = 0;
    for (ReferenceTrial& trial : run_reference(raw_, is_restrict_, shapes, seed(0), 1, deadline_)) {
      if (!trial.runs)
        continue;
      if (!clean_[types].empty())
        keep_pairs_of(*clean_[types].front(), *trial.runs);
      clean_[types].push_back(std::move(trial.runs));
      taken += add(configuration, *clean_[types].back());
    }
    return taken > 0;
  }

  // Several tasks in one child; their problems, or nothing.
  void judge_tasks(const std::vector<std::size_t>& indices, std::vector<std::string>& problems) {
    std::vector<Trial> trials;
    // The templates' trials, in order; those without a reference come behind the raw kernel's own run.
    std::vector<std::vector<Demand>> demands;
    std::vector<std::size_t> of_template;
    for (const std::size_t index : indices) {
      const Task& task = tasks_[index];
      const Workload* workload = task.shape->workload.get();
      const std::vector<std::string> macros = task.configuration.macros();
      const HostKernel *raw = raw_.find(task.configuration.raw_instance, macros),
                       *templated = templated_.find(task.configuration.template_instance, macros);
      demands.push_back(demands_of(task.configuration, *task.shape, nullable_, seed(0), seed(1 + index)));
      if (!raw)
        std::erase_if(demands.back(), [](const Demand& demand) { return !demand.reference; });
      for (const Demand& demand : demands.back()) {
        if (!demand.reference)
          trials.push_back({raw, &task.configuration.raw_launch, workload, demand.settings});
        of_template.push_back(trials.size());
        trials.push_back({templated, &task.configuration.template_launch, workload, demand.settings});
      }
    }
    const std::vector<TrialResult> results = run_trials(trials);
    const TrialResult* next = results.data();
    for (std::size_t t = 0; t < indices.size(); ++t)
      problems[indices[t]] = judge_results(tasks_[indices[t]], demands[t], next);
    for (const std::size_t i : of_template)
      reach_.note(*trials[i].kernel, results[i]);
  }

  // `next`: the first result of the task; ends behind its last.
  std::string judge_results(const Task& task, const std::vector<Demand>& demands, const TrialResult*& next) {
    const Workload& workload = *task.shape->workload;
    std::string refusal;
    for (const Demand& demand : demands) {
      const TrialResult& reference = demand.reference ? *demand.reference : *next++;
      const TrialResult& result = *next++;
      if (!reference.clean || !refusal.empty())
        continue; // the raw kernel's own trouble with that data, or the answer is known
      std::string problem = differs(task, result, reference, demand.settings);
      if (problem.empty() && demand.settings.record_accesses)
        problem = compare_accesses(workload, result, reference);
      if (problem.empty() && demand.settings.find_races)
        problem = new_race(*task.shape, result);
      if (problem.empty())
        continue;
      if (demand.is_demanded)
        refusal = problem + demand.suffix;
      else
        note(problem + demand.suffix + ", at " + task.configuration.text());
    }
    return refusal;
  }

  // What is wrong with a result, or nothing; counts it.
  std::string differs(const Task& task, const TrialResult& result, const TrialResult& reference,
                      const TrialSettings& settings) {
    ++runs_;
    if (result.out_of_time)
      return "did not end: " + result.problem;
    if (!result.clean)
      return result.problem;
    const TrialComparison comparison =
        compare_trials(*task.shape->workload, result, reference, settings, task.shape->unordered);
    const std::lock_guard lock(mutex_);
    identical_ += comparison.identical;
    worst_error_ = std::max(worst_error_, comparison.error);
    if (comparison.problem.empty() && settings.data == Data::usual && !task.shape->depends_on_order &&
        comparison.small >= FEWEST_ROUNDED && !task.configuration.flag_is_set() &&
        static_cast<double>(comparison.differing_small) >
            MOST_ROUNDED_ANEW * static_cast<double>(comparison.small))
      return "rounds another way: " + std::to_string(comparison.differing_small) + " of " +
             std::to_string(comparison.small) + " elements differ, each within the tolerance";
    return comparison.problem;
  }

  // An unordered pair of accesses in a place where the raw kernel has none at this size, nor at many.
  std::string new_race(const ReferenceRuns& shape, const TrialResult& result) const {
    std::size_t sizes = 0;
    for (const auto& [types, shapes] : clean_)
      sizes += shapes.size();
    for (const HostRace& race : result.races) {
      const std::pair<std::string, bool> place(race.place, race.between_blocks);
      const auto known = raw_races_.find(place);
      const bool is_raws_here = std::ranges::any_of(shape.races, [&](const HostRace& other) {
        return std::pair(other.place, other.between_blocks) == place;
      });
      constexpr std::size_t MANY = 4; // one size in so many
      if (!is_raws_here && (known == raw_races_.end() || known->second * MANY < sizes))
        return "has a race that the raw kernel has not: " + race.text + " of " + race.place;
    }
    return {};
  }

  void note(std::string sentence) {
    const std::lock_guard lock(mutex_);
    if (notes_.size() < 8)
      notes_.push_back(std::move(sentence));
  }

  void run_tasks() {
    run_from(0);
    reach_further();
    report_runs();
  }

  // Code that no run has reached, at pairs of configuration and size that the plan left out.
  void reach_further() {
    constexpr std::size_t ROUNDS = 4, PAIRS = 8;
    for (std::size_t turn = 0; turn < ROUNDS && !failed_ && Clock::now() < deadline_; ++turn) {
      if (reach_.never(subject_.template_text, raw_reach_, subject_.raw_text).empty())
        return;
      if (turn == 0)
        add_further_sizes();
      const std::size_t first = tasks_.size();
      HostKernels::Wanted wanted;
      for (const auto& [configuration, shape] : pairs_by_news())
        if (tasks_.size() < first + PAIRS)
          add_task(*configuration, *shape, wanted);
      if (tasks_.size() == first)
        return;
      templated_.compile(wanted, jobs_);
      run_from(first);
    }
  }

  // More sizes than all configurations share.
  void add_further_sizes() {
    constexpr std::size_t MORE = 3; // times as many
    std::vector<const Configuration*> configurations;
    for (const Configuration& configuration : subject_.sampled)
      configurations.push_back(&configuration);
    for (auto& [types, known] : clean_) {
      auto shapes = boundary_shapes(subject_, types, configurations, limits_, MORE * known.size());
      std::erase_if(shapes, [&](const auto& shape) {
        return std::ranges::any_of(known,
                                   [&](const auto& other) { return other->workload->key() == shape->key(); });
      });
      for (ReferenceTrial& trial : run_reference(raw_, is_restrict_, shapes, seed(0), jobs_, deadline_)) {
        if (!trial.runs)
          continue;
        if (!known.empty())
          keep_pairs_of(*known.front(), *trial.runs);
        further_[types].push_back(std::move(trial.runs));
      }
    }
  }

  // All pairs of sampled configurations and sizes: first the sizes of which a dimension is smaller or larger
  // than at any run, then those that fewest runs were at; every configuration's first before any one's
  // second.
  std::vector<std::pair<const Configuration*, const ReferenceRuns*>> pairs_by_news() const {
    std::map<const ReferenceRuns*, std::size_t> times;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> seen; // a dimension's least and most
    for (const Task& task : tasks_) {
      ++times[task.shape];
      for (const auto& [name, size] : task.shape->workload->problem.dimensions) {
        auto& [least, most] = seen.emplace(name, std::pair(size, size)).first->second;
        least = std::min(least, size), most = std::max(most, size);
      }
    }
    const auto is_known = [&](const ReferenceRuns& shape) {
      return std::ranges::all_of(shape.workload->problem.dimensions, [&](const auto& dimension) {
        const auto found = seen.find(dimension.first);
        return found != seen.end() && found->second.first <= dimension.second &&
               dimension.second <= found->second.second;
      });
    };
    struct Pair {
      bool is_known;
      std::size_t times, place;
      const Configuration* configuration;
      const ReferenceRuns* shape;
    };
    std::vector<Pair> pairs;
    for (const Configuration& configuration : subject_.sampled) {
      std::size_t place = 0;
      for (const auto* of_types : {&further_, &clean_})
        if (const auto found = of_types->find(configuration.workload->types); found != of_types->end())
          for (const auto& shape : found->second)
            pairs.push_back({is_known(*shape), times[shape.get()], place++, &configuration, shape.get()});
    }
    std::ranges::stable_sort(
        pairs, {}, [](const Pair& pair) { return std::tuple(pair.is_known, pair.times, pair.place); });
    std::vector<std::pair<const Configuration*, const ReferenceRuns*>> ordered;
    for (const Pair& pair : pairs)
      ordered.emplace_back(pair.configuration, pair.shape);
    return ordered;
  }

  // Runs the tasks from `first` on.
  void run_from(std::size_t first) {
    // Every configuration's first size comes before any configuration's second.
    std::map<std::string, std::size_t> round;
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = first; i < tasks_.size(); ++i)
      order.emplace_back(round[tasks_[i].configuration.template_instance]++, i);
    std::stable_sort(order.begin(), order.end());
    std::vector<std::vector<std::size_t>> batches;
    for (std::size_t place = 0; place < order.size(); ++place) {
      if (place % TASKS_PER_CHILD == 0)
        batches.emplace_back();
      batches.back().push_back(order[place].second);
    }
    problems_.resize(tasks_.size());
    ran_.resize(tasks_.size(), 0);
    parallel(batches.size(), jobs_, deadline_, [&](std::size_t batch) {
      if (failed_ && subject_.options.stop_at_failure)
        return;
      judge_tasks(batches[batch], problems_);
      for (const std::size_t i : batches[batch]) {
        ran_[i] = 1;
        if (!problems_[i].empty())
          failed_ = true;
      }
    });
  }

  void report_runs() {
    std::map<std::string, std::string> sizes;
    std::set<std::string> untested;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const std::string text =
          tasks_[i].configuration.knobs_text() + (tasks_[i].configuration.is_default ? " (default)" : "");
      if (!ran_[i]) {
        ++left_out_;
        untested.insert(text);
        continue;
      }
      std::string& list = sizes[text];
      list += (list.empty() ? "" : "; ") + tasks_[i].shape->workload->key();
      if (!problems_[i].empty())
        findings_.fail(problems_[i] + " at " + tasks_[i].configuration.text());
    }
    configurations_ = sizes.size();
    for (const auto& [text, list] : sizes) {
      findings_.evidence("ran " + text + ": " + list);
      untested.erase(text);
    }
    if (!findings_.failed())
      for (const std::string& line : reach_.never(subject_.template_text, raw_reach_, subject_.raw_text))
        findings_.undecided("code that ran at none of the sizes and configurations: " + line);
    for (const std::string& text : untested)
      if (!findings_.failed())
        findings_.undecided("the time limit left no run for " + text);
  }

  CheckResult conclude() {
    std::size_t shapes = 0;
    for (const auto& [types, list] : clean_)
      shapes += list.size();
    if (order_seen_)
      findings_.report(
          "the raw kernel's result depends on the order of its threads; such buffers are compared as sets");
    if (race_seen_ && !order_seen_)
      findings_.report(
          "the raw kernel gives something else when one warp runs after the other (a race of its "
          "own); templates are not compared in that order");
    for (const std::string& sentence : notes_)
      findings_.report(sentence);
    if (left_out_)
      findings_.evidence(std::to_string(left_out_) + " of " + std::to_string(tasks_.size()) +
                         " pairs of configuration and size were left out for the time limit");
    if (runs_ == 0)
      findings_.undecided("nothing was run");
    char error[32];
    std::snprintf(error, sizeof error, "%.2g", worst_error_);
    for (const auto& [place, sizes] : raw_races_)
      findings_.report("the raw kernel itself has a race in " + place.first +
                       (place.second ? " between blocks" : " within a block") + ", at " +
                       std::to_string(sizes) + " of " + std::to_string(shapes) + " sizes");
    findings_.evidence("seed " + std::to_string(subject_.seed));
    return findings_.conclude(Verdict::tested,
                              std::to_string(runs_) + " runs of " + std::to_string(configurations_) +
                                  " configurations on the host executor at " + std::to_string(shapes) +
                                  " sizes agree with the raw kernel (" + std::to_string(identical_) +
                                  " bit for bit; worst difference " + error +
                                  " of what is allowed) and touch the same bytes");
  }

  const JudgedPair& subject_;
  bool same_code_;
  Findings findings_;
  HostKernels raw_, templated_;
  std::vector<bool> is_restrict_; // of each parameter of the raw kernel
  // Of the raw kernel, by place and scope (between blocks or not): at how many sizes.
  std::map<std::pair<std::string, bool>, std::size_t> raw_races_;
  Reach reach_, raw_reach_;
  std::set<std::size_t> nullable_; // parameters whose argument may be a null pointer
  ShapeLimits limits_;
  int jobs_ = 1;
  Clock::time_point deadline_;
  std::map<std::map<std::string, std::string>, std::vector<std::unique_ptr<ReferenceRuns>>> clean_;
  // Sizes at which a run takes long, and more that were looked for: only for code that no other size reaches.
  std::map<std::map<std::string, std::string>, std::vector<std::unique_ptr<ReferenceRuns>>> further_;
  std::vector<Task> tasks_;
  std::vector<std::string> problems_; // of each task, or empty
  std::vector<char> ran_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::atomic<std::size_t> runs_{0};
  bool order_seen_ = false, race_seen_ = false;
  std::size_t identical_ = 0, left_out_ = 0, configurations_ = 0;
  double worst_error_ = 0;
  std::vector<std::string> notes_;
};

} // namespace

CheckResult check_differential(const JudgedPair& subject, const std::string& identity_level) {
  return Differential(subject, identity_level == "L0" || identity_level == "L1").run();
}

} // namespace lathe::refactor
