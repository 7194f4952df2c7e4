// `lathe optimize`: the outer loop on one kernel.
#include "refactor/agents/model_roles.h"
#include "refactor/app/command.h"
#include "refactor/app/history.h"
#include "refactor/app/model_author.h"
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
namespace po = boost::program_options;

std::atomic<bool> stop_requested{false};

void request_stop(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);
}

CommandLine make_command_line() {
  CommandLine line("lathe optimize FILE.cu [--kernel NAME] [options] [-- compiler flags]\n"
                   "       lathe optimize --history FOLDER",
                   "Improves a kernel by itself: plans an action, writes the template, has the guard judge "
                   "it and the tuner\n"
                   "score it, and plans again. Ends with the best template, its certificate and what every "
                   "attempt gave. The\n"
                   "same command resumes what was interrupted.",
                   "lathe optimize sglang_kernels/silu_and_mul.cu --kernel act_and_mul_kernel --name "
                   "silu_and_mul --attempts 12 -o best");
  add_subject_options(line.options());
  line.options().add_options()("name", po::value<std::string>(),
                               "name of the template (default: the kernel's)")(
      "output,o", po::value<std::string>()->default_value("optimized"),
      "folder of the run and of its results")("attempts", po::value<int>()->default_value(30),
                                              "candidates at most")(
      "steps", po::value<int>()->default_value(6), "actions in a row at most")(
      "plateau", po::value<int>()->default_value(0), "stop after that many attempts without a gain")(
      "floor-share", po::value<double>()->default_value(0.98),
      "stop when the best moves its bytes at that share of the copy bandwidth")(
      "device-seconds", po::value<double>(), "seconds of scoring at most")(
      "evaluations", po::value<int>(),
      "configurations a candidate and problem (default 20; 6 on the host executor)")(
      "planner", po::value<std::string>(),
      "uniform, heuristic, memory, policy or model (default: policy where --policy is given, else memory)")(
      "coder", po::value<std::string>()->default_value("rules"), "who writes the candidates: rules or model")(
      "memory", po::value<std::string>(), "transition memory, read and updated (made where it is missing)")(
      "policy", po::value<std::string>(), "weights of lathe policy train")(
      "epsilon", po::value<double>()->default_value(0.35), "share of choices that explore")(
      "device", po::value<std::string>()->default_value("auto"), "auto, host, or the index of a GPU")(
      "queue", po::value<std::string>(), "score through this evaluation queue in place of a device here")(
      "ahead", po::value<int>()->default_value(4), "candidates that wait in the queue at most")(
      "seed", po::value<std::uint64_t>()->default_value(1), "of every choice")(
      "guard-configurations", po::value<int>()->default_value(8), "that the guard samples of a candidate")(
      "guard-seconds", po::value<double>()->default_value(120),
      "of the guard's runs of a candidate")("no-final", "leave out the final tuning and the header")(
      "history", po::value<std::string>(), "show the tree of a run and end")("json", "print JSON");
  add_model_options(line);
  return line;
}

struct Run {
  SubjectRequest subject;
  std::string name;
  fs::path folder;
  LoopOptions loop;
  std::string planner;
  bool model_writes = false;
  std::optional<ModelOptions> model;
  std::optional<fs::path> memory_file, policy_file, queue;
  std::string device;
  int evaluations = 0; // 0: by the device
  GuardOptions guard;
  bool final_tuning = true, json = false;
};

