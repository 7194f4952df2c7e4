// `lathe optimize`: the outer loop on one kernel.
#include "refactor/agents/language_policy.h"
#include "refactor/agents/model_roles.h"
#include "refactor/app/command.h"
#include "refactor/app/history.h"
#include "refactor/app/model_author.h"
#include "refactor/app/model_seat.h"
#include "refactor/app/optimize_options.h"
#include "refactor/app/subject_options.h"
#include "refactor/app/workshop.h"
#include "tuner/app/selection.h"
#include "tuner/app/tune_queue.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using namespace agents;
namespace fs = std::filesystem;
std::atomic<bool> stop_requested{false};

void request_stop(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);
}

// The models of a run. Absent: the run has none in that role.
struct Seats {
  std::optional<ModelSeat> model, policy;
  ModelTask task; // of the model's roles
};

// Who is asked.
struct Providers {
  std::unique_ptr<llm::Provider> model, policy;
};

Result<Providers> make_providers(const OptimizeRun& run) {
  Providers providers;
  if (run.model) {
    LATHE_TRY(providers.model, llm::make_provider(run.model->provider, run.model->limits));
  }
  if (run.policy_model) {
    LATHE_TRY(providers.policy,
              llm::make_likelihood_provider(run.policy_model->provider, run.policy_model->limits));
  }
  return providers;
}

// With what earlier sittings of the run have spent.
void seat_models(const OptimizeRun& run, Providers providers, const History& history, Seats& seats) {
  if (providers.model)
    seats.model =
        ModelSeat::take(std::move(providers.model), *run.model, history.model, run.folder, "transcript");
  if (providers.policy)
    seats.policy =
        ModelSeat::take(std::move(providers.policy), *run.policy_model, history.policy, run.folder, "policy");
}

// Why no further question makes sense; nothing where one does.
std::optional<std::string> models_are_done(const Seats& seats, const OptimizeRun& run) {
  if (seats.policy)
    if (auto why = seats.policy->is_spent("the policy"))
      return why;
  if (!seats.model)
    return std::nullopt;
  if (auto why = seats.model->is_spent("the model"))
    return why;
  constexpr std::size_t patience = 3;
  if (const auto error = seats.model->is_silent(patience); error && run.model_writes)
    return "the model does not answer: " + *error;
  return std::nullopt;
}

Result<std::unique_ptr<Planner>> make_planner(const OptimizeRun& run, TransitionGraph& memory, Seats& seats) {
  MemoryOptions options;
  options.source = run.name;
  if (run.planner == "model")
    return make_model_planner(seats.model->conversation(), seats.task, run.model_writes,
                              make_memory_planner(memory, options));
  if (run.planner == "uniform")
    return make_uniform_planner();
  if (run.planner == "heuristic")
    return make_heuristic_planner();
  if (run.planner == "memory")
    return make_memory_planner(memory, options);
  if (run.planner == "policy") {
    std::unique_ptr<MacroPolicy> policy;
    if (seats.policy) {
      policy = make_language_policy(seats.policy->conversation(),
                                    {run.policy_model->temperature, seats.task.candidate_of});
    } else {
      LATHE_TRY(Policy weights, read_policy(*run.policy_file));
      policy = make_learned_policy(std::move(weights));
    }
    return make_policy_planner(std::move(policy), run.memory_file ? &memory : nullptr, options);
  }
  return usage_error("planner " + run.planner, "there is no such planner",
                     "use uniform, heuristic, memory, policy or model");
}

// The history of this run, new or as it was left. A folder of another run is refused.
Result<History> open_history(const OptimizeRun& run, const Subject& subject, const std::string& root_key) {
  History fresh;
  fresh.kernel = subject.kernel;
  fresh.name = run.name;
  fresh.source = subject.provenance.source_file;
  fresh.source_hash = subject.provenance.source_hash;
  fresh.settings = {{"Seed", std::to_string(run.loop.seed)},
                    {"Planner", run.planner},
                    {"Coder", run.model_writes ? "model" : "rules"},
                    {"Steps", std::to_string(run.loop.steps)},
                    {"Evaluations", std::to_string(run.evaluations)},
                    {"Epsilon", fmt::format("{}", run.loop.selection.epsilon)}};
  if (run.policy_model) {
    fresh.settings["Policy"] = run.policy_model->provider;
    fresh.settings["PolicyTemperature"] = fmt::format("{}", run.policy_model->temperature);
  }
  fresh.tree = SearchTree(root_key);
  std::error_code failure;
  if (!fs::exists(run.folder / "history.json", failure))
    return fresh;
  LATHE_TRY(History kept, read_history(run.folder));
  if (kept.source_hash != fresh.source_hash || kept.name != fresh.name ||
      kept.tree.node(root_node).candidate != root_key)
    return Error{"folder " + run.folder.string(), "it holds a run on another kernel or source",
                 "name another folder with --output"};
  if (kept.settings != fresh.settings)
    return Error{"folder " + run.folder.string(), "it holds a run with other settings",
                 "repeat the settings of its history.json, or name another folder with --output"};
  kept.ended.clear();
  return kept;
}

