#include "refactor/agents/policy.h"

#include "refactor/agents/json_fields.h"
#include "refactor/rewrite/rewrite.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <array>

namespace lathe::refactor::agents {
namespace {

using Json = nlohmann::ordered_json;
constexpr int schema = 1;
constexpr const char* format_name = "lathe policy";

// Every rule there is has weights of its own, in the order of the registry: a policy that was trained before
// a rule was added is of other actions.
const std::vector<std::string>& rules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& rule : all_rules())
      list.emplace_back(rule->name());
    return list;
  }();
  return names;
}

struct Context {
  const char* name;
  const char* fact; // empty: see context_values()
  double offset, scale;
};
// What a rule's worth may depend on, each brought to the order of one.
constexpr std::array<Context, 9> contexts{{{"always", "", 0, 1},
                                           {"blocks", "log2_blocks", 8, 0.2},
                                           {"bytes", "log2_bytes", 20, 0.2},
                                           {"threads", "log2_threads", 8, 0.5},
                                           {"thread bytes", "log2_bytes_per_thread", 5, 0.3},
                                           {"barriers", "barriers", 0.5, 0.5},
                                           {"loops", "loops", 1.5, 0.5},
                                           {"floor share", "floor_share", 0.5, 2},
                                           {"step", "", 0, 1}}};

constexpr std::size_t knob_kinds = static_cast<std::size_t>(KnobKind::flag) + 1;
constexpr std::size_t direction_pairs = (direction_count + 1) * direction_count;
constexpr std::size_t extra = 3; // whole, a site of a rule applied before, number of knobs

double fact(const Features& facts, std::string_view name) {
  for (const auto& [key, value] : facts)
    if (key == name)
      return value;
  return 0;
}

double context_value(const Context& context, const Features& facts, std::size_t step) {
  if (std::string_view(context.name) == "always")
    return 1;
  if (std::string_view(context.name) == "step")
    return static_cast<double>(step) / 3 - 1;
  return std::clamp((fact(facts, context.fact) - context.offset) * context.scale, -2.0, 2.0);
}

} // namespace

const std::vector<std::string>& Policy::feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const std::string& rule : rules())
      for (const Context& context : contexts)
        list.push_back(rule + " * " + context.name);
    for (std::size_t i = 0; i < knob_kinds; ++i)
      list.push_back("knob " + std::string(lathe::to_string(static_cast<KnobKind>(i))));
    for (std::size_t from = 0; from <= direction_count; ++from)
      for (std::size_t to = 0; to < direction_count; ++to)
        list.push_back(
            (from == direction_count ? "start" : std::string(to_string(static_cast<Direction>(from)))) +
            " -> " + std::string(to_string(static_cast<Direction>(to))));
    list.insert(list.end(), {"whole rule", "rule again", "knobs"});
    return list;
  }();
  return names;
}

Policy::Policy() : weights(feature_names().size(), 0.0) {}

std::vector<double> Policy::features(const Features& facts, const std::vector<Action>& history,
                                     const Action& action) {
  std::vector<double> result(feature_names().size(), 0.0);
  const auto rule = std::find(rules().begin(), rules().end(), action.rule);
  if (rule != rules().end())
    for (std::size_t i = 0; i < contexts.size(); ++i)
      result[static_cast<std::size_t>(rule - rules().begin()) * contexts.size() + i] =
          context_value(contexts[i], facts, history.size());
  std::size_t at = rules().size() * contexts.size();
  for (const KnobKind kind : action.knob_kinds)
    result[at + static_cast<std::size_t>(kind)] = 1;
  at += knob_kinds;
  const std::size_t from =
      history.empty() ? direction_count : static_cast<std::size_t>(history.back().direction);
  result[at + from * direction_count + static_cast<std::size_t>(action.direction)] = 1;
  at += direction_pairs;
  result[at] = action.whole ? 1 : 0;
  result[at + 1] = std::any_of(history.begin(), history.end(),
                               [&](const Action& past) { return past.rule == action.rule; })
                       ? 1
                       : 0;
  result[at + 2] = static_cast<double>(action.knobs.size()) / 4;
  static_assert(extra == 3);
  return result;
}

std::vector<double> Policy::logits(const Features& facts, const std::vector<Action>& history,
                                   const std::vector<Action>& legal) const {
  std::vector<double> result;
  for (const Action& action : legal) {
    const std::vector<double> values = features(facts, history, action);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += weights[i] * values[i];
    result.push_back(sum);
  }
  return result;
}

Json Policy::to_json() const {
  Json json{{"Format", format_name}, {"Schema", schema}, {"Provenance", provenance}};
  json["Weights"] = Json::object();
  for (std::size_t i = 0; i < weights.size(); ++i)
    json["Weights"][feature_names()[i]] = weights[i];
  return json;
}

Result<Policy> Policy::from_json(const Json& json, const std::string& name) {
  const auto wrong = [&](const std::string& why) {
    return Error{"policy " + name, why, "train it with lathe policy train"};
  };
  if (!json.is_object() || json.value("Format", Json()) != format_name)
    return wrong("it is no policy of lathe");
  const auto version = integer_field<int>(json, "Schema");
  if (!version.ok() || *version != schema)
    return wrong("it is of another version");
  const auto found = json.find("Weights");
  if (found == json.end() || !found->is_object() || found->size() != feature_names().size())
    return wrong("it was trained on other actions");
  Policy policy;
  std::size_t i = 0;
  for (const auto& [key, value] : found->items()) {
    if (key != feature_names()[i] || !value.is_number())
      return wrong("it was trained on other actions: " + key);
    policy.weights[i++] = value.get<double>();
  }
  const auto provenance = text_field(json, "Provenance");
  policy.provenance = provenance.ok() ? *provenance : "";
  return policy;
}

Result<Policy> read_policy(const std::filesystem::path& file) {
  LATHE_TRY(const std::string text, read_file(file));
  return Policy::from_json(Json::parse(text, nullptr, false), file.string());
}

Status write_policy(const Policy& policy, const std::filesystem::path& file) {
  return write_file(file, policy.to_json().dump(1) + "\n");
}

} // namespace lathe::refactor::agents
