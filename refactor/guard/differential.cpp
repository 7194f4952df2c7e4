// Differential: the template gives the raw kernel's outputs. Both run on the host executor, every access
// checked, at sizes around the tiles' boundaries, for the default and the sampled configurations, on several
// secret seeds, with outputs and shared memory poisoned twice, with special values in the data and with
// threads in several orders; which bytes are read and written is compared too. Sizes at which the raw kernel
// itself does not run clean are left out, and said so.
#include "refactor/guard/checks.h"
#include "refactor/guard/demands.h"
#include "refactor/guard/large_sizes.h"
#include "refactor/guard/missing_barriers.h"
#include "refactor/guard/parallel.h"
#include "refactor/guard/reach.h"
#include "refactor/guard/run_plan.h"
#include "refactor/guard/tolerance.h"
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
#include <mutex>
#include <ranges>
#include <set>
#include <tuple>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t CANDIDATE_SHAPES = 42; // over all choices of types, tried with the raw kernel
constexpr std::size_t FEWEST_SHAPES = 12;    // of them for each choice
constexpr std::size_t TASKS_PER_CHILD = 4;
constexpr std::size_t FORERUNS = 3; // trials of a demand with one, before the template's own
// Of the buffers of all sizes that are tried at once; a dozen runs' results of each are kept.
constexpr std::uint64_t MOST_BYTES_OF_ALL = 4 * MOST_BYTES;
constexpr double WORK_PER_SECOND = 1e7; // of a core, in checked runs
constexpr double PATIENCE = 10;         // times the limit, by the clock
constexpr double RUNS_PER_TASK = 12;
constexpr double OTHER_ARCHITECTURES_SHARE = 0.25; // of the budget, again for each
constexpr double FIRST_ROUNDS_SHARE = 4;           // of the budget, for the first size of every configuration
// Reassociated sums round another way in few of a small format's elements; another rounding on the way shows
// in many.
constexpr double MOST_ROUNDED_ANEW = 0.04;
constexpr std::uint64_t FEWEST_ROUNDED = 64; // elements from which on a share says something

class Differential {
public:
  Differential(const JudgedPair& subject, bool same_code, int architecture)
      : subject_(subject), same_code_(same_code), findings_("differential"),
        raw_(subject, subject.raw_text, subject.spec.reference, architecture),
        templated_(subject, subject.template_text, subject.spec.kernel, architecture),
        missing_(missing_barriers(subject)),
        plan_(subject, clean_, limits_, [this](const auto& workloads, bool brief, bool for_all) {
          return run_more(workloads, brief, for_all ? clean_ : asked_for_);
        }) {
    for (const auto& [instance, facts] : subject.raw.code_facts)
      for (const int parameter : facts.nullable)
        nullable_.insert(static_cast<std::size_t>(parameter));
    parameters_.strides = strides_of(subject.raw);
    std::vector<bool>& is_restrict = parameters_.is_restrict;
    for (const auto& [instance, facts] : subject.raw.source_facts) {
      parameters_.has_globals |= !facts.globals.empty();
      for (std::size_t p = 0; p < facts.function->getNumParams(); ++p) {
        is_restrict.resize(std::max(is_restrict.size(), p + 1), false);
        is_restrict[p] =
            is_restrict[p] ||
            facts.function->getParamDecl(static_cast<unsigned>(p))->getType().isRestrictQualified();
      }
    }
    jobs_ = subject.options.jobs > 0 ? subject.options.jobs
                                     : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    // What is run is decided by what it costs on any machine; the clock only ends what a busy one cannot do.
    budget_ = subject.options.time_limit_s * WORK_PER_SECOND;
    if (architecture != HOST_ARCHITECTURE)
      budget_ *= OTHER_ARCHITECTURES_SHARE;
    deadline_ = Clock::now() + std::chrono::milliseconds(
                                   static_cast<long long>(PATIENCE * subject.options.time_limit_s * 1000));
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
    if (refuse_uncompiled())
      return;
    run_tasks();
    if (!findings_.failed())
      ask_at_large_sizes();
  }

