// `lathe tune`: searches every problem of every specification given, shares the budget among them, keeps
// everything.
#include "tuner/app/options.h"
#include "tuner/app/progress.h"
#include "tuner/app/selection.h"
#include "tuner/app/tables.h"
#include "tuner/app/tune_queue.h"
#include "tuner/app/tuning_run.h"
#include "tuner/app/tuning_session.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace lathe {
namespace {

namespace po = boost::program_options;

constexpr double UNCERTAIN_GAP = 0.05; // an estimated gap worth naming when the work is done

std::atomic<bool> stop_requested{false};

// The first signal asks for a clean stop; the second ends the process at once (the store loses nothing either
// way).
void request_stop(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);
}

struct TunePlan {
  std::vector<std::string> specs;
  WorkloadSelection selection;
  SessionOptions session;
  double seconds = 1e9; // all workloads together
  std::string results;
  bool json = false, verbose = false, general = false;
};

// Reads the specifications, whose warnings it tells: no more problems at once than they have.
Result<Concurrency> read_concurrency(const TunePlan& plan, std::size_t at_once) {
  Concurrency concurrency;
  std::size_t problems = 0;
  for (const std::string& file : plan.specs) {
    LATHE_TRY(const TuningSpec spec, read_spec(file));
    LATHE_TRY(const std::vector<Workload> workloads, select_workloads(spec, plan.selection, {}));
    problems += workloads.size();
    concurrency.buffer_bytes = std::max(concurrency.buffer_bytes, largest_buffer_bytes(workloads));
    for (const std::string& warning : spec.warnings)
      std::fprintf(stderr, "lathe: warning: %s\n", warning.c_str());
  }
  concurrency.most = std::min(problems, at_once);
  return concurrency;
}

// Of each of the searches that run beside each other. Half of the cores are the compilers' own: these run at
// a lower priority and would wait. Beyond four, what cannot be divided is most of it.
unsigned choosing_threads(std::size_t searches) {
  constexpr unsigned most = 4;
  const auto sharing = static_cast<unsigned>(2 * std::max<std::size_t>(1, searches));
  return std::clamp(std::thread::hardware_concurrency() / sharing, 1u, most);
}

Result<Done> read_budget(const CommandLine& line, TunePlan& plan, bool is_host) {
  // The host executor is slow and its times are not GPU times: fewer configurations are worth their wait.
  plan.session.evaluations = is_host ? 40 : 300;
  if (line.has("evaluations"))
    plan.session.evaluations = line.get<int>("evaluations");
  if (plan.session.evaluations < 1)
    return usage_error("cannot use --evaluations " + std::to_string(plan.session.evaluations),
                       "it must be 1 or more");
  plan.session.transfer = !line.has("no-transfer");
  plan.session.space_fraction = line.get<double>("fraction");
  if (!(plan.session.space_fraction > 0 && plan.session.space_fraction <= 1))
    return usage_error("cannot use --fraction", "it must be above 0 and at most 1");
  if (line.has("until-plateau")) {
    plan.session.plateau_confidence = line.get<double>("until-plateau");
    if (!(plan.session.plateau_confidence > 0 && plan.session.plateau_confidence < 1))
      return usage_error("cannot use --until-plateau", "the confidence must lie between 0 and 1");
    if (!line.has("evaluations"))
      plan.session.evaluations = 1 << 30;
  }
  if (line.has("budget")) {
    LATHE_TRY(plan.seconds, parse_duration(line.get<std::string>("budget")));
    if (!line.has("evaluations"))
      plan.session.evaluations = 1 << 30;
  }
  return Done{};
}

// What is said of each problem when it is done. One line at a time, whatever the number of devices.
class Teller {
public:
  Teller(const TunePlan& plan, bool is_host) : plan_(plan), is_host_(is_host) {}

  void say(const std::string& device, const TunedProblem& problem, bool again) {
    const std::lock_guard lock(mutex_);
    line_.clear();
    if (plan_.json)
      return;
    const std::string name = device.empty() ? problem.workload : problem.workload + " on " + device;
    std::cout << summary_line(again ? name + " (more)" : name, problem.role, problem.result, is_host_)
              << std::endl;
    if (plan_.verbose)
      std::cout << details(problem.result) << std::flush;
    else if (!problem.result.profile_problem.empty() && !std::exchange(counters_missed_, true))
      std::fprintf(stderr, "lathe: note: the search goes on without the GPU's counters: %s\n",
                   problem.result.profile_problem.c_str());
  }
  void show(const std::string& name, const SessionProgress& progress) {
    const std::lock_guard lock(mutex_);
    line_.show(name + "  " + progress_line(progress));
  }
  void failed(const std::string& name, const Error& error) {
    const std::lock_guard lock(mutex_);
    line_.clear();
    fail(Error{"cannot tune " + name, error.sentence(), ""});
  }

private:
  const TunePlan& plan_;
  bool is_host_;
  bool counters_missed_ = false; // said once
  ProgressLine line_;
  std::mutex mutex_;
};

