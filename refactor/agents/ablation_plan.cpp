// The plan of an ablation: read from a file, and the arms where it names none.
#include "refactor/agents/ablation.h"
#include "refactor/agents/json_fields.h"
#include "refactor/llm/likelihood.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lathe::refactor::agents {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> memory_names{"none",   "cold", "warm",    "random",
                                                       "frozen", "flat", "no-local"};
// Whole numbers up to here are exact where JSON's readers keep numbers in double precision.
constexpr double MOST_SEED = 9007199254740992.0;

// The language model of an arm, where it names one.
Status read_policy_model(const Json& json, Arm& arm) {
  if (!json.contains("Policy")) {
    for (const char* name : {"PolicyTemperature", "PolicyCalls", "PolicyTokens"})
      if (json.contains(name))
        return Error{"arm " + arm.name, std::string(name) + " is without a Policy", ""};
    return Done{};
  }
  LATHE_TRY(arm.policy, text_field(json, "Policy"));
  if (!llm::names_likelihood_provider(arm.policy))
    return Error{"arm " + arm.name, "Policy names no language model",
                 "give it as openai:MODEL@URL, command:COMMAND or replay:TRANSCRIPT.json"};
  if (arm.planner != "policy")
    return Error{"arm " + arm.name, "it has a Policy, and its planner is " + arm.planner, "use policy"};
  if (json.contains("PolicyTemperature")) {
    LATHE_TRY(arm.policy_temperature, number_field(json, "PolicyTemperature"));
  }
  if (!(arm.policy_temperature > 0))
    return Error{"arm " + arm.name, "PolicyTemperature is not above 0", ""};
  for (const auto& [name, into] :
       {std::pair{"PolicyCalls", &arm.policy_budget.calls}, {"PolicyTokens", &arm.policy_budget.tokens}})
    if (json.contains(name)) {
      LATHE_TRY(*into, integer_field<std::int64_t>(json, name));
      if (**into < 1)
        return Error{"arm " + arm.name, std::string(name) + " is below 1", ""};
    }
  return Done{};
}

Result<Arm> arm_from(const Json& json) {
  Arm arm;
  LATHE_CHECK(only_fields(json, {"Name", "Planner", "Walk", "Memory", "Direct", "EqualRuns", "Prefix",
                                 "PositionAware", "Guard", "Steps", "Policy", "PolicyTemperature",
                                 "PolicyCalls", "PolicyTokens"}));
  LATHE_TRY(arm.name, text_field(json, "Name"));
  if (json.contains("Planner")) {
    LATHE_TRY(arm.planner, text_field(json, "Planner"));
  }
  if (json.contains("Walk")) {
    LATHE_TRY(arm.walk, text_field(json, "Walk"));
  }
  const auto one_of = [](const std::string& text, std::initializer_list<const char*> known) {
    return std::any_of(known.begin(), known.end(), [&](const char* each) { return text == each; });
  };
  if (!one_of(arm.planner, {"uniform", "heuristic", "memory", "policy"}))
    return Error{"arm " + arm.name, "there is no planner " + arm.planner,
                 "use uniform, heuristic, memory or policy"};
  if (!one_of(arm.walk, {"tree", "chain", "restart", "one-shot"}))
    return Error{"arm " + arm.name, "there is no walk " + arm.walk, "use tree, chain, restart or one-shot"};
  if (json.contains("Memory")) {
    LATHE_TRY(const std::string memory, text_field(json, "Memory"));
    const auto found = std::find(memory_names.begin(), memory_names.end(), memory);
    if (found == memory_names.end())
      return Error{"arm " + arm.name, "there is no memory " + memory,
                   "use none, cold, warm, random, frozen, flat or no-local"};
    arm.memory = static_cast<Arm::Memory>(found - memory_names.begin());
  }
  for (const auto& [name, flag] : {std::pair{"Direct", &arm.direct},
                                   {"EqualRuns", &arm.equal_runs},
                                   {"Prefix", &arm.use_prefix},
                                   {"PositionAware", &arm.position_aware},
                                   {"Guard", &arm.guard}}) {
    LATHE_TRY(*flag, flag_field(json, name, *flag));
  }
  if (json.contains("Steps")) {
    LATHE_TRY(arm.steps, integer_field<int>(json, "Steps"));
  }
  if (arm.steps < 1)
    return Error{"arm " + arm.name, "Steps is below 1", ""};
  LATHE_CHECK(read_policy_model(json, arm));
  return arm;
}

} // namespace