Result<Run> read_run(const CommandLine& line, const Arguments& arguments) {
  Run run;
  LATHE_TRY(run.subject, read_subject_options(line, arguments));
  run.folder = fs::absolute(line.get<std::string>("output")).lexically_normal();
  run.loop.attempts = line.get<int>("attempts");
  run.loop.steps = line.get<int>("steps");
  run.loop.plateau = line.get<int>("plateau");
  run.loop.floor_share = line.get<double>("floor-share");
  run.loop.selection.epsilon = line.get<double>("epsilon");
  run.loop.seed = line.get<std::uint64_t>("seed");
  if (run.loop.attempts < 1 || run.loop.steps < 1 || run.loop.plateau < 0)
    return usage_error("lathe optimize", "--attempts and --steps are at least 1, --plateau at least 0");
  if (!(run.loop.selection.epsilon >= 0 && run.loop.selection.epsilon <= 1))
    return usage_error("cannot use --epsilon", "it must lie between 0 and 1");
  if (line.has("device-seconds"))
    run.loop.device_seconds = line.get<double>("device-seconds");
  for (const auto& [name, file] :
       {std::pair{"memory", &run.memory_file}, {"policy", &run.policy_file}, {"queue", &run.queue}})
    if (line.has(name))
      *file = fs::absolute(line.get<std::string>(name)).lexically_normal();
  run.planner = line.has("planner") ? line.get<std::string>("planner")
                : run.policy_file   ? "policy"
                                    : "memory";
  if (run.planner == "policy" && !run.policy_file)
    return usage_error("--planner policy", "no policy is given", "name its weights with --policy");
  const std::string coder = line.get<std::string>("coder");
  if (coder != "rules" && coder != "model")
    return usage_error("coder " + coder, "there is no such coder", "use rules or model");
  run.model_writes = coder == "model";
  LATHE_TRY(run.model, read_model_options(line));
  if (!run.model && (run.model_writes || run.planner == "model"))
    return usage_error("lathe optimize", "a role is the model's, and no model is given",
                       "name one with --model");
  if (run.model && !run.model_writes && run.planner != "model")
    return usage_error("--model", "no role is the model's", "add --coder model or --planner model");
  run.device = line.get<std::string>("device");
  run.loop.awaited = std::max(1, line.get<int>("ahead"));
  if (line.has("evaluations"))
    run.evaluations = line.get<int>("evaluations");
  run.guard.seed = 1 + run.loop.seed; // a resumed run judges as the first did
  run.guard.sampled_configurations = line.get<int>("guard-configurations");
  run.guard.time_limit_s = line.get<double>("guard-seconds");
  run.final_tuning = !line.has("no-final");
  run.json = line.has("json");
  if (line.has("name"))
    run.name = line.get<std::string>("name");
  return run;
}

// The model of a run, its words kept as they come.
struct ModelSeat {
  std::unique_ptr<llm::Conversation> conversation;
  ModelTask task;
  int unanswered = 0; // questions in a row
};

Result<ModelSeat> seat_model(const Run& run) {
  ModelSeat seat;
  LATHE_TRY(auto provider, llm::make_provider(run.model->provider, run.model->limits));
  fs::path keep_at = run.model->transcript;
  // Every sitting has a file of its own: a resumed run loses no word of the one before.
  for (int sitting = 1; keep_at.empty(); ++sitting) {
    std::error_code failure;
    const fs::path file = run.folder / fmt::format("transcript-{}.json", sitting);
    if (!fs::exists(file, failure))
      keep_at = file;
  }
  seat.conversation = std::make_unique<llm::Conversation>(std::move(provider), run.model->budget, keep_at);
  return seat;
}

// Why no further question makes sense; nothing where one does.
std::optional<std::string> model_is_done(const ModelSeat& seat, const Run& run) {
  const llm::Ledger& ledger = seat.conversation->ledger();
  const llm::Budget& budget = run.model->budget;
  if ((budget.calls && ledger.calls() >= *budget.calls) ||
      (budget.tokens && ledger.tokens() >= *budget.tokens) ||
      (budget.money && ledger.money() >= *budget.money))
    return "the budget of the model is spent: " + ledger.summary();
  constexpr std::size_t patience = 3;
  const auto& turns = seat.conversation->transcript().turns;
  const bool is_silent =
      turns.size() >= patience &&
      std::all_of(turns.end() - patience, turns.end(), [](const llm::Turn& turn) { return !turn.answer; });
  if (is_silent && run.model_writes)
    return "the model does not answer: " + turns.back().error;
  return std::nullopt;
}