  // A few blocks of launches over billions of elements.
  void ask_at_large_sizes() {
    for (const auto& [types, sizes] : clean_) {
      LargeSizes question{subject_,   raw_,  templated_, {}, seed(0), parameters_.meets_by_count,
                          same_code_, jobs_, deadline_};
      for (const auto& size : sizes)
        question.sizes.push_back(size.get());
      const LargeSizeFindings found = compare_at_large_sizes(question);
      for (const std::string& sentence : found.problems)
        findings_.fail(sentence);
      for (const std::string& sentence : found.evidence)
        findings_.evidence(sentence);
    }
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
    // A launch of many blocks whatever the size; of 1024 threads, maybe, where the raw kernel has 128.
    if (shapes.empty()) {
      constexpr std::uint64_t MORE = 16, LARGER_BLOCKS = 8;
      limits_.threads *= MORE;
      limits_.template_threads *= MORE * LARGER_BLOCKS;
      limits_.bytes *= MORE;
      shapes = boundary_shapes(subject_, types, configurations, limits_, FEWEST_SHAPES);
    }
    RawTally tally;
    run_raw(types, shapes, tally);
    if (clean_[types].empty())
      run_raw_near_problems(types, tally);
    if (clean_[types].empty() && tally.first_problem.find(DIVERGENT_BARRIER) != std::string::npos &&
        !parameters_.meets_by_count) {
      const std::string problem = tally.first_problem;
      parameters_.meets_by_count = true;
      tally = {};
      run_raw(types, shapes, tally);
      if (!clean_[types].empty())
        findings_.report("the raw kernel's threads wait for each other at barriers in different lines (" +
                         problem + "): both kernels' barriers are counted by arrivals, as the device does");
    }
    if (tally.unclean)
      findings_.evidence("left out: " + std::to_string(tally.unclean) +
                         " sizes at which the raw kernel itself does not run clean (" + tally.first_problem +
                         ")");
    if (const std::size_t slow = slow_[types].size())
      findings_.evidence("left out: " + std::to_string(slow) + " sizes at which a run takes long");
    leave_out_overlaps(types);
    keep_pairs_of_all_sizes(clean_[types]);
    find_accepted(types);
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

  // Sizes that do not go together, such as rows that are longer than what lies between them: blocks write
  // over each other's results, which happens at no other size, and the last one's stay.
  static bool overlaps(const ReferenceRuns& runs) {
    return std::ranges::any_of(runs.races,
                               [](const HostRace& race) { return race.between_blocks && race.is_of_writes; });
  }
  void leave_out_overlaps(const std::map<std::string, std::string>& types) {
    auto& sizes = clean_[types];
    const auto is_one = [](const std::unique_ptr<ReferenceRuns>& runs) { return overlaps(*runs); };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(sizes, is_one));
    if (count == 0 || count == sizes.size())
      return;
    std::erase_if(sizes, is_one);
    findings_.evidence("left out: " + std::to_string(count) +
                       " sizes at which the raw kernel's blocks write different values to one place");
  }

  // What the raw kernel takes beside what the specification says.
  void find_accepted(const std::map<std::string, std::string>& types) {
    std::vector<const ReferenceRuns*> sizes;
    for (const auto& size : clean_.at(types))
      sizes.push_back(size.get());
    AcceptedInputs& accepted = accepted_[types];
    accepted.nullable = nullable_;
    accepted.integers = accepted_integers(raw_, sizes, seed(0), jobs_, deadline_);
    accepted.scalars = accepted_scalars(raw_, subject_.spec, sizes, seed(0), jobs_, deadline_);
    if (sizes.empty())
      return;
    for (const std::string& sentence :
         {describe(*sizes.front()->workload, accepted.integers), describe(subject_.spec, accepted.scalars)})
      if (!sentence.empty())
        findings_.evidence(sentence);
  }

  struct RawTally {
    std::size_t tried = 0, unclean = 0;
    std::string first_problem;
  };

