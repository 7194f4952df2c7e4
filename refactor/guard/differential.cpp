// Differential: the template gives the raw kernel's outputs. Both run on the host executor, every access
// checked, at sizes around the tiles' boundaries, for the default and the sampled configurations, on several
// secret seeds, with outputs and shared memory poisoned twice, with special values in the data and with
// threads in several orders; which bytes are read and written is compared too. Sizes at which the raw kernel
// itself does not run clean are left out, and said so.
#include "refactor/guard/checks.h"
#include "refactor/guard/large_sizes.h"
#include "refactor/guard/missing_barriers.h"
#include "refactor/guard/own_text_sizes.h"
#include "refactor/guard/parallel.h"
#include "refactor/guard/raw_sizes.h"
#include "refactor/guard/task_judge.h"
#include "refactor/guard/tolerance.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <ranges>
#include <set>
#include <thread>
#include <tuple>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t TASKS_PER_CHILD = 4;
constexpr double WORK_PER_SECOND = 1e7; // of a core, in checked runs
constexpr double PATIENCE = 10;         // times the limit, by the clock
constexpr double RUNS_PER_TASK = 12, RUNS_ON_OWN_DATA = 9;
constexpr double OTHER_ARCHITECTURES_SHARE = 0.25; // of the budget, again for each
constexpr double FIRST_ROUNDS_SHARE = 4;           // of the budget, for the first size of every configuration