Result<std::unique_ptr<Planner>> make_planner(const Run& run, TransitionGraph& memory, ModelSeat* seat) {
  MemoryOptions options;
  options.source = run.name;
  if (run.planner == "model")
    return make_model_planner(*seat->conversation, seat->task, run.model_writes,
                              make_memory_planner(memory, options));
  if (run.planner == "uniform")
    return make_uniform_planner();
  if (run.planner == "heuristic")
    return make_heuristic_planner();
  if (run.planner == "memory")
    return make_memory_planner(memory, options);
  if (run.planner == "policy") {
    LATHE_TRY(Policy policy, read_policy(*run.policy_file));
    return make_policy_planner(std::move(policy), run.memory_file ? &memory : nullptr, options);
  }
  return usage_error("planner " + run.planner, "there is no such planner",
                     "use uniform, heuristic, memory, policy or model");
}

// The history of this run, new or as it was left. A folder of another run is refused.
Result<History> open_history(const Run& run, const Subject& subject, const std::string& root_key) {
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

void copy_result(const Workshop& workshop, const Node& best, const Run& run, const History& history) {
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
int finish_result(const Run& run, const History& history, bool is_host) {
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

Status run_attempts(Run& run, Workshop& workshop, History& history, TransitionGraph& memory, ModelSeat* seat,
                    LoopEnd& end) {
  LATHE_TRY(const std::unique_ptr<Planner> planner, make_planner(run, memory, seat));
  if (seat)
    run.loop.halt = [&] { return model_is_done(*seat, run); };
  const int calls = history.model_calls;
  const std::int64_t tokens = history.model_tokens;
  const double money = history.model_money;
  const auto save = [&](const AttemptReport& report) -> Status {
    const Node& node = history.tree.node(report.node);
    if (seat) {
      const llm::Ledger& ledger = seat->conversation->ledger();
      history.model_calls = calls + static_cast<int>(ledger.calls());
      history.model_tokens = tokens + ledger.tokens();
      history.model_money = money + ledger.money();
    }
    LATHE_CHECK(write_history(history, run.folder));
    if (run.memory_file)
      LATHE_CHECK(write_memory(memory, *run.memory_file));
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

int show_history(const fs::path& folder, bool json) {
  const auto history = read_history(folder);
  if (!history.ok())
    return fail(history.error());
  std::cout << (json ? to_json(*history).dump(2) + "\n" : history_text(*history));
  return 0;
}

Result<TransitionGraph> open_memory(const Run& run) {
  std::error_code failure;
  if (!run.memory_file || !fs::exists(*run.memory_file, failure))
    return TransitionGraph();
  return read_memory(*run.memory_file);
}

int optimize(Run& run) {
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
  std::optional<ModelSeat> seat;
  Author author;
  if (run.model) {
    auto seated = seat_model(run);
    if (!seated.ok())
      return fail(seated.error());
    seat = std::move(*seated);
    seat->task.raw = subject->raw;
    seat->task.architecture = subject->architecture;
    seat->task.max_output_tokens = run.model->max_output_tokens;
  }
  if (run.model_writes) {
    options.can_repair = true;
    options.judge = judge_apart;
    author = [&](const SearchTree& tree, NodeId parent, const Plan& plan, const Candidate& base) {
      return write_by_model(*seat->conversation, seat->task, tree, parent, plan, base);
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
  if (seat)
    seat->task.candidate_of = [&](NodeId id) -> std::optional<Candidate> {
      auto candidate = (*workshop)->candidate_of(history->tree, id);
      return candidate.ok() ? std::optional(std::move(*candidate)) : std::nullopt;
    };
  LoopEnd end;
  if (const Status done = run_attempts(run, **workshop, *history, *memory, seat ? &*seat : nullptr, end);
      !done.ok())
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
  CommandLine line = make_command_line();
  if (const auto code = line.parse(before_separator(arguments)))
    return *code;
  if (line.has("history"))
    return show_history(line.get<std::string>("history"), line.has("json"));
  auto run = read_run(line, arguments);
  if (!run.ok())
    return fail(run.error());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, request_stop);
  return optimize(*run);
}

} // namespace lathe::refactor