CommandLine make_command_line() {
  CommandLine line(
      "lathe tune SPEC... [options]",
      "Finds the best configuration of each problem on this device. Runs on the first GPU, or on the host\n"
      "executor where there is none (its times are not GPU times). The same command resumes what was\n"
      "interrupted. Ctrl-C stops cleanly and keeps everything.",
      "lathe tune search_spaces/silu_and_mul.json --budget 30m");
  line.options().add_options()("budget", po::value<std::string>(),
                               "wall time for everything, such as 90s, 30m, 8h")(
      "evaluations", po::value<int>(),
      "configurations a problem at most (default 300; 40 on the host executor)")(
      "fraction", po::value<double>()->default_value(1), "of the valid configurations at most")(
      "until-plateau", po::value<double>()->implicit_value(0.95),
      "stop when, with this confidence, fewer than 1 in 20 further configurations would gain 1 %")(
      "no-transfer",
      "do not let earlier results of the kernel on other problems or devices guide the search")(
      "problem", po::value<std::vector<std::string>>(),
      "only this problem, such as num_tokens=16,d=4096 (repeatable)")(
      "types", po::value<std::string>(),
      "types, such as T=f16 (default: the first that the specification lists)")(
      "all-types", "every type that the specification lists")(
      "general", "also the one configuration that does best on all searched problems together")(
      "tune-only", "leave out the select and report-only problems")(
      "device", po::value<std::string>()->default_value("auto"), "auto, host, or the index of a GPU")(
      "at-once", po::value<int>()->default_value(2),
      "problems searched at once on each GPU, at most: one compiles while another one measures")(
      "devices", po::value<std::string>(),
      "all GPUs of this host, or some, such as 0,2: those of one model share the problems")(
      "technique", po::value<std::string>()->default_value("ensemble"), "search technique")(
      "seed", po::value<std::uint64_t>()->default_value(1), "seed of the search and of the data")(
      "finalists", po::value<int>()->default_value(5), "configurations measured again beside the raw kernel")(
      "time-limit", po::value<double>()->default_value(10), "seconds for one configuration")(
      "results", po::value<std::string>()->value_name("FILE"),
      "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
      "counters", po::value<std::string>(),
      "after each search, read the GPU's counters of everything that ran, for this long, such as 30s")(
      "no-profile", "do not read the GPU's counters of the raw kernel and of the winners")(
      "verbose,v", "also what limits the kernels, by the GPU's counters, and how busy the pipeline was")(
      "queue", po::value<std::string>(),
      "answer the requests of this evaluation queue instead of tuning specifications (docs/agents.md)")(
      "json", "print the results as JSON");
  return line;
}

std::string pipeline_line(const PipelineLoad& load) {
  const auto share = [](double part, double whole) { return whole > 0 ? 100 * part / whole : 0; };
  return fmt::format(
      "pipeline: {:.1f} s of evaluating, {:.1f} s of preparing, {:.1f} s of comparing with raw, "
      "{:.1f} s of counters, {:.1f} s of recording, {:.1f} s of choosing ({:.1f} s of it with nothing beside "
      "it); compile workers {:.0f} % busy, device {:.0f} % of the evaluating ({:.1f} % between the "
      "processes)",
      load.evaluate_s, load.prepare_s, load.compare_s, load.profile_s, load.record_s, load.choose_s,
      load.choose_alone_s, share(load.compile_busy_s, load.compile_available_s),
      share(load.device_busy_s, load.evaluate_s), share(load.device_busy_s - load.runner_s, load.evaluate_s));
}

