#include "refactor/agents/offline_tree.h"

#include "refactor/agents/counters.h"
#include "refactor/agents/json_fields.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace lathe::refactor::agents {
namespace {

using Json = nlohmann::ordered_json;
constexpr int schema = 1;

Json state_json(const RecordedState& state) {
  Json json{{"Key", state.key}, {"Depth", state.depth}, {"Knobs", state.knobs}};
  if (!state.request.empty())
    json["Request"] = state.request;
  if (!state.speedup.empty())
    json["Speedup"] = state.speedup;
  if (!state.floor_share.empty())
    json["FloorShare"] = state.floor_share;
  if (!state.samples.empty())
    json["Samples"] = state.samples;
  if (!state.is_expanded)
    return json;
  json["Edges"] = Json::array();
  for (const RecordedEdge& edge : state.edges) {
    Json entry = action_json(edge.action);
    entry["Child"] = edge.child;
    if (!edge.failure.empty())
      entry["Failure"] = edge.failure;
    json["Edges"].push_back(std::move(entry));
  }
  json["Refused"] = Json::array();
  for (const RefusedAction& refused : state.refused)
    json["Refused"].push_back({{"Rule", refused.rule}, {"Reason", refused.reason}});
  return json;
}

Result<RecordedState> state_from(const Json& json) {
  RecordedState state;
  LATHE_TRY(state.key, text_field(json, "Key"));
  LATHE_TRY(state.depth, integer_field<int>(json, "Depth"));
  LATHE_TRY(state.knobs, texts_field(json, "Knobs"));
  if (json.contains("Request")) {
    LATHE_TRY(state.request, text_field(json, "Request"));
  }
  for (const auto& [name, list] : {std::pair{"Speedup", &state.speedup}, {"FloorShare", &state.floor_share}})
    if (json.contains(name)) {
      LATHE_TRY(*list, numbers_field(json, name));
    }
  if (json.contains("Samples")) {
    if (!json["Samples"].is_array())
      return Error{"field Samples", "it is no list", ""};
    for (const Json& list : json["Samples"]) {
      LATHE_TRY(std::vector<double> samples, numbers_field(Json{{"Samples", list}}, "Samples"));
      state.samples.push_back(std::move(samples));
    }
  }
  state.is_expanded = json.contains("Edges");
  if (!state.is_expanded)
    return state;
  for (const Json& entry : json["Edges"]) {
    RecordedEdge edge;
    LATHE_TRY(edge.action, action_from(entry));
    LATHE_TRY(edge.child, integer_field<int>(entry, "Child"));
    if (entry.contains("Failure")) {
      LATHE_TRY(edge.failure, text_field(entry, "Failure"));
    }
    state.edges.push_back(std::move(edge));
  }
  if (json.contains("Refused"))
    for (const Json& entry : json["Refused"]) {
      RefusedAction refused;
      LATHE_TRY(refused.rule, text_field(entry, "Rule"));
      LATHE_TRY(refused.reason, text_field(entry, "Reason"));
      refused.kind = kind_of_rule(refused.rule);
      state.refused.push_back(std::move(refused));
    }
  return state;
}

Status check_shape(const OfflineTree& tree, const std::string& name) {
  if (tree.states.empty())
    return Error{"offline tree " + name, "it has no state", ""};
  if (!tree.problem_counters.empty() && tree.problem_counters.size() != tree.problems.size())
    return Error{"offline tree " + name, "it has not one list of counters a problem", ""};
  for (const RecordedState& state : tree.states) {
    for (const RecordedEdge& edge : state.edges)
      if (edge.child >= static_cast<int>(tree.states.size()) || edge.child < RecordedEdge::unknown)
        return Error{"offline tree " + name, "an edge leads to a state that is not there", ""};
    for (const auto* list : {&state.speedup, &state.floor_share})
      if (!list->empty() && list->size() != tree.problems.size())
        return Error{"offline tree " + name, "state " + state.key + " has not one number a problem", ""};
    if (!state.samples.empty() && state.samples.size() != tree.problems.size())
      return Error{"offline tree " + name, "state " + state.key + " has not one list a problem", ""};
  }
  return Done{};
}

} // namespace

std::map<std::string, std::int64_t> dimensions_of(const std::string& problem) {
  std::map<std::string, std::int64_t> dimensions;
  for (std::size_t begin = 0; begin < problem.size();) {
    const std::size_t end = std::min(problem.find(',', begin), problem.size());
    const std::string part = problem.substr(begin, end - begin);
    if (const std::size_t equals = part.find('='); equals != std::string::npos)
      dimensions[part.substr(0, equals)] = std::strtoll(part.c_str() + equals + 1, nullptr, 10);
    begin = end + 1;
  }
  return dimensions;
}

bool OfflineTree::is_measured(std::size_t state) const {
  const std::vector<double>& times = states[state].speedup;
  return !times.empty() && std::all_of(times.begin(), times.end(), [](double ratio) { return ratio >= 0; });
}

double OfflineTree::speedup(std::size_t state) const {
  if (!is_measured(state))
    return 0;
  double logarithm = 0;
  for (const double ratio : states[state].speedup) {
    if (ratio <= 0)
      return 0;
    logarithm += std::log(ratio);
  }
  return std::exp(logarithm / static_cast<double>(states[state].speedup.size()));
}

double OfflineTree::best_speedup() const {
  double best = 0;
  for (std::size_t i = 0; i < states.size(); ++i)
    best = std::max(best, speedup(i));
  return best;
}