  // Runs the raw kernel at `shapes` and keeps those at which it runs clean.
  void run_raw(const std::map<std::string, std::string>& types,
               std::vector<std::shared_ptr<const Workload>> shapes, RawTally& tally) {
    std::uint64_t bytes = 0;
    std::erase_if(shapes, [&](const auto& shape) { return (bytes += bytes_of(*shape)) > MOST_BYTES_OF_ALL; });
    auto trials = run_reference(raw_, parameters_, shapes, seed(0), false, jobs_, deadline_);
    tally.tried += shapes.size();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (trials[i].takes_long)
        slow_[types].push_back(shapes[i]);
      if (trials[i].runs) {
        order_seen_ |= trials[i].runs->depends_on_order;
        if (const HostKernel* kernel =
                raw_.find(trials[i].runs->usual.raw_instance, trials[i].runs->usual.macros()))
          raw_reach_.note(*kernel, trials[i].runs->raw[1]);
        race_seen_ |= !trials[i].runs->accepts_warps_in_turn;
        if (std::ranges::any_of(trials[i].runs->raw[0].accesses,
                                [](const BufferAccess& access) { return !access.written.empty(); }))
          writes_ = true;
        note_unwritten(*trials[i].runs);
        for (const auto& [buffers, result] : trials[i].runs->in_place)
          in_place_.insert({shapes[i]->buffers[buffers.first].name, shapes[i]->buffers[buffers.second].name});
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
      limits_.template_threads *= GROWTH;
      limits_.bytes *= GROWTH;
    }
  }

  // Elements of outputs that the raw kernel leaves as they were: nothing that a caller may read.
  void note_unwritten(const ReferenceRuns& runs) {
    const Workload& workload = *runs.workload;
    for (const BufferAccess& access : runs.raw[0].accesses) {
      if (access.argument >= workload.parameters.size() || !workload.parameters[access.argument].is_buffer)
        continue;
      const Workload::Buffer& buffer = workload.buffers[workload.parameters[access.argument].buffer];
      if (buffer.direction != Direction::out)
        continue;
      std::uint64_t written = 0;
      for (const ByteRange& range : access.written)
        written += static_cast<std::uint64_t>(range.end - range.begin);
      const std::uint64_t bytes = buffer.count * static_cast<std::uint64_t>(dtype_size(buffer.dtype));
      if (written < bytes)
        unwritten_[buffer.name].push_back(std::to_string(bytes - written) + " of " + std::to_string(bytes) +
                                          " bytes at " + workload.key());
    }
  }

  // Runs the raw kernel at more sizes and keeps those at which it runs clean; which they are.
  std::vector<const ReferenceRuns*> run_more(const std::vector<std::shared_ptr<const Workload>>& workloads,
                                             bool brief, RunPlan::Shapes& kept) {
    std::vector<const ReferenceRuns*> found;
    for (ReferenceTrial& trial :
         run_reference(raw_, parameters_, workloads, seed(0), brief, jobs_, deadline_)) {
      if (!trial.runs)
        continue;
      const auto& types = trial.runs->workload->types;
      if (const auto known = clean_.find(types); known != clean_.end() && !known->second.empty()) {
        if (overlaps(*trial.runs) && !overlaps(*known->second.front()))
          continue;
        keep_pairs_of(*known->second.front(), *trial.runs);
      }
      found.push_back(trial.runs.get());
      kept[types].push_back(std::move(trial.runs));
    }
    return found;
  }

  // Pairs of configurations and sizes. For each configuration the sizes that its conditions admit.
  void plan() {
    for (const Configuration& configuration : subject_.sampled)
      if (!plan_.add_sampled(configuration))
        findings_.undecided(NOT_ADMITTED + configuration.text());
    plan_.add_defaults(same_code_);
    compile_from(0);
  }