std::vector<Arm> default_arms() {
  using enum Arm::Memory;
  const Arm full{.name = "full: policy, warm memory, tree", .planner = "policy", .memory = warm};
  std::vector<Arm> arms{full};
  const auto with = [&](const char* name, auto change) {
    Arm arm = full;
    arm.name = name;
    change(arm);
    arms.push_back(std::move(arm));
  };
  with("policy, no memory", [](Arm& arm) { arm.memory = none; });
  with("memory, warm", [](Arm& arm) { arm.planner = "memory"; });
  with("memory, cold", [](Arm& arm) { arm.planner = "memory", arm.memory = cold; });
  with("memory, frozen", [](Arm& arm) { arm.planner = "memory", arm.memory = frozen; });
  with("memory, flat", [](Arm& arm) { arm.planner = "memory", arm.memory = flat; });
  with("memory, no local strategies", [](Arm& arm) { arm.planner = "memory", arm.memory = no_local; });
  with("memory, randomised", [](Arm& arm) { arm.planner = "memory", arm.memory = random; });
  with("memory, randomised, no guard",
       [](Arm& arm) { arm.planner = "memory", arm.memory = random, arm.guard = false; });
  with("memory, no prefix", [](Arm& arm) { arm.planner = "memory", arm.use_prefix = false; });
  with("memory, no position weights", [](Arm& arm) { arm.planner = "memory", arm.position_aware = false; });
  with("heuristic policy", [](Arm& arm) { arm.planner = "heuristic", arm.memory = none; });
  with("uniform policy (search only)", [](Arm& arm) { arm.planner = "uniform", arm.memory = none; });
  with("roles only (chain)", [](Arm& arm) { arm.walk = "chain"; });
  with("sampling (one-shot)",
       [](Arm& arm) { arm.planner = "uniform", arm.walk = "one-shot", arm.memory = none; });
  with("reflexion (chain, own feedback)",
       [](Arm& arm) { arm.planner = "memory", arm.memory = cold, arm.walk = "chain"; });
  with("1 step", [](Arm& arm) { arm.steps = 1; });
  with("3 steps", [](Arm& arm) { arm.steps = 3; });
  with("direct rewriting, equal attempts", [](Arm& arm) { arm.direct = true; });
  with("direct rewriting, equal timed runs", [](Arm& arm) { arm.direct = true, arm.equal_runs = true; });
  return arms;
}

Result<AblationPlan> plan_from_json(const Json& json) {
  const auto wrong = [](const Error& error) {
    return usage_error("ablation plan", error.sentence(), "docs/agents.md has the fields");
  };
  if (!json.is_object())
    return wrong({"", "it is no JSON object", ""});
  const auto read = [&]() -> Result<AblationPlan> {
    AblationPlan plan;
    LATHE_CHECK(only_fields(json, {"Trees", "Output", "Baselines", "Attempts", "Seeds", "Near", "Epsilon",
                                   "TrainingRounds", "Arms"}));
    if (json.contains("Attempts")) {
      LATHE_TRY(plan.attempts, integer_field<int>(json, "Attempts"));
    }
    if (json.contains("Near")) {
      LATHE_TRY(plan.near, number_field(json, "Near"));
    }
    if (json.contains("Epsilon")) {
      LATHE_TRY(plan.selection.epsilon, number_field(json, "Epsilon"));
    }
    if (json.contains("TrainingRounds")) {
      LATHE_TRY(plan.training.rounds, integer_field<int>(json, "TrainingRounds"));
    }
    if (json.contains("Seeds")) {
      LATHE_TRY(const std::vector<double> seeds, numbers_field(json, "Seeds"));
      plan.seeds.clear();
      for (const double seed : seeds) {
        if (!(seed >= 0 && seed <= MOST_SEED && seed == std::floor(seed)))
          return Error{"field Seeds", "they are whole numbers from 0", ""};
        plan.seeds.push_back(static_cast<std::uint64_t>(seed));
      }
    }
    plan.arms = default_arms();
    if (json.contains("Arms")) {
      if (!json["Arms"].is_array() || json["Arms"].empty())
        return Error{"field Arms", "it is no list of arms", ""};
      plan.arms.clear();
      for (const Json& entry : json["Arms"]) {
        LATHE_TRY(Arm arm, arm_from(entry));
        plan.arms.push_back(std::move(arm));
      }
    }
    if (plan.attempts < 1 || plan.seeds.empty() || !(plan.near > 0 && plan.near <= 1))
      return Error{"ablation plan", "Attempts, Seeds or Near is out of range", ""};
    return plan;
  };
  auto plan = read();
  return plan.ok() ? std::move(plan) : Result<AblationPlan>(wrong(plan.error()));
}

} // namespace lathe::refactor::agents