Json to_json(const OfflineTree& tree) {
  Json json{{"Schema", schema},          {"Kernel", tree.kernel},
            {"Source", tree.source},     {"Device", tree.device},
            {"Protocol", tree.protocol}, {"Host", tree.is_host},
            {"Problems", tree.problems}, {"Facts", features_json(tree.facts)}};
  json["ProblemFacts"] = Json::array();
  for (const Features& facts : tree.problem_facts)
    json["ProblemFacts"].push_back(features_json(facts));
  if (!tree.problem_counters.empty()) {
    json["ProblemCounters"] = Json::array();
    for (const Features& counters : tree.problem_counters)
      json["ProblemCounters"].push_back(features_json(counters));
  }
  json["States"] = Json::array();
  for (const RecordedState& state : tree.states)
    json["States"].push_back(state_json(state));
  return json;
}

Result<OfflineTree> tree_from_json(const Json& json, const std::string& name) {
  const auto in_tree = [&](const Error& error) {
    return Error{"offline tree " + name, error.sentence(), "record it again with lathe explore"};
  };
  if (!json.is_object())
    return in_tree({"", "it is no JSON object", ""});
  const auto read = [&]() -> Result<OfflineTree> {
    OfflineTree tree;
    LATHE_TRY(const int version, integer_field<int>(json, "Schema"));
    if (version != schema)
      return Error{"", "it has schema " + std::to_string(version), ""};
    LATHE_TRY(tree.kernel, text_field(json, "Kernel"));
    LATHE_TRY(tree.source, text_field(json, "Source"));
    LATHE_TRY(tree.device, text_field(json, "Device"));
    LATHE_TRY(tree.protocol, text_field(json, "Protocol"));
    LATHE_TRY(tree.problems, texts_field(json, "Problems"));
    LATHE_TRY(tree.facts, features_field(json, "Facts"));
    LATHE_TRY(tree.is_host, flag_field(json, "Host", false));
    if (json.contains("ProblemFacts"))
      for (const Json& facts : json["ProblemFacts"]) {
        LATHE_TRY(Features read_facts, features_field(Json{{"Facts", facts}}, "Facts"));
        tree.problem_facts.push_back(std::move(read_facts));
      }
    if (json.contains("ProblemCounters"))
      for (const Json& counters : json["ProblemCounters"]) {
        LATHE_TRY(Features read_counters, features_field(Json{{"Counters", counters}}, "Counters"));
        tree.problem_counters.push_back(std::move(read_counters));
      }
    if (!json.contains("States") || !json["States"].is_array())
      return Error{"field States", "it is missing or no list", ""};
    for (const Json& entry : json["States"]) {
      LATHE_TRY(RecordedState state, state_from(entry));
      tree.states.push_back(std::move(state));
    }
    LATHE_CHECK(check_shape(tree, name));
    return tree;
  };
  auto tree = read();
  return tree.ok() ? std::move(tree) : Result<OfflineTree>(in_tree(tree.error()));
}

Result<OfflineTree> read_tree(const std::filesystem::path& file) {
  LATHE_TRY(const std::string text, read_file(file));
  return tree_from_json(Json::parse(text, nullptr, false), file.string());
}

Status write_tree(const OfflineTree& tree, const std::filesystem::path& file) {
  return write_file(file, to_json(tree).dump() + "\n");
}

Result<std::vector<OfflineTree>> read_trees(const std::filesystem::path& folder_or_file) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  if (std::filesystem::is_directory(folder_or_file, failure)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_or_file, failure))
      if (entry.path().extension() == ".json")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(folder_or_file);
  }
  if (files.empty())
    return usage_error("offline trees in " + folder_or_file.string(), "there is no .json file",
                       "record some with lathe explore");
  std::vector<OfflineTree> trees;
  for (const auto& file : files) {
    LATHE_TRY(OfflineTree tree, read_tree(file));
    trees.push_back(std::move(tree));
  }
  return trees;
}

Result<int> adopt_answers(OfflineTree& tree, const QueueAnswers& answers) {
  std::vector<std::map<std::string, std::int64_t>> problems;
  for (const std::string& problem : tree.problems)
    problems.push_back(dimensions_of(problem));
  int measured = 0;
  tree.states.front().speedup.assign(problems.size(), 1.0);
  for (RecordedState& state : tree.states) {
    const auto found = answers.accepted.find(state.request);
    if (found == answers.accepted.end())
      continue;
    const QueueAnswer& answer = found->second;
    if (tree.device.empty()) {
      tree.device = answer.device;
      tree.protocol = answer.protocol;
      tree.is_host = answer.is_host;
    } else if (tree.device != answer.device) {
      return Error{"answers for " + tree.kernel, "they come from " + tree.device + " and " + answer.device,
                   "keep a queue a device"};
    }
    state.speedup.assign(problems.size(), answer.failure.empty() ? -1.0 : 0.0);
    state.floor_share.assign(problems.size(), 0.0);
    state.samples.assign(problems.size(), {});
    for (const QueueScore& score : answer.scores) {
      const auto at = std::find(problems.begin(), problems.end(), score.problem);
      if (at == problems.end())
        return Error{"answer " + answer.id, "it scores a problem that was not asked: " + score.workload, ""};
      const auto index = static_cast<std::size_t>(at - problems.begin());
      state.speedup[index] = score.failure.empty() ? score.ratio : -1.0;
      if (!score.raw_counters.empty()) {
        tree.problem_counters.resize(problems.size());
        tree.problem_counters[index] = counter_features(score.raw_counters);
      }
      // Four digits: what the noise leaves, and a file that can be read.
      for (const double sample : score.samples)
        state.samples[index].push_back(sample > 0 ? std::round(1e4 * score.raw_us / sample) / 1e4 : 0.0);
      if (score.failure.empty() && score.copy_floor_us > 0)
        state.floor_share[index] = score.copy_floor_us / score.best_us;
    }
    ++measured;
  }
  return measured;
}

} // namespace lathe::refactor::agents
