// Differential: the template gives the raw kernel's outputs. Both run on the host executor, every access
// checked, at sizes around the tiles' boundaries, for the default and the sampled configurations, on several
// secret seeds, with outputs and shared memory poisoned twice, with special values in the data and with
// threads in several orders. Sizes at which the raw kernel itself does not run clean are left out, and said
// so.
#include "refactor/guard/checks.h"
#include "refactor/guard/host_trial.h"
#include "refactor/guard/shapes.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t CANDIDATE_SHAPES = 60; // over all choices of types, tried with the raw kernel
constexpr std::size_t FEWEST_SHAPES = 16;    // of them for each choice
constexpr std::size_t SHAPES_PER_CONFIGURATION = 6;
constexpr std::size_t TRACED = 2; // configurations whose accesses are traced

// A size at which the raw kernel runs clean, with what it gives there.
struct CleanShape {
  std::shared_ptr<const Workload> workload;
  Configuration usual;
  TrialResult raw[2]; // under either poison
  std::optional<TrialResult> infinities, nans;
  std::vector<bool> unordered; // buffers that depend on the order of threads
  bool accepts_misalignment = false;
};

struct Task {
  Configuration configuration;
  const CleanShape* shape = nullptr;
};

// Runs `work(i)` for i < count on several threads until the deadline; returns how many were done.
template <class Work>
std::size_t parallel(std::size_t count, int jobs, Clock::time_point deadline, Work work) {
  std::atomic<std::size_t> next{0}, done{0};
  const auto worker = [&] {
    for (std::size_t i; (i = next++) < count && Clock::now() < deadline;) {
      work(i);
      ++done;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < jobs; ++t)
    threads.emplace_back(worker);
  worker();
  for (std::thread& thread : threads)
    thread.join();
  return done;
}

class Differential {
public:
  Differential(const Subject& subject, bool same_code)
      : subject_(subject), same_code_(same_code), findings_("differential") {
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

  HostCompileOptions compile_options(const KernelSource& source, const std::vector<std::string>& macros,
                                     bool trace) const {
    HostCompileOptions options;
    options.sanitize = !trace;
    options.trace = trace;
    options.compile_options = source.compile_options;
    options.compile_options.insert(options.compile_options.end(), subject_.options.flags.begin(),
                                   subject_.options.flags.end());
    options.compile_options.insert(options.compile_options.end(), macros.begin(), macros.end());
    return options;
  }

  // Compiles instances that are not yet known. `kernels` maps instance and macros to the kernel or the
  // problem.
  using Kernels = std::map<std::string, Result<HostKernel>>;
  static std::string kernel_key(const std::string& instance, const std::vector<std::string>& macros) {
    std::string key = instance;
    for (const std::string& macro : macros)
      key += " " + macro;
    return key;
  }
  void compile(const std::string& text, const KernelSource& source,
               const std::vector<std::pair<std::string, std::vector<std::string>>>& wanted, int jobs,
               Kernels& kernels, bool trace = false) const {
    std::map<std::vector<std::string>, std::vector<std::string>> groups;
    for (const auto& [instance, macros] : wanted) {
      auto& group = groups[macros];
      if (!kernels.contains(kernel_key(instance, macros)) &&
          std::find(group.begin(), group.end(), instance) == group.end())
        group.push_back(instance);
    }
    for (const auto& [macros, instances] : groups) {
      if (instances.empty())
        continue;
      auto built = HostKernel::compile_all(text, instances, compile_options(source, macros, trace),
                                           source.file.string(), jobs);
      for (std::size_t i = 0; i < built.size(); ++i)
        kernels.emplace(kernel_key(instances[i], macros), std::move(built[i]));
    }
  }

  void judge() {
    std::vector<const Configuration*> configurations;
    for (const Configuration& configuration : subject_.sampled)
      configurations.push_back(&configuration);
    for (const Configuration& configuration : subject_.defaults)
      configurations.push_back(&configuration);
    std::vector<std::pair<std::string, std::vector<std::string>>> raw_wanted, template_wanted;
    for (const Configuration& configuration : subject_.defaults)
      raw_wanted.emplace_back(configuration.raw_instance, configuration.macros());
    for (const Configuration* configuration : configurations)
      template_wanted.emplace_back(configuration->template_instance, configuration->macros());
    // Both sides are compiled at once; the raw kernel's runs start as soon as it is there.
    auto building = std::async(std::launch::async, [&] {
      compile(subject_.template_text, subject_.spec.kernel, template_wanted, std::max(1, jobs_ - 1),
              template_kernels_);
    });
    compile(subject_.raw_text, subject_.spec.reference, raw_wanted, 1, raw_kernels_);
    for (const auto& [key, kernel] : raw_kernels_)
      if (!kernel)
        findings_.undecided("the raw kernel does not compile for the host executor: " +
                            kernel.error().sentence());
    for (const auto& types : subject_.type_choices)
      try_raw(types, configurations);
    building.wait();
    for (const auto& [key, kernel] : template_kernels_)
      if (!kernel)
        findings_.fail(key + " does not compile for the host executor: " + kernel.error().sentence());
    if (findings_.failed())
      return;
    plan();
    run_tasks();
    if (!findings_.failed() && Clock::now() < deadline_)
      trace_some();
  }

  // Which of the candidate sizes the raw kernel runs clean at, and what it gives.
  void try_raw(const std::map<std::string, std::string>& types,
               const std::vector<const Configuration*>& configurations) {
    const std::size_t most =
        std::max(FEWEST_SHAPES, CANDIDATE_SHAPES / std::max<std::size_t>(1, subject_.type_choices.size()));
    const auto shapes = boundary_shapes(subject_, types, configurations, limits_, most);
    std::vector<std::unique_ptr<CleanShape>> found(shapes.size());
    std::vector<std::string> problems(shapes.size());
    const Clock::time_point deadline = std::min(deadline_, Clock::now() + std::chrono::seconds(20));
    parallel(shapes.size(), jobs_, deadline,
             [&](std::size_t i) { found[i] = try_shape(shapes[i], problems[i]); });
    std::string first_problem;
    std::size_t unclean = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (found[i]) {
        clean_[types].push_back(std::move(found[i]));
      } else if (!problems[i].empty()) {
        ++unclean;
        if (first_problem.empty())
          first_problem = shapes[i]->key() + ": " + problems[i];
      }
    }
    if (unclean)
      findings_.evidence("left out: " + std::to_string(unclean) +
                         " sizes at which the raw kernel itself does not run clean (" + first_problem + ")");
    if (clean_[types].empty())
      findings_.undecided("the raw kernel runs clean at none of " + std::to_string(shapes.size()) + " sizes" +
                          (first_problem.empty() ? "" : " (" + first_problem + ")"));
  }

  std::unique_ptr<CleanShape> try_shape(const std::shared_ptr<const Workload>& workload,
                                        std::string& problem) {
    auto shape = std::make_unique<CleanShape>();
    const auto knobs = default_knobs(*workload);
    auto bound = bind_configuration(workload, knobs ? *knobs : KnobValues{});
    if (!bound)
      return nullptr;
    const auto kernel = raw_kernels_.find(kernel_key(bound->raw_instance, bound->macros()));
    if (kernel == raw_kernels_.end() || !kernel->second)
      return nullptr;
    shape->workload = workload;
    shape->usual = *bound;
    // Under either poison, with threads in reverse, on special values, and on buffers that start one element
    // off.
    std::vector<TrialSettings> all(6);
    for (TrialSettings& settings : all)
      settings.seed = seed(0);
    all[1].poison = 1;
    all[2].schedule = HostSchedule::reverse;
    all[3].data = Data::infinities;
    all[4].data = Data::nans;
    all[5].misalignment = 1;
    std::vector<TrialResult> results = run_trials(*kernel->second, bound->raw_launch, *workload, all);
    for (std::size_t i = 0; i < 3; ++i)
      if (!results[i].clean) {
        problem = results[i].problem;
        return nullptr;
      }
    // A raw kernel whose result depends on the order of its threads is no reference, but as a set.
    shape->unordered.assign(workload->buffers.size(), false);
    if (!compare_trials(*workload, results[2], results[0], all[2], {}).problem.empty()) {
      for (std::size_t i = 0; i < workload->buffers.size(); ++i)
        shape->unordered[i] = workload->buffers[i].direction != Direction::in &&
                              results[2].contents[i] != results[0].contents[i];
      if (!compare_trials(*workload, results[2], results[0], all[2], shape->unordered).problem.empty()) {
        problem = "its result depends on the order in which threads run";
        return nullptr;
      }
      unordered_seen_ = true;
    }
    shape->raw[0] = std::move(results[0]);
    shape->raw[1] = std::move(results[1]);
    if (results[3].clean)
      shape->infinities = std::move(results[3]);
    if (results[4].clean)
      shape->nans = std::move(results[4]);
    shape->accepts_misalignment = results[5].clean;
    return shape;
  }

  // Pairs of configurations and sizes. For each configuration the sizes that its conditions admit, those
  // first that its tile does not divide.
  void plan() {
    std::vector<std::pair<std::string, std::vector<std::string>>> more;
    const auto add = [&](const Configuration& configuration, const CleanShape& shape) {
      const auto types = configuration.workload->types;
      auto bound = bind_configuration(shape.workload, configuration.knobs);
      if (!bound || !admitted(*shape.workload, configuration.knobs) ||
          !fits(*shape.workload, bound->template_launch, limits_))
        return false;
      bound->is_default = configuration.is_default;
      more.emplace_back(bound->template_instance, bound->macros());
      tasks_.push_back({std::move(*bound), &shape});
      return true;
    };
    for (const Configuration& configuration : subject_.sampled) {
      std::size_t taken = 0;
      const auto& shapes = clean_[configuration.workload->types];
      const std::size_t start =
          shapes.empty() ? 0 : element::mix(subject_.seed + tasks_.size()) % shapes.size();
      // Sizes of problems lead the list: every configuration sees some of them and a different stretch of the
      // rest.
      for (std::size_t i = 0; i < shapes.size() && taken < SHAPES_PER_CONFIGURATION; ++i)
        taken += add(configuration, *shapes[i < 2 ? i : (start + i) % shapes.size()]);
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
    compile(subject_.template_text, subject_.spec.kernel, more, jobs_, template_kernels_);
  }

  // Sizes looked for on behalf of one configuration, whose conditions admit none of those that all share.
  template <class Add> bool add_own_sizes(const Configuration& configuration, const Add& add) {
    constexpr std::size_t SIZES = 3;
    const auto& types = configuration.workload->types;
    std::size_t taken = 0;
    for (const auto& workload :
         boundary_shapes(subject_, types, {&configuration}, limits_, SIZES, &configuration)) {
      std::string problem;
      auto shape = try_shape(workload, problem);
      if (!shape)
        continue;
      clean_[types].push_back(std::move(shape));
      taken += add(configuration, *clean_[types].back());
    }
    return taken > 0;
  }

  // Everything that is asked of one configuration at one size. Returns the problem, or nothing.
  std::string judge_task(const Task& task) {
    const CleanShape& shape = *task.shape;
    const Workload& workload = *shape.workload;
    const auto kernel =
        template_kernels_.find(kernel_key(task.configuration.template_instance, task.configuration.macros()));
    if (kernel == template_kernels_.end() || !kernel->second)
      return "does not compile for the host executor" +
             (kernel == template_kernels_.end() ? std::string() : ": " + kernel->second.error().sentence());
    // What the template must give, and whether another result is refused or only told.
    struct Demand {
      TrialSettings settings;
      const TrialResult* reference;
      const char* suffix;
      bool is_demanded;
    };
    TrialSettings usual;
    usual.seed = seed(0);
    std::vector<Demand> demands;
    const auto demand = [&](const TrialResult& reference, const char* suffix,
                            bool is_demanded) -> TrialSettings& {
      demands.push_back({usual, &reference, suffix, is_demanded});
      return demands.back().settings;
    };
    const char* reordered = " with threads in another order";
    demand(shape.raw[0], "", true);
    TrialSettings& other_poison = demand(shape.raw[1], "", true);
    other_poison.poison = 1;
    other_poison.schedule = HostSchedule::reverse;
    demand(shape.raw[0], reordered, true).schedule = HostSchedule::random;
    demand(shape.raw[0], reordered, true).schedule = HostSchedule::interleaved;
    if (shape.infinities)
      demand(*shape.infinities, " on data with infinities and zeros", true).data = Data::infinities;
    if (shape.nans)
      demand(*shape.nans, " on data with NaN", task.configuration.is_default).data = Data::nans;
    if (shape.accepts_misalignment)
      demand(shape.raw[0], " on buffers that start one element off, which the raw kernel accepts", false)
          .misalignment = 1;
    // Other data: the raw kernel runs on it at this size too.
    TrialSettings other_data;
    other_data.seed = seed(1 + static_cast<std::size_t>(&task - tasks_.data()));
    other_data.poison = 1;
    const TrialResult on_other_data = run_raw(task, other_data);
    if (on_other_data.clean)
      demand(on_other_data, " on other data", true) = other_data;
    std::vector<TrialSettings> all;
    for (const Demand& one : demands)
      all.push_back(one.settings);
    const std::vector<TrialResult> results =
        run_trials(*kernel->second, task.configuration.template_launch, workload, all);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      const std::string problem =
          differs(results[i], *demands[i].reference, workload, demands[i].settings, shape.unordered);
      if (problem.empty())
        continue;
      if (demands[i].is_demanded)
        return problem + demands[i].suffix;
      note(problem + demands[i].suffix + ", at " + task.configuration.text());
    }
    return {};
  }

  // What is wrong with a result, or nothing; counts it.
  std::string differs(const TrialResult& result, const TrialResult& reference, const Workload& workload,
                      const TrialSettings& settings, const std::vector<bool>& unordered) {
    ++runs_;
    if (result.out_of_time)
      return "did not end: " + result.problem;
    if (!result.clean)
      return result.problem;
    const TrialComparison comparison = compare_trials(workload, result, reference, settings, unordered);
    const std::lock_guard lock(mutex_);
    identical_ += comparison.identical;
    worst_error_ = std::max(worst_error_, comparison.error);
    return comparison.problem;
  }

  TrialResult run_raw(const Task& task, const TrialSettings& settings) const {
    const auto raw =
        raw_kernels_.find(kernel_key(task.configuration.raw_instance, task.configuration.macros()));
    if (raw == raw_kernels_.end() || !raw->second)
      return {};
    return run_trial(*raw->second, task.configuration.raw_launch, *task.shape->workload, settings);
  }

  void note(std::string sentence) {
    const std::lock_guard lock(mutex_);
    if (notes_.size() < 8)
      notes_.push_back(std::move(sentence));
  }

  void run_tasks() {
    // Every configuration's first size comes before any configuration's second.
    std::map<std::string, std::size_t> round;
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      order.emplace_back(round[tasks_[i].configuration.template_instance]++, i);
    std::stable_sort(order.begin(), order.end());
    std::vector<std::string> problems(tasks_.size());
    std::vector<char> ran(tasks_.size(), 0);
    std::atomic<bool> failed{false};
    parallel(order.size(), jobs_, deadline_, [&](std::size_t place) {
      const std::size_t i = order[place].second;
      if (failed && subject_.options.stop_at_failure)
        return;
      problems[i] = judge_task(tasks_[i]);
      ran[i] = 1;
      if (!problems[i].empty())
        failed = true;
    });
    std::map<std::string, std::pair<std::size_t, std::string>> per_configuration;
    std::set<std::string> untested;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const std::string text =
          tasks_[i].configuration.knobs_text() + (tasks_[i].configuration.is_default ? " (default)" : "");
      if (!ran[i]) {
        ++left_out_;
        untested.insert(text);
        continue;
      }
      auto& [count, sizes] = per_configuration[text];
      ++count;
      sizes += (sizes.empty() ? "" : "; ") + tasks_[i].shape->workload->key();
      if (!problems[i].empty())
        findings_.fail(problems[i] + " at " + tasks_[i].configuration.text());
    }
    for (const auto& [text, entry] : per_configuration) {
      findings_.evidence("ran " + text + ": " + entry.second);
      untested.erase(text);
      ++configurations_;
    }
    for (const std::string& text : untested)
      if (!findings_.failed())
        findings_.undecided("the time limit left no run for " + text);
  }

  // Which bytes are read and written, exactly, for a few configurations: another build of both kernels.
  void trace_some() {
    std::vector<const Task*> chosen;
    std::set<std::string> instances;
    for (const Task& task : tasks_)
      if (chosen.size() < TRACED && instances.insert(task.configuration.template_instance).second)
        chosen.push_back(&task);
    std::vector<std::pair<std::string, std::vector<std::string>>> raw_wanted, template_wanted;
    for (const Task* task : chosen) {
      raw_wanted.emplace_back(task->configuration.raw_instance, task->configuration.macros());
      template_wanted.emplace_back(task->configuration.template_instance, task->configuration.macros());
    }
    Kernels raw, templated;
    auto building = std::async(std::launch::async, [&] {
      compile(subject_.template_text, subject_.spec.kernel, template_wanted, 1, templated, true);
    });
    compile(subject_.raw_text, subject_.spec.reference, raw_wanted, 1, raw, true);
    building.wait();
    for (const Task* task : chosen) {
      const auto a = raw.find(kernel_key(task->configuration.raw_instance, task->configuration.macros()));
      const auto b =
          templated.find(kernel_key(task->configuration.template_instance, task->configuration.macros()));
      if (a == raw.end() || b == templated.end() || !a->second || !b->second)
        continue;
      TrialSettings settings;
      settings.seed = seed(0);
      const Workload& workload = *task->shape->workload;
      const TrialResult reference = run_trial(*a->second, task->configuration.raw_launch, workload, settings);
      const TrialResult result =
          run_trial(*b->second, task->configuration.template_launch, workload, settings);
      if (!reference.clean || !result.clean)
        continue;
      runs_ += 1;
      if (const std::string problem = compare_accesses(workload, result, reference); !problem.empty())
        findings_.fail(problem + " at " + task->configuration.text());
      else
        findings_.evidence("reads and writes the same bytes: " + task->configuration.text());
    }
  }

  CheckResult conclude() {
    std::size_t shapes = 0;
    for (const auto& [types, list] : clean_)
      shapes += list.size();
    if (unordered_seen_)
      findings_.report(
          "the raw kernel's result depends on the order of its threads; such buffers are compared as sets");
    for (const std::string& sentence : notes_)
      findings_.report(sentence);
    if (left_out_)
      findings_.evidence(std::to_string(left_out_) + " of " + std::to_string(tasks_.size()) +
                         " pairs of configuration and size were left out for the time limit");
    if (runs_ == 0)
      findings_.undecided("nothing was run");
    char error[32];
    std::snprintf(error, sizeof error, "%.2g", worst_error_);
    findings_.evidence("seed " + std::to_string(subject_.seed));
    return findings_.conclude(Verdict::tested,
                              std::to_string(runs_) + " runs of " + std::to_string(configurations_) +
                                  " configurations on the host executor at " + std::to_string(shapes) +
                                  " sizes agree with the raw kernel (" + std::to_string(identical_) +
                                  " bit for bit; worst difference " + error + " of what is allowed)");
  }

  const Subject& subject_;
  bool same_code_;
  Findings findings_;
  ShapeLimits limits_;
  int jobs_ = 1;
  Clock::time_point deadline_;
  Kernels raw_kernels_, template_kernels_;
  std::map<std::map<std::string, std::string>, std::vector<std::unique_ptr<CleanShape>>> clean_;
  std::vector<Task> tasks_;
  std::mutex mutex_;
  std::atomic<std::size_t> runs_{0};
  std::atomic<bool> unordered_seen_{false};
  std::size_t identical_ = 0, left_out_ = 0, configurations_ = 0;
  double worst_error_ = 0;
  std::vector<std::string> notes_;
};

} // namespace

CheckResult check_differential(const Subject& subject, const std::string& identity_level) {
  return Differential(subject, identity_level == "L0" || identity_level == "L1").run();
}

} // namespace lathe::refactor
