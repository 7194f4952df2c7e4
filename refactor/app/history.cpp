#include "refactor/app/history.h"

#include "tuner/base/files.h"

#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

namespace lathe::refactor {

using namespace agents;
using Json = nlohmann::ordered_json;

namespace {

constexpr int schema = 1;

Error unusable(const std::filesystem::path& folder, const std::string& why) {
  return {"history of " + folder.string(), why, "name another folder with --output"};
}

std::string outcome_text(const Node& node, bool is_best) {
  if (node.is_awaited())
    return "its score is awaited";
  if (node.is_broken())
    return std::string(to_string(node.stage)) + ": " + node.diagnostics;
  std::string text = fmt::format("{:.3f}x", node.speedup());
  if (node.speedups.size() > 1) {
    text += " (";
    for (std::size_t i = 0; i < node.speedups.size(); ++i)
      text += fmt::format("{}{:.3f}", i ? " " : "", node.speedups[i]);
    text += ")";
  }
  return text + (is_best ? "  best" : "");
}

} // namespace

Json to_json(const History& history) {
  Json json{{"Schema", schema},
            {"Kernel", history.kernel},
            {"Name", history.name},
            {"Source", history.source},
            {"SourceHash", history.source_hash},
            {"Settings", history.settings},
            {"Device", history.device},
            {"Host", history.is_host},
            {"Baselines", baseline_json(history.baselines)},
            {"Ended", history.ended},
            {"Ledger",
             {{"Attempts", history.tree.size() - 1},
              {"ModelCalls", history.model.calls},
              {"ModelTokens", history.model.tokens},
              {"Money", history.model.money},
              {"PolicyCalls", history.policy.calls},
              {"PolicyTokens", history.policy.tokens},
              {"PolicyMoney", history.policy.money}}},
            {"Best", history.tree.best()}};
  double seconds = 0;
  for (const Node& node : history.tree.nodes())
    seconds += node.seconds;
  json["Ledger"]["DeviceSeconds"] = seconds;
  json["PlannerState"] = history.planner_state;
  json["Tree"] = history.tree.to_json();
  return json;
}

Result<History> read_history(const std::filesystem::path& folder) {
  LATHE_TRY(const std::string text, read_file(folder / "history.json"));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("Schema", Json()) != schema)
    return unusable(folder, "history.json is no history of this version");
  History history;
  for (const auto& [name, field] : {std::pair{"Kernel", &history.kernel},
                                    {"Name", &history.name},
                                    {"Source", &history.source},
                                    {"SourceHash", &history.source_hash},
                                    {"Device", &history.device},
                                    {"Ended", &history.ended}}) {
    if (!json.contains(name) || !json[name].is_string())
      return unusable(folder, std::string("history.json lacks ") + name);
    *field = json[name];
  }
  if (!json.contains("Settings") || !json["Settings"].is_object() || !json.contains("Tree"))
    return unusable(folder, "history.json lacks Settings or Tree");
  for (const auto& [name, value] : json["Settings"].items())
    if (value.is_string())
      history.settings[name] = value;
  if (json.contains("Host") && json["Host"].is_boolean())
    history.is_host = json["Host"].get<bool>();
  if (const auto baselines = json.find("Baselines"); baselines != json.end())
    history.baselines = baseline_from(*baselines);
  if (const auto ledger = json.find("Ledger"); ledger != json.end() && ledger->is_object()) {
    const auto spent = [&](const char* calls, const char* tokens, const char* money) {
      const auto number = [&](const char* name) {
        return ledger->contains(name) && (*ledger)[name].is_number() ? (*ledger)[name] : Json(0);
      };
      return ModelSpending{number(calls).get<int>(), number(tokens).get<std::int64_t>(),
                           number(money).get<double>()};
    };
    history.model = spent("ModelCalls", "ModelTokens", "Money");
    history.policy = spent("PolicyCalls", "PolicyTokens", "PolicyMoney");
  }
  if (const auto state = json.find("PlannerState"); state != json.end() && state->is_array())
    for (const Json& number : *state)
      history.planner_state.push_back(number.is_number() ? number.get<double>() : 0);
  auto tree = SearchTree::from_json(json["Tree"]);
  if (!tree.ok())
    return unusable(folder, tree.error().sentence());
  history.tree = std::move(*tree);
  return history;
}

Status write_history(const History& history, const std::filesystem::path& folder) {
  return write_file(folder / "history.json", to_json(history).dump(1) + "\n");
}

std::string history_text(const History& history) {
  const NodeId best = history.tree.best();
  std::string text =
      fmt::format("{} of {}: {} attempts{}{}\n", history.kernel, history.source, history.tree.size() - 1,
                  history.device.empty() ? "" : ", scored on " + history.device,
                  history.is_host ? " (not GPU times)" : "");
  const std::function<void(NodeId, int)> show = [&](NodeId id, int depth) {
    const Node& node = history.tree.node(id);
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    if (id == root_node) {
      text += "raw kernel\n";
    } else {
      const std::string what = node.action.rule.empty() ? "rewrite by the model" : node.action.label();
      text += fmt::format("{}{}. {} [{}, {}]  {}\n", indent, id, what, to_string(node.action.kind),
                          to_string(node.action.direction), outcome_text(node, id == best));
      text += fmt::format("{}   why: {}\n", indent, node.reason);
      if (!node.configuration.empty())
        text += fmt::format("{}   with {}\n", indent, node.configuration);
    }
    for (const NodeId child : node.children)
      show(child, depth + 1);
  };
  show(root_node, 0);
  const double speedup = best == root_node ? 1 : history.tree.node(best).speedup();
  text += fmt::format("{:<12}{:>8}{:>16}{:>16}\n{:<12}{:>8.3f}{:>16}{:>16}\n", "", "best", "PyTorch eager",
                      "torch.compile", "raw / time", speedup, baseline_text(history.baselines.eager),
                      baseline_text(history.baselines.compiled));
  if (!history.ended.empty())
    text += "stopped: " + history.ended + "\n";
  for (const auto& [who, spent] : {std::pair{"model", &history.model}, {"policy", &history.policy}})
    if (spent->calls > 0)
      text += fmt::format("{}: {} calls, {} tokens\n", who, spent->calls, spent->tokens);
  return text;
}

} // namespace lathe::refactor