// Unattended for hours: what was won, what more time may still win, and what failed.
void print_overview(const std::vector<const TunedProblem*>& rows, const std::vector<std::string>& failures) {
  int won = 0, kept = 0, uncertain = 0;
  double logarithms = 0;
  std::string widest;
  double gap = 0;
  for (const TunedProblem* row : rows) {
    const SessionResult& result = row->result;
    if (result.winner.knobs.empty())
      continue;
    ++(result.default_kept ? kept : won);
    logarithms += std::log(std::max(1.0, result.winner.comparison.ratio));
    if (row->role == ProblemRole::tune && result.remaining_gap.fraction > UNCERTAIN_GAP) {
      ++uncertain;
      if (result.remaining_gap.fraction > gap) {
        gap = result.remaining_gap.fraction;
        widest = row->spec + " " + row->workload;
      }
    }
  }
  if (won + kept == 0)
    return;
  std::cout << fmt::format("{} problems faster than raw, {} as fast; geometric mean {:.3f}\n", won, kept,
                           std::exp(logarithms / (won + kept)));
  if (uncertain > 0)
    std::cout << fmt::format("{} searches may have missed more than {:.0f} %: most {}, {:.0f} %\n", uncertain,
                             100 * UNCERTAIN_GAP, widest, 100 * gap);
  for (const std::string& failure : failures)
    std::cout << "failed: " << failure << "\n";
}

int finish(const std::vector<std::unique_ptr<TuningRun>>& runs, std::vector<std::string> failures,
           const TunePlan& plan, const std::string& results) {
  std::vector<const TunedProblem*> rows;
  std::vector<GeneralConfiguration> general;
  int unreached = 0, without_counters = 0;
  for (const auto& run : runs) {
    unreached += run->unreached();
    without_counters += run->without_counters();
    const auto some = run->results();
    rows.insert(rows.end(), some.begin(), some.end());
    failures.insert(failures.end(), run->failures().begin(), run->failures().end());
    general.insert(general.end(), run->general().begin(), run->general().end());
  }
  if (plan.json) {
    std::vector<const SessionResult*> all;
    for (const TunedProblem* row : rows)
      all.push_back(&row->result);
    std::cout << sessions_json(all, general) << "\n";
  } else {
    if (rows.size() > 1)
      print_overview(rows, failures);
    if (unreached > 0 && !stop_requested)
      std::cout << unreached
                << " problems were not reached within the budget; the same command goes on with them\n";
    if (without_counters > 0 && plan.verbose)
      std::cout << "counters of " << without_counters << " problems were left out, for the budget's sake\n";
    for (const GeneralConfiguration& one : general)
      std::cout << general_line(one) << "\n";
    if (stop_requested)
      std::cout << "stopped; the same command goes on from here\n";
    if (runs.front()->first_device().device().is_host)
      std::cout << "these are host-executor times, not GPU times\n";
    if (plan.verbose)
      for (const auto& run : runs)
        std::cout << pipeline_line(run->load()) << "\n";
    std::cout << "results: " << results << "\n";
  }
  constexpr int interrupted = 130; // as shells report a command that Ctrl-C ended
  if (stop_requested)
    return interrupted;
  return failures.empty() ? 0 : static_cast<int>(Failure::work);
}

// One run for each model of GPU.
int tune(const TunePlan& plan, std::vector<std::vector<std::unique_ptr<Backend>>> models, Store& store,
         const std::string& results) {
  const bool is_host = models.front().front()->device().is_host;
  Teller teller(plan, is_host);
  std::vector<std::unique_ptr<TuningRun>> runs;
  std::vector<std::string> failures;
  for (std::vector<std::unique_ptr<Backend>>& devices : models) {
    if (!plan.json)
      std::cout << "device: " << devices.front()->device().name
                << (count_devices(devices) > 1 ? fmt::format(" ({} of them)", count_devices(devices)) : "")
                << "; " << devices.front()->protocol() << std::endl;
    const std::string label = models.size() > 1 ? devices.front()->device().name : "";
    RunOptions options;
    options.session = plan.session;
    options.selection = plan.selection;
    options.seconds = plan.seconds;
    options.general = plan.general;
    options.done = [&teller, label](const TunedProblem& problem, bool again) {
      teller.say(label, problem, again);
    };
    options.progress = [&teller](const std::string& name, const SessionProgress& seen) {
      teller.show(name, seen);
    };
    options.failed = [&teller](const std::string& name, const Error& error) { teller.failed(name, error); };
    runs.push_back(
        std::make_unique<TuningRun>(std::move(devices), store, std::move(options), stop_requested));
    for (const std::string& file : plan.specs) {
      // One specification that cannot be tuned does not cost the others their night.
      if (const Status status = runs.back()->add(file); !status.ok()) {
        if (plan.specs.size() == 1)
          return fail(status.error());
        fail(status.error());
        failures.push_back(file + ": " + status.error().sentence());
      }
    }
  }
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < runs.size(); ++i)
    others.emplace_back([&run = *runs[i]] { run.run(); });
  runs.front()->run();
  for (std::thread& other : others)
    other.join();
  return finish(runs, std::move(failures), plan, results);
}