int jobs_of(const JudgedPair& subject) {
  return subject.options.jobs > 0 ? subject.options.jobs
                                  : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

Clock::time_point deadline_of(const JudgedPair& subject) {
  return Clock::now() +
         std::chrono::milliseconds(static_cast<long long>(PATIENCE * subject.options.time_limit_s * 1000));
}

class Differential {
public:
  Differential(const JudgedPair& subject, bool same_code, int architecture)
      : subject_(subject), same_code_(same_code), is_other_architecture_(architecture != HOST_ARCHITECTURE),
        findings_("differential"), jobs_(jobs_of(subject)), deadline_(deadline_of(subject)),
        raw_(subject, subject.raw_text, subject.spec.reference, architecture, subject.options.raw_runs.get()),
        templated_(subject, subject.template_text, subject.spec.kernel, architecture),
        missing_(missing_barriers(subject)), sizes_(subject, raw_, jobs_, deadline_),
        plan_(subject, sizes_.clean(), sizes_.limits(),
              [this](const auto& workloads, bool brief, bool for_all) {
                return sizes_.run_more(workloads, brief, for_all);
              }),
        judge_(subject, sizes_, templated_, same_code, missing_.is_asked()) {
    // What is run is decided by what it costs on any machine; the clock only ends what a busy one cannot do.
    budget_ = subject.options.time_limit_s * WORK_PER_SECOND;
    if (is_other_architecture_)
      budget_ *= OTHER_ARCHITECTURES_SHARE;
  }

  // The pairs of configuration and size that were run, but for those in brief.
  std::vector<Configuration> ran() const {
    std::vector<Configuration> pairs;
    for (std::size_t i = 0; i < ran_.size(); ++i)
      if (ran_[i] && !plan_.tasks()[i].is_brief)
        pairs.push_back(plan_.tasks()[i].configuration);
    return pairs;
  }

  CheckResult run() {
    if (const auto compiler = host_compiler(); !compiler)
      findings_.undecided(compiler.error().sentence());
    else
      judge();
    return conclude();
  }

private:
  std::vector<const Configuration*> sampled() const {
    std::vector<const Configuration*> configurations;
    for (const Configuration& configuration : subject_.sampled)
      configurations.push_back(&configuration);
    return configurations;
  }

  std::vector<const Configuration*> sampled_and_defaults() const {
    std::vector<const Configuration*> configurations = sampled();
    for (const Configuration& configuration : subject_.defaults)
      configurations.push_back(&configuration);
    return configurations;
  }

  void judge() {
    const std::vector<const Configuration*> configurations = sampled_and_defaults();
    HostKernels::Wanted raw_wanted, template_wanted;
    for (const Configuration& configuration : subject_.defaults) {
      raw_wanted.emplace_back(configuration.raw_instance, configuration.macros());
      for (const Configuration& trial : at_text_trials(configuration, subject_.device))
        raw_wanted.emplace_back(trial.raw_instance, trial.macros());
    }
    // Where texts fix sizes, which of these the template is compiled with shows once the raw kernel has run.
    if (subject_.spec.text_sizes.empty())
      for (const Configuration* configuration : configurations)
        template_wanted.emplace_back(configuration->template_instance, configuration->macros());
    // Both sides are compiled at once; the raw kernel's runs start as soon as it is there, and are few beside
    // the compilers of many instances.
    auto building = std::async(std::launch::async, [&] { templated_.compile(template_wanted, jobs_); });
    raw_.compile(raw_wanted, 1);
    for (const std::string& problem : raw_.problems())
      findings_.undecided("the raw kernel: " + problem);
    bool runs_with_all = true; // where it does not with one choice of types, nothing makes the rest a yes
    for (const auto& types : subject_.type_choices)
      if (runs_with_all) {
        sizes_.look_for(types, configurations, findings_);
        runs_with_all = !sizes_.clean().at(types).empty();
      }
    building.wait();
    if (refuse_uncompiled() || !runs_with_all)
      return;
    if (!plan() || refuse_uncompiled())
      return;
    run_tasks();
    if (!findings_.failed())
      ask_at_large_sizes();
    if (!findings_.failed() && !is_other_architecture_)
      ask_at_own_text_sizes();
  }

  // A few blocks at the sizes that the program has, where no run of a whole launch is.
  void ask_at_own_text_sizes() {
    for (const auto& [types, sizes] : sizes_.clean()) {
      OwnTextSizes question{subject_,
                            raw_,
                            {},
                            trial_seed(subject_, 0),
                            sizes_.parameters().meets_by_count,
                            sizes_.parameters().has_atomics,
                            same_code_,
                            jobs_};
      for (const auto& size : sizes)
        question.sizes.push_back(size.get());
      if (!is_for_own_text_sizes(question))
        continue;
      const std::vector<Configuration> asked = configurations_at_own_text_sizes(question);
      HostKernels::Wanted wanted;
      for (const Configuration& configuration : asked)
        wanted.emplace_back(configuration.template_instance, configuration.macros());
      templated_.compile(wanted, jobs_);
      if (refuse_uncompiled())
        return;
      const OwnTextFindings found = compare_at_own_text_sizes(question, templated_, asked);
      if (!found.problem.empty())
        findings_.fail(found.problem);
      else if (found.is_compared)
        findings_.evidence(found.evidence);
      else
        findings_.undecided(
            "at the sizes that the kernels' texts have, which were not run whole, no block of "
            "both could be compared");
    }
  }

  // A few blocks of launches over billions of elements.
  void ask_at_large_sizes() {
    std::vector<LargeSizes> questions;
    for (const auto& [types, sizes] : sizes_.clean()) {
      questions.push_back({subject_,
                           raw_,
                           templated_,
                           {},
                           trial_seed(subject_, 0),
                           sizes_.parameters().meets_by_count,
                           sizes_.parameters().has_atomics,
                           same_code_,
                           jobs_,
                           deadline_});
      for (const auto& size : sizes)
        questions.back().sizes.push_back(size.get());
    }
    for (const LargeSizeFindings& found : compare_at_large_sizes(questions)) {
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

  // Pairs of configurations and sizes. For each configuration the sizes that its conditions admit. False:
  // one has none, and no more is looked for, as nothing makes the rest a yes. On another architecture, where
  // runs may only refuse, the rest is run.
  bool plan() {
    plan_.foresee(subject_.sampled);
    for (const Configuration& configuration : subject_.sampled)
      if (!plan_.add_sampled(configuration)) {
        findings_.undecided(NOT_ADMITTED + configuration.text());
        if (!is_other_architecture_)
          return false;
      }
    plan_.add_defaults(same_code_);
    plan_.add_problems(subject_.sampled);
    compile_from(0);
    return true;
  }

  // What the tasks from `first` on need.
  void compile_from(std::size_t first) {
    HostKernels::Wanted wanted;
    for (const Task& task : plan_.tasks() | std::views::drop(first))
      wanted.emplace_back(task.configuration.template_instance, task.configuration.macros());
    templated_.compile(wanted, jobs_);
  }

  void run_tasks() {
    run_from(0);
    sweep();
    reach_further();
    report_runs();
  }

  // Values of knobs that met in no configuration so far, in a run each at few sizes.
  void sweep() {
    if (failed_ || is_other_architecture_)
      return;
    const std::size_t first = plan_.tasks().size();
    for (const Configuration& configuration : subject_.swept)
      plan_.add_swept(configuration);
    plan_.add_problems(subject_.swept);
    compile_from(first);
    if (!refuse_uncompiled())
      run_from(first);
  }

  // Code that no run has reached, at pairs of configuration and size that the plan left out.
  void reach_further() {
    constexpr std::size_t ROUNDS = 4, PAIRS = 8;
    for (std::size_t turn = 0; turn < ROUNDS && !failed_ && Clock::now() < deadline_; ++turn) {
      if (never_reached().empty())
        return;
      if (turn == 0)
        sizes_.look_further(sampled());
      const std::size_t first = plan_.tasks().size();
      for (const auto& [configuration, shape] : pairs_by_news())
        if (plan_.tasks().size() < first + PAIRS)
          plan_.add_to_reach(*configuration, *shape);
      if (plan_.tasks().size() == first)
        return;
      compile_from(first);
      run_from(first);
    }
  }

  std::vector<std::string> never_reached() const {
    return judge_.reach().never(subject_.template_text, sizes_.reach(), subject_.raw_text);
  }

  // All pairs of sampled configurations and sizes, and of the default and sizes: first the sizes of which a
  // dimension is smaller or larger than at any run, then those that fewest runs were at; every
  // configuration's first before any one's second.
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
    const auto add = [&](const Configuration& configuration) {
      std::size_t place = 0;
      for (const auto* of_types : {&sizes_.further(), &sizes_.clean()})
        if (const auto found = of_types->find(configuration.workload->types); found != of_types->end())
          for (const auto& shape : found->second)
            pairs.push_back({is_known(*shape), times[shape.get()], place++, &configuration, shape.get()});
    };
    std::ranges::for_each(subject_.sampled, add);
    if (!same_code_) // or the raw kernel's runs are its own
      std::ranges::for_each(subject_.defaults, add);
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
      const Task& task = tasks[order[place].second];
      work_ += (task.has_own_data ? RUNS_ON_OWN_DATA
                : task.is_brief   ? 1
                                  : RUNS_PER_TASK) *
               static_cast<double>(task.shape->raw[1].work);
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
      judge_.judge(tasks, batches[batch], problems_);
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
    std::set<std::string> untested, in_full;
    const auto name = [](const Task& task) {
      return task.configuration.knobs_text() + (task.configuration.is_default ? " (default)" : "");
    };
    for (const Task& task : tasks)
      if (!task.is_brief)
        in_full.insert(name(task));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      // In brief a whole configuration, or a size of one.
      const std::string brief = tasks[i].is_brief ? " (in brief)" : "";
      const bool is_in_full = in_full.contains(name(tasks[i]));
      const std::string text = name(tasks[i]) + (is_in_full ? "" : brief);
      if (!ran_[i]) {
        ++left_out_;
        if (!tasks[i].is_brief)
          untested.insert(text);
        continue;
      }
      std::string& list = sizes[text];
      list += (list.empty() ? "" : "; ") + tasks[i].shape->workload->key() + (is_in_full ? brief : "");
      if (!problems_[i].empty())
        findings_.fail(problems_[i] + " at " + tasks[i].configuration.text());
    }
    configurations_ = sizes.size();
    for (const auto& [text, list] : sizes) {
      findings_.evidence("ran " + text + ": " + list);
      untested.erase(text);
    }
    if (!findings_.failed())
      for (const std::string& line : never_reached())
        findings_.undecided(NEVER_RAN + line);
    for (const std::string& text : untested)
      if (!findings_.failed())
        findings_.undecided(std::string(TIME_LEFT_NO_RUN) + "for " + text);
  }

  // Whether the runs say that a barrier that is missing was not needed.
  void answer_for_barriers() {
    if (!missing_.is_asked() || findings_.failed())
      return;
    std::string gap = judge_.barrier_runs().gap(sampled_and_defaults());
    if (sizes_.parameters().meets_by_count || sizes_.depends_on_order())
      gap = "the raw kernel's own threads are in no certain order";
    else if (sizes_.has_races())
      gap = "the raw kernel itself has races";
    if (!gap.empty())
      return findings_.undecided("whether the barrier that is missing was needed: " + gap);
    findings_.report("a barrier of the raw kernel is missing (the template has " + missing_.where +
                     "): no run has a race, in blocks of several warps and in loops that went on for three "
                     "rounds wherever threads exchange something");
  }

  CheckResult conclude() {
    answer_for_barriers();
    const std::string shapes = std::to_string(sizes_.count());
    for (const std::string& sentence : widened_tolerances(subject_.spec))
      findings_.report(sentence);
    sizes_.report(findings_);
    for (const std::string& sentence : judge_.notes())
      findings_.report(sentence);
    if (left_out_)
      findings_.evidence(std::to_string(left_out_) + " of " + std::to_string(plan_.tasks().size()) +
                         " pairs of configuration and size were left out for the time limit");
    if (judge_.runs() == 0)
      findings_.undecided("nothing was run");
    else if (!findings_.failed() && !sizes_.writes() && !judge_.raw_wrote())
      findings_.undecided("the raw kernel writes nothing at any of " + shapes + " sizes" +
                          (sizes_.first_unclean().empty()
                               ? ""
                               : ", and does not run clean at others (" + sizes_.first_unclean() + ")") +
                          ", so that no run says anything: other sizes are wanted");
    char error[32];
    std::snprintf(error, sizeof error, "%.2g", judge_.worst_error());
    findings_.evidence("seed " + std::to_string(subject_.seed));
    CheckResult result = findings_.conclude(
        Verdict::tested, std::to_string(judge_.runs()) + " runs of " + std::to_string(configurations_) +
                             " configurations on the host executor at " + shapes +
                             " sizes agree with the raw kernel (" + std::to_string(judge_.identical_runs()) +
                             " bit for bit; worst difference " + error +
                             " of what is allowed) and touch the same bytes");
    result.runs = judge_.runs();
    result.identical_runs = judge_.identical_runs();
    std::set<std::string> unordered;
    for (const auto& [types, list] : sizes_.clean())
      for (const std::unique_ptr<ReferenceRuns>& runs : list) {
        result.misaligned_sizes += runs->misalignment_tried;
        result.misaligned_sizes_served += runs->accepts_misalignment;
        for (std::size_t i = 0; i < runs->unordered.size(); ++i)
          if (runs->unordered[i])
            unordered.insert(runs->workload->buffers[i].name);
      }
    result.unordered.assign(unordered.begin(), unordered.end());
    return result;
  }

  const JudgedPair& subject_;
  bool same_code_, is_other_architecture_;
  Findings findings_;
  int jobs_;
  Clock::time_point deadline_;
  HostKernels raw_, templated_;
  MissingBarriers missing_;
  RawSizes sizes_;
  RunPlan plan_;
  TaskJudge judge_;
  double budget_ = 0, work_ = 0;      // HostRunResult::work: of all tasks together at most, and so far
  std::vector<std::string> problems_; // of each task, or empty
  std::vector<char> ran_;
  std::atomic<bool> failed_{false};
  std::size_t left_out_ = 0, configurations_ = 0;
};

} // namespace

CheckResult check_differential(const JudgedPair& subject, const std::string& identity_level,
                               std::vector<Configuration>& ran) {
  Differential usual(subject, identity_level == "L0" || identity_level == "L1", HOST_ARCHITECTURE);
  CheckResult result = usual.run();
  ran = usual.ran();
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
