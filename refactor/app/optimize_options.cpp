#include "refactor/app/optimize_options.h"

#include "refactor/app/subject_options.h"

#include <algorithm>
#include <utility>

namespace lathe::refactor {

namespace fs = std::filesystem;
namespace po = boost::program_options;

CommandLine make_optimize_line() {
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
      "policy", po::value<std::string>(),
      "weights of lathe policy train, or a small language model that weighs the actions: openai:MODEL@URL, "
      "command:COMMAND or replay:TRANSCRIPT.json (docs/agents.md)")(
      "epsilon", po::value<double>()->default_value(0.35), "share of choices that explore")(
      "device", po::value<std::string>()->default_value("auto"), "auto, host, or the index of a GPU")(
      "baselines", po::value<std::string>()->value_name("FILE"),
      "PyTorch's times beside the raw kernels', for the report (tests/benchmarks/pytorch_baselines.py)")(
      "queue", po::value<std::string>(), "score through this evaluation queue in place of a device here")(
      "ahead", po::value<int>()->default_value(4), "candidates that wait in the queue at most")(
      "seed", po::value<std::uint64_t>()->default_value(1), "of every choice")(
      "guard-configurations", po::value<int>()->default_value(8), "that the guard samples of a candidate")(
      "guard-seconds", po::value<double>()->default_value(120),
      "of the guard's runs of a candidate")("no-final", "leave out the final tuning and the header")(
      "history", po::value<std::string>(), "show the tree of a run and end")("json", "print JSON");
  add_policy_model_options(line);
  add_model_options(line);
  return line;
}

Result<OptimizeRun> read_optimize_run(const CommandLine& line, const Arguments& arguments) {
  OptimizeRun run;
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
  LATHE_TRY(run.policy_model, read_policy_model_options(line));
  for (const auto& [name, file] : {std::pair{"memory", &run.memory_file},
                                   {"policy", &run.policy_file},
                                   {"queue", &run.queue},
                                   {"baselines", &run.baselines}})
    if (line.has(name) && !(file == &run.policy_file && run.policy_model))
      *file = fs::absolute(line.get<std::string>(name)).lexically_normal();
  run.planner = line.has("planner")  ? line.get<std::string>("planner")
                : line.has("policy") ? "policy"
                                     : "memory";
  if (run.planner == "policy" && !line.has("policy"))
    return usage_error("--planner policy", "no policy is given", "name its weights or a model with --policy");
  if (run.policy_model && run.planner != "policy")
    return usage_error("--policy", "it names a model, and the planner is " + run.planner,
                       "add --planner policy or leave --policy out");
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

} // namespace lathe::refactor