// Answers an evaluation queue. Results are kept beside it, unless a store is named.
int answer_command(const CommandLine& line) {
  const EvaluationQueue queue(line.get<std::string>("queue"));
  TunePlan plan;
  if (const auto requests = queue.requests(); !requests.ok())
    return fail(requests.error());
  auto store = Store::open(line.has("results") ? line.get<std::string>("results")
                                               : (queue.folder() / "results.sqlite").string());
  if (!store.ok())
    return fail(store.error());
  auto backend = open_backend(line.get<std::string>("device"));
  if (!backend.ok())
    return fail(backend.error());
  if (const Status budget = read_budget(line, plan, (*backend)->device().is_host); !budget.ok())
    return fail(budget.error());
  plan.session.technique = line.get<std::string>("technique");
  plan.session.finalists = line.get<int>("finalists");
  plan.session.measure.time_limit_s = line.get<double>("time-limit");
  plan.session.batch = (*backend)->device().is_host ? 4 : 32;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, request_stop);
  std::cout << "device: " << (*backend)->device().name << "; " << (*backend)->protocol() << std::endl;
  const auto run = answer_queue(queue, **backend, **store, plan.session, plan.seconds, stop_requested,
                                [](const std::string& text) { std::cout << text << std::endl; });
  if (!run.ok())
    return fail(run.error());
  std::cout << run->answered << " answered, " << run->failed << " of them with a failure; " << run->waiting
            << " wait\n";
  if ((*backend)->device().is_host)
    std::cout << "these are host-executor times, not GPU times\n";
  constexpr int interrupted = 130;
  return stop_requested ? interrupted : 0;
}

} // namespace

int tune_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.has("queue"))
    return line.positionals.empty() ? answer_command(line)
                                    : fail(usage_error("lathe tune --queue", "it takes no specification",
                                                       "leave out " + line.positionals.front()));
  if (line.positionals.empty())
    return fail(usage_error("lathe tune", "no specification given",
                            "name one, such as search_spaces/silu_and_mul.json"));
  TunePlan plan;
  plan.specs = line.positionals;
  plan.json = line.has("json");
  plan.verbose = line.has("verbose");
  plan.session.profile = !line.has("no-profile");
  if (line.has("counters")) {
    const auto counters = parse_duration(line.get<std::string>("counters"));
    if (!counters.ok())
      return fail(counters.error());
    plan.session.counters_seconds = *counters;
  }
  plan.session.technique = line.get<std::string>("technique");
  plan.session.seed = plan.session.measure.seed = line.get<std::uint64_t>("seed");
  plan.session.finalists = line.get<int>("finalists");
  plan.session.measure.time_limit_s = line.get<double>("time-limit");
  plan.selection.all_types = line.has("all-types");
  plan.general = line.has("general");
  plan.selection.tune_only = line.has("tune-only");
  if (line.has("types"))
    plan.selection.types = line.get<std::string>("types");
  if (line.has("problem"))
    plan.selection.problems = line.get<std::vector<std::string>>("problem");

  const int at_once = line.get<int>("at-once");
  if (at_once < 1)
    return fail(usage_error("cannot use --at-once", "at least one problem is searched at a time"));

  // Everything that can be wrong without a device is said before one is asked for.
  const Result<Concurrency> concurrency = read_concurrency(plan, static_cast<std::size_t>(at_once));
  if (!concurrency.ok())
    return fail(concurrency.error());
  const std::string results =
      line.has("results") ? line.get<std::string>("results") : default_store_path().string();
  auto store = Store::open(results);
  if (!store.ok())
    return fail(store.error());
  auto models = line.has("devices") ? open_devices(line.get<std::string>("devices"), *concurrency)
                                    : open_one_device(line.get<std::string>("device"), *concurrency);
  if (!models.ok())
    return fail(models.error());
  const bool is_host = models->front().front()->device().is_host;
  if (const Status budget = read_budget(line, plan, is_host); !budget.ok())
    return fail(budget.error());
  plan.session.batch = is_host ? 4 : 16;
  std::size_t devices = 0, searches = 0;
  for (const auto& model : *models) {
    devices += count_devices(model);
    searches += model.size();
  }
  plan.session.choosing_threads = choosing_threads(searches);
  if (devices > 1) // the cores are shared
    plan.session.measure.jobs =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency() / static_cast<unsigned>(devices)));

  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, request_stop);
  return tune(plan, std::move(*models), **store, results);
}

} // namespace lathe