  // What the tasks from `first` on need.
  void compile_from(std::size_t first) {
    HostKernels::Wanted wanted;
    for (const Task& task : plan_.tasks() | std::views::drop(first))
      wanted.emplace_back(task.configuration.template_instance, task.configuration.macros());
    templated_.compile(wanted, jobs_);
  }

  // Several tasks in one child; their problems, or nothing.
  void judge_tasks(const std::vector<std::size_t>& indices, std::vector<std::string>& problems) {
    std::vector<Trial> trials;
    // The templates' trials, in order; those without a reference come behind the raw kernel's own run.
    std::vector<std::vector<Demand>> demands;
    std::vector<std::pair<std::size_t, bool>> of_template; // with whether its code is the raw kernel's
    for (const std::size_t index : indices) {
      const Task& task = plan_.tasks()[index];
      const std::vector<std::string> macros = task.configuration.macros();
      const HostKernel *raw = raw_.find(task.configuration.raw_instance, macros),
                       *templated = templated_.find(task.configuration.template_instance, macros);
      demands.push_back(demands_of(task.configuration, *task.shape,
                                   accepted_.at(task.configuration.workload->types),
                                   serves_odd_strides(task.configuration), seed(0), seed(1 + index)));
      if (auto forerun = launch_before(task); raw && forerun) {
        Demand& behind = demands.back().emplace_back();
        behind.settings = demands.back().front().settings;
        behind.settings.record_accesses = behind.settings.find_races = false;
        behind.settings.again = true;
        behind.reference = &task.shape->raw[0];
        behind.suffix = " behind a launch at " + forerun->workload->key();
        behind.forerun = std::move(forerun);
      }
      if (missing_.is_asked())
        for (Demand& demand : demands.back())
          demand.settings.find_races = demand.settings.equal_writes_race = true;
      if (!raw)
        std::erase_if(demands.back(), [](const Demand& demand) { return !demand.reference; });
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
          trials.push_back({raw, &task.configuration.raw_launch, workload, demand.settings});
        of_template.emplace_back(trials.size(), same_code_ && task.configuration.is_default);
        trials.push_back({templated, &task.configuration.template_launch, workload, demand.settings});
      }
    }
    const std::vector<TrialResult> results = run_trials(trials);
    const TrialResult* next = results.data();
    for (std::size_t t = 0; t < indices.size(); ++t)
      problems[indices[t]] = judge_results(plan_.tasks()[indices[t]], demands[t], next);
    for (const auto& [i, is_proved] : of_template)
      reach_.note(*trials[i].kernel, results[i], is_proved);
  }

  // Whether a configuration is admitted where a stride is odd.
  bool serves_odd_strides(const Configuration& configuration) const {
    const auto& sizes = clean_.at(configuration.workload->types);
    return std::ranges::any_of(sizes, [&](const std::unique_ptr<ReferenceRuns>& size) {
      return has_odd_stride(*size->workload, parameters_.strides) &&
             admitted(*size->workload, configuration.knobs);
    });
  }

  // The task's configuration at another size with another grid, where the raw kernel has variables that
  // outlive a launch and may be launched twice.
  std::shared_ptr<const Configuration> launch_before(const Task& task) const {
    if (!task.shape->gives_the_same_again)
      return nullptr;
    for (const auto& other : clean_.at(task.configuration.workload->types)) {
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
  std::string judge_results(const Task& task, const std::vector<Demand>& demands, const TrialResult*& next) {
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
      const bool is_asked = was_met || !demand.follows;
      was_met = true;
      if (!reference.clean || !refusal.empty() || !is_asked)
        continue; // the raw kernel's own trouble with that data, or the answer is known
      const Workload& workload = task.shape->workload_of(demand.settings);
      if (raw_behind && (!raw_behind->clean || !compare_trials(workload, *raw_behind, reference,
                                                               demand.settings, task.shape->unordered)
                                                    .problem.empty()))
        continue;
      if (reference.wrote)
        writes_ = true;
      std::string problem = differs(task, workload, result, reference, demand.settings);
      if (problem.empty() && demand.settings.record_accesses)
        problem = compare_accesses(workload, result, reference);
      if (problem.empty() && demand.settings.find_races)
        problem = new_race(*task.shape, result, demand.settings);
      if (problem.empty() && missing_.is_asked())
        barrier_runs_.note(task.configuration, workload, result);
      // Where the raw kernel has fences, and none is missing.
      if (problem.empty() && reference.fences > 0 && reference.unfenced.empty() && !result.unfenced.empty())
        problem = "lacks a memory fence that the raw kernel has: " + result.unfenced;
      if (problem.empty())
        continue;
      was_met = false;
      if (demand.is_demanded)
        refusal = problem + demand.suffix;
      else
        note(problem + demand.suffix + ", at " + task.configuration.text());
    }
    if (const auto& races = task.shape->races; !refusal.empty() && !races.empty())
      refusal += "; the raw kernel itself has a race there, so that neither result is certain: " +
                 races.front().text + " of " + races.front().place;
    return refusal;
  }

  // What is wrong with a result, or nothing; counts it.
  std::string differs(const Task& task, const Workload& workload, const TrialResult& result,
                      const TrialResult& reference, const TrialSettings& settings) {
    ++runs_;
    if (result.out_of_time)
      return "did not end: " + result.problem;
    if (!result.clean)
      return result.problem;
    const TrialComparison comparison =
        compare_trials(workload, result, reference, settings, task.shape->unordered);
    const std::lock_guard lock(mutex_);
    identical_ += comparison.identical;
    worst_error_ = std::max(worst_error_, comparison.error);
    if (comparison.problem.empty() && (settings.data == Data::usual || settings.data == Data::ties) &&
        settings.real_scalars != RealScalars::negated && !task.shape->depends_on_order &&
        comparison.small >= FEWEST_ROUNDED && !task.configuration.flag_is_set() &&
        static_cast<double>(comparison.differing_small) >
            MOST_ROUNDED_ANEW * static_cast<double>(comparison.small))
      return "rounds another way: " + std::to_string(comparison.differing_small) + " of " +
             std::to_string(comparison.small) + " elements differ, each within the tolerance";
    return comparison.problem;
  }

  // An unordered pair of accesses in a place where the raw kernel has none at this size, nor at many. Lanes
  // that store one sum of theirs store NaN of other bits each where it is none: on a device they are the
  // same.
  std::string new_race(const ReferenceRuns& shape, const TrialResult& result,
                       const TrialSettings& settings) const {
    std::size_t sizes = 0;
    for (const auto& [types, shapes] : clean_)
      sizes += shapes.size();
    const bool may_be_nan = settings.data != Data::usual || settings.real_scalars != RealScalars::usual;
    for (const HostRace& race : result.races) {
      if (may_be_nan && !race.is_of_a_read && !race.between_blocks)
        continue;
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
      const std::size_t first = plan_.tasks().size();
      for (const auto& [configuration, shape] : pairs_by_news())
        if (plan_.tasks().size() < first + PAIRS)
          plan_.add(*configuration, *shape);
      if (plan_.tasks().size() == first)
        return;
      compile_from(first);
      run_from(first);
    }
  }

  // More sizes than all configurations share, and those at which a run takes long.
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
      run_more(shapes, false, further_);
      run_more(slow_[types], true, further_);
    }
  }

  // All pairs of sampled configurations and sizes: first the sizes of which a dimension is smaller or larger
  // than at any run, then those that fewest runs were at; every configuration's first before any one's
  // second.
  std::vector<std::pair<const Configuration*, const ReferenceRuns*>> pairs_by_news() const {
    std::map<const ReferenceRuns*, std::size_t> times;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> seen; // a dimension's least and most
    for (const Task& task : plan_.tasks()) {
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
    const std::vector<Task>& tasks = plan_.tasks();
    std::map<std::string, std::size_t> round;
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = first; i < tasks.size(); ++i)
      order.emplace_back(round[tasks[i].configuration.template_instance]++, i);
    std::stable_sort(order.begin(), order.end());
    std::vector<std::vector<std::size_t>> batches;
    for (std::size_t place = 0; place < order.size(); ++place) {
      work_ += RUNS_PER_TASK * static_cast<double>(tasks[order[place].second].shape->raw[1].work);
      // The rest is left out. A configuration without a run cannot be accepted: its first is worth more.
      if (work_ > budget_ * (order[place].first == 0 ? FIRST_ROUNDS_SHARE : 1))
        break;
      if (place % TASKS_PER_CHILD == 0)
        batches.emplace_back();
      batches.back().push_back(order[place].second);
    }
    problems_.resize(tasks.size());
    ran_.resize(tasks.size(), 0);
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
    const std::vector<Task>& tasks = plan_.tasks();
    std::map<std::string, std::string> sizes;
    std::set<std::string> untested;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::string text =
          tasks[i].configuration.knobs_text() + (tasks[i].configuration.is_default ? " (default)" : "");
      if (!ran_[i]) {
        ++left_out_;
        untested.insert(text);
        continue;
      }
      std::string& list = sizes[text];
      list += (list.empty() ? "" : "; ") + tasks[i].shape->workload->key();
      if (!problems_[i].empty())
        findings_.fail(problems_[i] + " at " + tasks[i].configuration.text());
    }
    configurations_ = sizes.size();
    for (const auto& [text, list] : sizes) {
      findings_.evidence("ran " + text + ": " + list);
      untested.erase(text);
    }
    if (!findings_.failed())
      for (const std::string& line : reach_.never(subject_.template_text, raw_reach_, subject_.raw_text))
        findings_.undecided(NEVER_RAN + line);
    for (const std::string& text : untested)
      if (!findings_.failed())
        findings_.undecided("the time limit left no run for " + text);
  }

  // Whether the runs say that a barrier that is missing was not needed.
  void answer_for_barriers() {
    if (!missing_.is_asked() || findings_.failed())
      return;
    std::vector<const Configuration*> configurations;
    for (const auto* all : {&subject_.defaults, &subject_.sampled})
      for (const Configuration& configuration : *all)
        configurations.push_back(&configuration);
    std::string gap = barrier_runs_.gap(configurations);
    if (parameters_.meets_by_count || order_seen_)
      gap = "the raw kernel's own threads are in no certain order";
    else if (!raw_races_.empty())
      gap = "the raw kernel itself has races";
    if (!gap.empty())
      return findings_.undecided("whether the barrier that is missing was needed: " + gap);
    findings_.report("a barrier of the raw kernel is missing (the template has " + missing_.where +
                     "): no run has a race, in blocks of several warps and in loops that went on for three "
                     "rounds wherever threads exchange something");
  }

  CheckResult conclude() {
    answer_for_barriers();
    std::size_t shapes = 0;
    for (const auto& [types, list] : clean_)
      shapes += list.size();
    for (const std::string& sentence : widened_tolerances(subject_.spec))
      findings_.report(sentence);
    if (order_seen_)
      findings_.report(
          "the raw kernel's result depends on the order of its threads; such buffers are compared as sets");
    if (race_seen_ && !order_seen_)
      findings_.report(
          "the raw kernel gives something else when one warp runs after the other (a race of its "
          "own); templates are not compared in that order");
    for (const auto& [buffer, where] : unwritten_)
      findings_.report("the raw kernel does not write all of '" + buffer + "' at " +
                       std::to_string(where.size()) + " of " + std::to_string(shapes) + " sizes, such as " +
                       where.front());
    for (const auto& [out, in] : in_place_)
      findings_.evidence("the raw kernel accepts '" + out + "' in the place of '" + in +
                         "', and runs do so too");
    for (const std::string& sentence : notes_)
      findings_.report(sentence);
    if (left_out_)
      findings_.evidence(std::to_string(left_out_) + " of " + std::to_string(plan_.tasks().size()) +
                         " pairs of configuration and size were left out for the time limit");
    if (runs_ == 0)
      findings_.undecided("nothing was run");
    else if (!findings_.failed() && !writes_)
      findings_.undecided("the raw kernel writes nothing at any of " + std::to_string(shapes) +
                          " sizes, so that no run says anything: other sizes are wanted");
    char error[32];
    std::snprintf(error, sizeof error, "%.2g", worst_error_);
    for (const auto& [place, sizes] : raw_races_)
      findings_.report("the raw kernel itself has a race in " + place.first +
                       (place.second ? " between blocks" : " within a block") + ", at " +
                       std::to_string(sizes) + " of " + std::to_string(shapes) + " sizes");
    findings_.evidence("seed " + std::to_string(subject_.seed));
    CheckResult result = findings_.conclude(
        Verdict::tested, std::to_string(runs_) + " runs of " + std::to_string(configurations_) +
                             " configurations on the host executor at " + std::to_string(shapes) +
                             " sizes agree with the raw kernel (" + std::to_string(identical_) +
                             " bit for bit; worst difference " + error +
                             " of what is allowed) and touch the same bytes");
    result.runs = runs_;
    result.identical_runs = identical_;
    for (const auto& [types, list] : clean_)
      for (const std::unique_ptr<ReferenceRuns>& runs : list) {
        result.misaligned_sizes += runs->misalignment_tried;
        result.misaligned_sizes_served += runs->accepts_misalignment;
      }
    return result;
  }

  const JudgedPair& subject_;
  bool same_code_;
  Findings findings_;
  HostKernels raw_, templated_;
  MissingBarriers missing_;
  BarrierRuns barrier_runs_;
  RawParameters parameters_;
  // Of the raw kernel, by place and scope (between blocks or not): at how many sizes.
  std::map<std::pair<std::string, bool>, std::size_t> raw_races_;
  Reach reach_, raw_reach_;
  std::set<std::size_t> nullable_; // parameters whose argument may be a null pointer
  std::map<std::map<std::string, std::string>, AcceptedInputs> accepted_; // by types
  ShapeLimits limits_;
  int jobs_ = 1;
  Clock::time_point deadline_;
  double budget_ = 0, work_ = 0; // HostRunResult::work: of all tasks together at most, and so far
  RunPlan::Shapes clean_;
  // More sizes that were looked for: only for code that no other size reaches.
  RunPlan::Shapes further_;
  RunPlan::Shapes asked_for_; // on behalf of one configuration
  std::map<std::map<std::string, std::string>, std::vector<std::shared_ptr<const Workload>>> slow_;
  RunPlan plan_;
  std::vector<std::string> problems_; // of each task, or empty
  std::vector<char> ran_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::atomic<std::size_t> runs_{0};
  bool order_seen_ = false, race_seen_ = false;
  std::atomic<bool> writes_{false}; // the raw kernel, in any run
  std::size_t identical_ = 0, left_out_ = 0, configurations_ = 0;
  double worst_error_ = 0;
  std::vector<std::string> notes_;
  std::map<std::string, std::vector<std::string>> unwritten_; // of the raw kernel: where, by output
  std::set<std::pair<std::string, std::string>> in_place_;
};

} // namespace

CheckResult check_differential(const JudgedPair& subject, const std::string& identity_level) {
  CheckResult result =
      Differential(subject, identity_level == "L0" || identity_level == "L1", HOST_ARCHITECTURE).run();
  for (const int architecture : other_architectures(subject.raw_text, subject.template_text)) {
    if (result.verdict == Verdict::failed)
      break;
    // Machine code was compared for one architecture alone.
    const CheckResult other = Differential(subject, false, architecture).run();
    const std::string where = " where __CUDA_ARCH__ is " + std::to_string(architecture);
    if (other.verdict == Verdict::failed) {
      result.verdict = Verdict::failed;
      result.detail = other.detail + where;
    } else {
      result.evidence.push_back((other.verdict == Verdict::undecided ? "not decided: " : "") + other.detail +
                                where);
    }
  }
  return result;
}

} // namespace lathe::refactor