// Scores on a device of this machine.
Scorer local_scorer(Backend& backend, Store& store) {
  return [&](const QueueRequest& request, const TuningSpec& spec,
             const fs::path&) -> Result<std::optional<QueueAnswer>> {
    QueueRequest asked = request;
    asked.id = spec.template_hash.substr(0, 16);
    asked.template_hash = spec.template_hash;
    SessionOptions options;
    options.finalists = 2;
    options.batch = backend.device().is_host ? 4 : 32;
    LATHE_TRY(QueueAnswer answer,
              evaluate_request(asked, spec.path, backend, store, options, stop_requested));
    return std::optional(std::move(answer));
  };
}

// Scores by an answer that somebody puts into the queue.
Scorer queue_scorer(const EvaluationQueue& queue) {
  return [&queue](const QueueRequest& request, const TuningSpec& spec,
                  const fs::path& certificate) -> Result<std::optional<QueueAnswer>> {
    LATHE_TRY(const QueueRequest asked, queue.put(request, spec, certificate));
    LATHE_TRY(const QueueAnswers answers, queue.answers());
    const auto found = answers.accepted.find(asked.id);
    return found == answers.accepted.end() ? std::nullopt : std::optional(found->second);
  };
}

void copy_result(const Workshop& workshop, const Node& best, const OptimizeRun& run, const History& history) {
  const OutputPaths from = workshop.paths_of(best.candidate),
                    to = OutputPaths::under(run.folder, history.name);
  std::error_code failure;
  for (const auto& [source, target] : {std::pair{&from.template_file, &to.template_file},
                                       {&from.raw_file, &to.raw_file},
                                       {&from.certificate_file, &to.certificate_file},
                                       {&from.spec_file, &to.spec_file}}) {
    fs::create_directories(target->parent_path(), failure);
    fs::copy_file(*source, *target, fs::copy_options::overwrite_existing, failure);
  }
}

// Tunes every problem of the result and writes the header: the per-shape table.
int finish_result(const OptimizeRun& run, const History& history, bool is_host) {
  const OutputPaths result = OutputPaths::under(run.folder, history.name);
  const std::string store = (run.folder / "results.sqlite").string();
  Arguments tune{
      result.spec_file.string(),         "--results", store, "--device", run.device, "--evaluations",
      std::to_string(is_host ? 8 : 150), "--general"};
  for (const std::string& problem : run.subject.problems)
    tune.insert(tune.end(), {"--problem", problem});
  if (is_host && run.subject.problems.empty())
    tune.push_back("--tune-only");
  if (const int code = tune_command(tune); code != 0)
    return code;
  Arguments header{result.spec_file.string(),
                   "--results",
                   store,
                   "--format",
                   "header",
                   "--output",
                   (run.folder / "include" / "tuned" / (history.name + ".h")).string()};
  if (is_host)
    header.push_back("--allow-host");
  return export_command(header);
}

// The user's, or the run's own, so that a resumed run knows what it learnt.
fs::path memory_file(const OptimizeRun& run) {
  return run.memory_file.value_or(run.folder / "memory.json");
}

Result<TransitionGraph> open_memory(const OptimizeRun& run) {
  std::error_code failure;
  if (!fs::exists(memory_file(run), failure))
    return TransitionGraph();
  return read_memory(memory_file(run));
}

Status run_attempts(OptimizeRun& run, Workshop& workshop, History& history, TransitionGraph& memory,
                    Seats& seats, LoopEnd& end) {
  LATHE_TRY(const std::unique_ptr<Planner> planner, make_planner(run, memory, seats));
  planner->restore(history.planner_state);
  run.loop.halt = [&] { return models_are_done(seats, run); };
  const auto save = [&](const AttemptReport& report) -> Status {
    const Node& node = history.tree.node(report.node);
    if (seats.model)
      history.model = seats.model->spent();
    if (seats.policy)
      history.policy = seats.policy->spent();
    history.planner_state = planner->state();
    LATHE_CHECK(write_history(history, run.folder));
    if (run.memory_file || run.planner == "memory" || run.planner == "model")
      LATHE_CHECK(write_memory(memory, memory_file(run)));
    std::fprintf(
        stderr, "attempt %d: %s: %s\n", report.node,
        node.action.rule.empty() ? "rewrite by the model" : node.action.label().c_str(),
        node.is_broken() ? node.diagnostics.c_str()
        : node.is_awaited()
            ? "its score is awaited"
            : fmt::format("{:.3f}x{}", node.speedup(), report.is_best ? ", the best so far" : "").c_str());
    return Done{};
  };
  auto ended = run_loop(workshop, *planner, history.tree, run.loop, stop_requested, save);
  if (!ended.ok())
    return stop_requested ? Status(Done{}) : Status(ended.error());
  end = std::move(*ended);
  history.ended = end.awaited > 0 ? "" : end.why;
  return write_history(history, run.folder);
}

