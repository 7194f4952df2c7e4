#include "refactor/agents/ablation.h"
#include "refactor/agents/language_policy.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lathe::refactor::agents {
namespace {

// What is prepared once for a kernel: what the others teach.
struct LeftOut {
  TransitionGraph memory;                 // of the other kernels
  std::map<std::uint64_t, Policy> policy; // by seed
};

// `model`: the arm's, null where it has none.
std::unique_ptr<Planner> planner_of(const Arm& arm, const LeftOut& others, const std::string& kernel,
                                    std::uint64_t seed, llm::Conversation* model, TransitionGraph& memory) {
  MemoryOptions options;
  options.source = kernel;
  options.use_prefix = arm.use_prefix;
  options.position_aware = arm.position_aware;
  options.guard = arm.guard;
  options.update = arm.memory != Arm::Memory::frozen;
  if (arm.memory == Arm::Memory::flat)
    options.form = MemoryOptions::Form::flat;
  if (arm.memory == Arm::Memory::no_local)
    options.form = MemoryOptions::Form::directions_only;
  const bool is_warm = arm.memory != Arm::Memory::none && arm.memory != Arm::Memory::cold;
  memory = is_warm ? others.memory : TransitionGraph();
  if (arm.memory == Arm::Memory::random)
    memory = memory.randomised(seed);
  if (arm.planner == "uniform")
    return make_uniform_planner();
  if (arm.planner == "heuristic")
    return make_heuristic_planner();
  if (arm.planner == "memory")
    return make_memory_planner(memory, options);
  return make_policy_planner(model ? make_language_policy(*model, {arm.policy_temperature, {}})
                                   : make_learned_policy(others.policy.at(seed)),
                             arm.memory == Arm::Memory::none ? nullptr : &memory, options);
}

// Whole sequences chosen by lot without a look in between: no hierarchy of steps.
Status one_shot(RecordedEnvironment& environment, const OfflineTree& recorded, SearchTree& tree,
                const Arm& arm, int attempts, std::mt19937_64& random) {
  std::map<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < recorded.states.size(); ++i)
    by_key[recorded.states[i].key] = i;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    // A walk on a tree of its own, of which only the last candidate is measured.
    SearchTree walk(recorded.states[0].key);
    NodeId at = root_node;
    Plan last;
    NodeId parent = root_node;
    const int length = 1 + static_cast<int>(random() % static_cast<std::uint64_t>(arm.steps));
    for (int step = 0; step < length; ++step) {
      LATHE_TRY(const std::vector<Option> options, environment.options(walk, at));
      if (options.empty())
        break;
      const Option& chosen = options[random() % options.size()];
      parent = at;
      last.action = chosen.action;
      if (chosen.key.empty())
        break;
      Node node;
      node.candidate = chosen.key;
      node.score = 1;
      at = walk.add(at, node);
    }
    LATHE_TRY(Node made, environment.attempt(walk, parent, last));
    made.action = last.action;
    tree.add(root_node, std::move(made));
  }
  return Done{};
}

