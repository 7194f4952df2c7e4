#include "refactor/agents/search_tree.h"

#include "refactor/agents/json_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace lathe::refactor::agents {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> stage_names{"not written", "refused", "not run", "measured",
                                                      "awaited"};

Result<Stage> parse_stage(const std::string& text) {
  const auto found = std::find(stage_names.begin(), stage_names.end(), text);
  if (found == stage_names.end())
    return Error{"field Stage", "there is no stage " + text, ""};
  return static_cast<Stage>(found - stage_names.begin());
}

Json node_json(const Node& node) {
  Json json{{"Id", node.id},
            {"Parent", node.parent},
            {"Action", action_json(node.action)},
            {"Author", node.author},
            {"Reason", node.reason},
            {"Candidate", node.candidate},
            {"Stage", to_string(node.stage)},
            {"Diagnostics", node.diagnostics},
            {"Score", std::isfinite(node.score) ? Json(node.score) : Json(nullptr)},
            {"Speedups", node.speedups},
            {"FloorShare", node.floor_share},
            {"Configuration", node.configuration},
            {"Seconds", node.seconds}};
  if (!node.raw_counters.empty())
    json["RawCounters"] = features_json(node.raw_counters);
  return json;
}

Result<Node> node_from(const Json& json) {
  Node node;
  LATHE_TRY(node.id, integer_field<NodeId>(json, "Id"));
  LATHE_TRY(node.parent, integer_field<NodeId>(json, "Parent"));
  if (!json.contains("Action"))
    return Error{"field Action", "it is missing", ""};
  LATHE_TRY(node.action, action_from(json["Action"]));
  LATHE_TRY(node.author, text_field(json, "Author"));
  LATHE_TRY(node.reason, text_field(json, "Reason"));
  LATHE_TRY(node.candidate, text_field(json, "Candidate"));
  LATHE_TRY(const std::string stage, text_field(json, "Stage"));
  LATHE_TRY(node.stage, parse_stage(stage));
  LATHE_TRY(node.diagnostics, text_field(json, "Diagnostics"));
  if (!json.contains("Score"))
    return Error{"field Score", "it is missing", ""};
  if (!json["Score"].is_null()) {
    LATHE_TRY(node.score, number_field(json, "Score"));
  }
  if (std::isfinite(node.score) != node.is_measured() || node.score <= 0)
    return Error{"field Score", "it does not go with stage " + stage, ""};
  LATHE_TRY(node.speedups, numbers_field(json, "Speedups"));
  LATHE_TRY(node.floor_share, numbers_field(json, "FloorShare"));
  LATHE_TRY(node.configuration, text_field(json, "Configuration"));
  LATHE_TRY(node.seconds, number_field(json, "Seconds"));
  if (json.contains("RawCounters")) {
    LATHE_TRY(node.raw_counters, features_field(json, "RawCounters"));
  }
  return node;
}

} // namespace

std::string_view to_string(Stage stage) {
  return stage_names[static_cast<std::size_t>(stage)];
}

SearchTree::SearchTree(std::string raw_candidate) {
  Node root;
  root.candidate = std::move(raw_candidate);
  root.author = "source";
  root.score = 1;
  nodes_.push_back(std::move(root));
}

NodeId SearchTree::add(NodeId parent, Node node) {
  node.id = static_cast<NodeId>(nodes_.size());
  node.parent = parent;
  node.children.clear();
  nodes_[static_cast<std::size_t>(parent)].children.push_back(node.id);
  nodes_.push_back(std::move(node));
  return nodes_.back().id;
}

void SearchTree::settle(NodeId id, Node outcome) {
  Node& place = node(id);
  outcome.id = id;
  outcome.parent = place.parent;
  outcome.children = std::move(place.children);
  outcome.action = std::move(place.action);
  outcome.reason = std::move(place.reason);
  place = std::move(outcome);
}

std::vector<NodeId> SearchTree::awaited() const {
  std::vector<NodeId> ids;
  for (const Node& each : nodes_)
    if (each.is_awaited())
      ids.push_back(each.id);
  return ids;
}

std::vector<NodeId> SearchTree::siblings(NodeId id) const {
  if (id == root_node)
    return {};
  std::vector<NodeId> others = node(node(id).parent).children;
  std::erase(others, id);
  return others;
}

int SearchTree::depth(NodeId id) const {
  return static_cast<int>(path(id).size()) - 1;
}

std::vector<NodeId> SearchTree::path(NodeId id) const {
  std::vector<NodeId> nodes;
  for (NodeId at = id; at >= 0; at = node(at).parent)
    nodes.push_back(at);
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

std::optional<NodeId> SearchTree::find(const std::string& candidate) const {
  for (const Node& each : nodes_)
    if (each.candidate == candidate)
      return each.id;
  return std::nullopt;
}

std::vector<NodeId> SearchTree::leaders(std::size_t count) const {
  std::vector<NodeId> correct;
  for (const Node& each : nodes_)
    if (each.is_measured())
      correct.push_back(each.id);
  std::stable_sort(correct.begin(), correct.end(),
                   [&](NodeId a, NodeId b) { return node(a).score < node(b).score; });
  correct.resize(std::min(correct.size(), count));
  return correct;
}

Json SearchTree::to_json() const {
  Json json = Json::array();
  for (const Node& each : nodes_)
    json.push_back(node_json(each));
  return json;
}

Result<SearchTree> SearchTree::from_json(const Json& json) {
  if (!json.is_array() || json.empty())
    return Error{"search tree", "it is no list of nodes", ""};
  SearchTree tree("");
  for (std::size_t i = 0; i < json.size(); ++i) {
    LATHE_TRY(Node node, node_from(json[i]));
    const bool in_order = node.id == static_cast<NodeId>(i) &&
                          (i == 0 ? node.parent == -1 : node.parent >= 0 && node.parent < node.id);
    if (!in_order)
      return Error{"search tree", "node " + std::to_string(i) + " is out of order", ""};
    const NodeId parent = node.parent;
    if (i == 0)
      tree.nodes_.front() = std::move(node);
    else
      tree.add(parent, std::move(node));
  }
  return tree;
}

} // namespace lathe::refactor::agents