int show_history(const CommandLine& line) {
  auto history = read_history(line.get<std::string>("history"));
  if (!history.ok())
    return fail(history.error());
  const bool json = line.has("json");
  if (line.has("baselines")) {
    const auto baselines = read_baselines(line.get<std::string>("baselines"));
    if (!baselines.ok())
      return fail(baselines.error());
    history->baselines = baseline_of(*baselines, history->name, history->device);
  }
  std::cout << (json ? to_json(*history).dump(2) + "\n" : history_text(*history));
  return 0;
}

int optimize(OptimizeRun& run) {
  std::optional<Baselines> baselines;
  if (run.baselines) {
    auto read = read_baselines(*run.baselines);
    if (!read.ok())
      return fail(read.error());
    baselines = std::move(*read);
  }
  auto providers = make_providers(run);
  if (!providers.ok())
    return fail(providers.error());
  auto source = open_source(run.subject);
  if (!source.ok())
    return fail(source.error());
  if (const Status settled = settle_kernel(run.subject, **source); !settled.ok())
    return fail(settled.error());
  const auto subject = prepare_subject(run.subject, **source);
  if (!subject.ok())
    return fail(subject.error());
  if (run.name.empty())
    run.name = subject->kernel;
  auto memory = open_memory(run);
  if (!memory.ok())
    return fail(memory.error());

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Store> store;
  const EvaluationQueue queue(run.queue.value_or(""));
  Scorer scorer = queue_scorer(queue);
  if (!run.queue) {
    auto opened = open_backend(run.device);
    if (!opened.ok())
      return fail(opened.error());
    backend = std::move(*opened);
    auto results = Store::open(run.folder / "candidates.sqlite");
    if (!results.ok())
      return fail(results.error());
    store = std::move(*results);
    scorer = local_scorer(*backend, *store);
  }
  const bool is_host = backend && backend->device().is_host;
  if (run.evaluations == 0)
    run.evaluations = is_host ? 6 : 20;

  WorkshopOptions options;
  options.name = run.name;
  options.folder = run.folder;
  if (!run.subject.problems.empty()) {
    options.problems = static_cast<int>(run.subject.problems.size());
    options.most_bytes = 1e18;
  } else if (is_host) {
    options.most_bytes = 1e6; // the host executor is slow
  }
  options.evaluations = run.evaluations;
  options.guard = run.guard;
  options.say = [](const std::string& text) { std::fprintf(stderr, "  %s\n", text.c_str()); };
  Seats seats;
  seats.task.raw = subject->raw;
  seats.task.architecture = subject->architecture;
  seats.task.memory = &*memory;
  Author author;
  if (run.model)
    seats.task.max_output_tokens = run.model->max_output_tokens;
  if (run.model_writes) {
    options.can_repair = true;
    options.judge = judge_apart;
    author = [&](const SearchTree& tree, NodeId parent, const Plan& plan, const Candidate& base) {
      return write_by_model(seats.model->conversation(), seats.task, tree, parent, plan, base);
    };
  }
  auto workshop = Workshop::open(*subject, std::move(options), std::move(scorer), std::move(author));
  if (!workshop.ok())
    return fail(workshop.error());
  auto history = open_history(run, *subject, (*workshop)->root_key());
  if (!history.ok())
    return fail(history.error());
  if (backend) {
    history->device = backend->device().name;
    history->is_host = is_host;
  }
  if (baselines)
    history->baselines = baseline_of(*baselines, history->name, history->device);
  seats.task.candidate_of = [&](NodeId id) -> std::optional<Candidate> {
    auto candidate = (*workshop)->candidate_of(history->tree, id);
    return candidate.ok() ? std::optional(std::move(*candidate)) : std::nullopt;
  };
  seat_models(run, std::move(*providers), *history, seats);
  LoopEnd end;
  if (const Status done = run_attempts(run, **workshop, *history, *memory, seats, end); !done.ok())
    return fail(done.error());
  const Node& best = history->tree.node(history->tree.best());
  if (best.id != root_node)
    copy_result(**workshop, best, run, *history);
  std::cout << (run.json ? to_json(*history).dump(2) + "\n" : history_text(*history));
  if (end.awaited > 0)
    std::fprintf(stderr,
                 "%d candidates wait for their scores in %s: run lathe tune --queue there, bring the answers "
                 "back, and repeat this command\n",
                 end.awaited, run.queue->c_str());
  constexpr int interrupted = 130;
  if (stop_requested)
    return interrupted;
  if (end.awaited > 0 || best.id == root_node || !run.final_tuning || !backend)
    return 0;
  return finish_result(run, *history, is_host);
}

} // namespace

int optimize_command(const Arguments& arguments) {
  CommandLine line = make_optimize_line();
  if (const auto code = line.parse(before_separator(arguments)))
    return *code;
  if (line.has("history"))
    return show_history(line);
  auto run = read_optimize_run(line, arguments);
  if (!run.ok())
    return fail(run.error());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, request_stop);
  return optimize(*run);
}

} // namespace lathe::refactor