Result<ArmRun> run_arm(const OfflineTree& recorded, const Arm& arm, const AblationPlan& plan,
                       const LeftOut& others, std::uint64_t seed, llm::Conversation* model) {
  const auto start = std::chrono::steady_clock::now();
  ArmRun run;
  run.kernel = recorded.kernel;
  run.seed = seed;
  run.optimum = recorded.best_speedup();
  RecordedEnvironment environment(
      recorded, arm.direct ? RecordedEnvironment::Scoring::direct : RecordedEnvironment::Scoring::search,
      seed);
  TransitionGraph memory;
  const std::unique_ptr<Planner> planner = planner_of(arm, others, recorded.kernel, seed, model, memory);
  const std::int64_t calls_before = model ? model->ledger().calls() : 0,
                     tokens_before = model ? model->ledger().tokens() : 0;
  LoopOptions options;
  options.attempts = plan.attempts;
  if (arm.equal_runs) {
    double runs = 0, states = 0;
    for (const RecordedState& state : recorded.states)
      for (const std::vector<double>& samples : state.samples) {
        runs += static_cast<double>(samples.size());
        ++states;
      }
    options.attempts = static_cast<int>(plan.attempts * std::max(1.0, states > 0 ? runs / states : 1.0));
  }
  options.steps = arm.steps;
  options.selection = plan.selection;
  options.seed = seed;
  options.floor_share = 2; // every arm uses its whole budget
  options.walk = arm.walk == "chain"     ? LoopOptions::Walk::chain
                 : arm.walk == "restart" ? LoopOptions::Walk::restart
                                         : LoopOptions::Walk::tree;
  SearchTree tree(recorded.states[0].key);
  std::atomic<bool> stop{false};
  if (arm.walk == "one-shot") {
    std::mt19937_64 random(seed);
    LATHE_CHECK(one_shot(environment, recorded, tree, arm, options.attempts, random));
  } else {
    LATHE_TRY(const LoopEnd end, run_loop(environment, *planner, tree, options, stop,
                                          [](const AttemptReport&) { return Status(Done{}); }));
    run.attempts = end.attempts;
  }
  run.attempts = static_cast<int>(tree.size()) - 1;
  double best = 1;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    best = std::max(best, tree.nodes()[i].speedup());
    run.best.push_back(best);
    if (!run.reached && best >= plan.near * run.optimum)
      run.reached = static_cast<int>(i);
  }
  run.timed_runs = environment.timed_runs();
  if (model) {
    run.calls = model->ledger().calls() - calls_before;
    run.tokens = model->ledger().tokens() - tokens_before;
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

double median_of(std::vector<double> numbers) {
  if (numbers.empty())
    return 0;
  std::sort(numbers.begin(), numbers.end());
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

} // namespace

TransitionGraph memory_of(const OfflineTree& tree, std::uint64_t seed) {
  TransitionGraph memory;
  MemoryOptions options;
  options.source = tree.kernel;
  options.guard = true;
  // The uniform choice decides, the memory only listens.
  struct Listener : Planner {
    std::unique_ptr<Planner> chooser = make_uniform_planner(), memory;
    std::string name() const override { return "listener"; }
    Result<Plan> plan(const Situation& situation, std::mt19937_64& random) override {
      return chooser->plan(situation, random);
    }
    void learn(const Situation& situation, const Plan& plan, bool failed, double gain) override {
      memory->learn(situation, plan, failed, gain);
    }
  } listener;
  listener.memory = make_memory_planner(memory, options);
  RecordedEnvironment environment(tree);
  SearchTree search(tree.states[0].key);
  LoopOptions loop;
  loop.seed = seed;
  loop.floor_share = 2;
  std::atomic<bool> stop{false};
  // A recorded environment fails only where a plan is none of its own options.
  [[maybe_unused]] const auto end = run_loop(environment, listener, search, loop, stop,
                                             [](const AttemptReport&) { return Status(Done{}); });
  return memory;
}

Result<AblationResult> run_ablation(const std::vector<OfflineTree>& trees, const AblationPlan& plan,
                                    const std::function<void(const std::string&)>& say) {
  AblationResult result;
  result.plan = plan;
  std::vector<OfflineTree> usable;
  for (const OfflineTree& tree : trees)
    if (tree.states.size() > 1 && tree.best_speedup() > 0 && !tree.device.empty()) {
      usable.push_back(tree);
      result.kernels.push_back(tree.kernel);
    }
  if (usable.size() < 2)
    return usage_error("ablation", "fewer than two trees hold measured times",
                       "record and answer more with lathe explore and lathe tune --queue");
  result.device = usable.front().device;
  result.is_host = usable.front().is_host;
  std::vector<TransitionGraph> memories;
  for (const OfflineTree& tree : usable) {
    memories.push_back(memory_of(tree, 1));
    result.memory.merge(memories.back());
  }
  const bool wants_policy = std::any_of(plan.arms.begin(), plan.arms.end(), [](const Arm& arm) {
    return arm.planner == "policy" && arm.policy.empty();
  });
  std::vector<LeftOut> left_out(usable.size());
  for (std::size_t k = 0; k < usable.size(); ++k) {
    std::vector<OfflineTree> others;
    for (std::size_t j = 0; j < usable.size(); ++j)
      if (j != k) {
        others.push_back(usable[j]);
        left_out[k].memory.merge(memories[j]);
      }
    for (const std::uint64_t seed : plan.seeds) {
      if (!wants_policy)
        break;
      TrainingOptions training = plan.training;
      training.seed = seed;
      LATHE_TRY(TrainedPolicy trained, train_policy(others, training));
      result.training_seconds += trained.curve.seconds;
      left_out[k].policy[seed] = std::move(trained.policy);
    }
    say("trained without " + usable[k].kernel);
  }
  for (const Arm& arm : plan.arms) {
    ArmResult of_arm{arm, {}};
    std::unique_ptr<llm::Conversation> model;
    if (!arm.policy.empty()) {
      LATHE_TRY(auto provider, llm::make_likelihood_provider(arm.policy));
      model = std::make_unique<llm::Conversation>(std::move(provider), arm.policy_budget);
    }
    for (std::size_t k = 0; k < usable.size(); ++k)
      for (const std::uint64_t seed : plan.seeds) {
        LATHE_TRY(ArmRun run, run_arm(usable[k], arm, plan, left_out[k], seed, model.get()));
        of_arm.runs.push_back(std::move(run));
      }
    say(arm.name);
    result.arms.push_back(std::move(of_arm));
  }
  return result;
}

Band attempts_to_near(const ArmResult& arm, const AblationPlan& plan) {
  std::vector<double> attempts;
  for (const ArmRun& run : arm.runs)
    attempts.push_back(run.reached ? *run.reached : std::max(run.attempts, plan.attempts) + 1);
  Band band{median_of(attempts), 0, 0};
  if (attempts.empty())
    return band;
  std::mt19937_64 random(1);
  std::vector<double> medians;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> drawn;
    for (std::size_t k = 0; k < attempts.size(); ++k)
      drawn.push_back(attempts[random() % attempts.size()]);
    medians.push_back(median_of(std::move(drawn)));
  }
  std::sort(medians.begin(), medians.end());
  band.low = medians[25];
  band.high = medians[974];
  return band;
}

std::vector<double> geometric_means(const ArmResult& arm, const AblationPlan& plan) {
  std::vector<double> means;
  for (const std::uint64_t seed : plan.seeds) {
    double logarithm = 0, count = 0;
    for (const ArmRun& run : arm.runs)
      if (run.seed == seed) {
        logarithm += std::log(run.final_speedup());
        ++count;
      }
    means.push_back(std::exp(logarithm / std::max(count, 1.0)));
  }
  return means;
}

std::vector<double> median_curve(const ArmResult& arm, int attempts) {
  std::vector<double> curve;
  for (int i = 0; i < attempts; ++i) {
    std::vector<double> shares;
    for (const ArmRun& run : arm.runs) {
      const std::size_t at =
          std::min(static_cast<std::size_t>(i), run.best.empty() ? 0 : run.best.size() - 1);
      shares.push_back((run.best.empty() ? 1 : run.best[at]) / run.optimum);
    }
    curve.push_back(median_of(std::move(shares)));
  }
  return curve;
}

} // namespace lathe::refactor::agents
