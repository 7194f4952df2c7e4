// `lathe tune`: searches every problem of every specification given, shares the budget among them, keeps
// everything.
#include "tuner/app/certificate.h"
#include "tuner/app/options.h"
#include "tuner/app/progress.h"
#include "tuner/app/selection.h"
#include "tuner/app/tables.h"
#include "tuner/app/tune_queue.h"
#include "tuner/app/tuning_session.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <utility>

namespace lathe {
namespace {

namespace po = boost::program_options;

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
  bool json = false, verbose = false;
};

struct Row {
  std::string spec, workload;
  ProblemRole role;
  SessionResult result;
};

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

class Tuning {
public:
  Tuning(TunePlan plan, Backend& backend, Store& store)
      : plan_(std::move(plan)), backend_(backend), store_(store) {}

  // One specification: its tune problems are searched, then the winners are tried on the others.
  Status run(const std::string& file);
  std::size_t pending_workloads = 0; // over all specifications, for sharing the time
  std::vector<Row> rows;
  std::vector<std::string> failures; // workloads that could not be tuned at all

private:
  Status search(const TuningSpec& spec, const Workload& workload);
  Status assess(const TuningSpec& spec, const Workload& workload);
  void say(const Row& row);

  bool counters_missed_ = false; // said once
  TunePlan plan_;
  Backend& backend_;
  Store& store_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void Tuning::say(const Row& row) {
  if (plan_.json)
    return;
  std::cout << summary_line(row.workload, row.role, row.result, backend_.device().is_host) << std::endl;
  if (plan_.verbose)
    std::cout << details(row.result) << std::flush;
  else if (!row.result.profile_problem.empty() && !std::exchange(counters_missed_, true))
    std::fprintf(stderr, "lathe: note: the search goes on without the GPU's counters: %s\n",
                 row.result.profile_problem.c_str());
}

Status Tuning::search(const TuningSpec& spec, const Workload& workload) {
  SessionOptions options = plan_.session;
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  options.seconds =
      std::max(0.0, plan_.seconds - spent) / static_cast<double>(std::max<std::size_t>(pending_workloads, 1));
  ProgressLine line;
  LATHE_TRY(SessionResult result,
            tune_workload(workload, backend_, store_, options, stop_requested,
                          [&](const SessionProgress& progress) {
                            line.show(spec.name + " " + workload.key() + "  " + progress_line(progress));
                          }));
  line.clear();
  rows.push_back({spec.name, workload.key(), workload.problem.role, std::move(result)});
  say(rows.back());
  return Done{};
}

Status Tuning::assess(const TuningSpec& spec, const Workload& workload) {
  std::vector<KnobValues> candidates;
  for (const Row& row : rows)
    if (row.spec == spec.name && row.result.winner.types == workload.types &&
        !row.result.winner.knobs.empty())
      candidates.push_back(row.result.winner.knobs);
  LATHE_TRY(SessionResult result, assess_workload(workload, backend_, store_, candidates, plan_.session));
  rows.push_back({spec.name, workload.key(), workload.problem.role, std::move(result)});
  say(rows.back());
  return Done{};
}

Status Tuning::run(const std::string& file) {
  LATHE_TRY(const TuningSpec spec, read_spec(file));
  LATHE_TRY(const CertificateFacts facts, require_certificate(spec, file));
  plan_.session.default_is_raw_code = facts.default_is_raw_code;
  LATHE_CHECK(warn_of_stale_results(spec, store_));
  LATHE_TRY(const std::vector<Workload> workloads,
            select_workloads(spec, plan_.selection, backend_.device().limits()));
  for (const bool searched : {true, false})
    for (const Workload& workload : workloads) {
      if ((workload.problem.role == ProblemRole::tune) != searched || stop_requested)
        continue;
      const Status status = searched ? search(spec, workload) : assess(spec, workload);
      if (pending_workloads > 0)
        --pending_workloads;
      if (!status.ok()) {
        failures.push_back(spec.name + " " + workload.key() + ": " + status.error().sentence());
        fail(Error{"cannot tune " + spec.name + " " + workload.key(), status.error().sentence(), ""});
      }
    }
  return Done{};
}

CommandLine make_command_line() {
  CommandLine line(
      "lathe tune SPEC... [options]",
      "Finds the best configuration of each problem on this device. Runs on the first GPU, or on the host\n"
      "executor where there is none (its times are not GPU times). The same command resumes what was\n"
      "interrupted. Ctrl-C stops cleanly and keeps everything.",
      "lathe tune search_spaces/silu_and_mul.json --problem num_tokens=4096,d=14336 --evaluations 100");
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
      "tune-only", "leave out the select and report-only problems")(
      "device", po::value<std::string>()->default_value("auto"), "auto, host, or the index of a GPU")(
      "technique", po::value<std::string>()->default_value("ensemble"), "search technique")(
      "seed", po::value<std::uint64_t>()->default_value(1), "seed of the search and of the data")(
      "finalists", po::value<int>()->default_value(5), "configurations measured again beside the raw kernel")(
      "time-limit", po::value<double>()->default_value(10), "seconds for one configuration")(
      "results", po::value<std::string>(),
      "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
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
      "{:.1f} s of counters; compile workers {:.0f} % busy, device {:.0f} % of the evaluating",
      load.evaluate_s, load.prepare_s, load.compare_s, load.profile_s,
      share(load.compile_busy_s, load.compile_available_s), share(load.device_busy_s, load.evaluate_s));
}

int finish(const Tuning& tuning, const TunePlan& plan, const Backend& backend, const std::string& results) {
  if (plan.json) {
    std::vector<const SessionResult*> all;
    for (const Row& row : tuning.rows)
      all.push_back(&row.result);
    std::cout << sessions_json(all) << "\n";
  } else {
    if (stop_requested)
      std::cout << "stopped; the same command goes on from here\n";
    if (backend.device().is_host)
      std::cout << "these are host-executor times, not GPU times\n";
    if (plan.verbose)
      std::cout << pipeline_line(backend.load()) << "\n";
    std::cout << "results: " << results << "\n";
  }
  constexpr int interrupted = 130; // as shells report a command that Ctrl-C ended
  if (stop_requested)
    return interrupted;
  return tuning.failures.empty() ? 0 : static_cast<int>(Failure::work);
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
  plan.session.technique = line.get<std::string>("technique");
  plan.session.seed = plan.session.measure.seed = line.get<std::uint64_t>("seed");
  plan.session.finalists = line.get<int>("finalists");
  plan.session.measure.time_limit_s = line.get<double>("time-limit");
  plan.selection.all_types = line.has("all-types");
  plan.selection.tune_only = line.has("tune-only");
  if (line.has("types"))
    plan.selection.types = line.get<std::string>("types");
  if (line.has("problem"))
    plan.selection.problems = line.get<std::vector<std::string>>("problem");

  // Everything that can be wrong without a device is said before one is asked for.
  for (const std::string& file : plan.specs) {
    auto spec = read_spec(file);
    if (!spec.ok())
      return fail(spec.error());
    auto workloads = select_workloads(*spec, plan.selection, {});
    if (!workloads.ok())
      return fail(workloads.error());
    for (const std::string& warning : spec->warnings)
      std::fprintf(stderr, "lathe: warning: %s\n", warning.c_str());
  }
  const std::string results =
      line.has("results") ? line.get<std::string>("results") : default_store_path().string();
  auto store = Store::open(results);
  if (!store.ok())
    return fail(store.error());
  auto backend = open_backend(line.get<std::string>("device"));
  if (!backend.ok())
    return fail(backend.error());
  const bool is_host = (*backend)->device().is_host;
  if (const Status budget = read_budget(line, plan, is_host); !budget.ok())
    return fail(budget.error());
  plan.session.batch = is_host ? 4 : 16;

  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, request_stop);
  if (!plan.json)
    std::cout << "device: " << (*backend)->device().name << "; " << (*backend)->protocol() << std::endl;
  Tuning tuning(plan, **backend, **store);
  for (const std::string& file : plan.specs)
    tuning.pending_workloads += count_workloads(file, plan.selection);
  for (const std::string& file : plan.specs) {
    // One specification that cannot be tuned does not cost the others their night.
    if (const Status status = tuning.run(file); !status.ok()) {
      if (plan.specs.size() == 1)
        return fail(status.error());
      fail(status.error());
      tuning.failures.push_back(file + ": " + status.error().sentence());
    }
    if (stop_requested)
      break;
  }
  return finish(tuning, plan, **backend, results);
}

} // namespace lathe
