#include "refactor/agents/json_fields.h"

#include <algorithm>

namespace lathe::refactor::agents {

using Json = nlohmann::ordered_json;

namespace {

Error wrong(const char* name, const char* wanted) {
  return {std::string("field ") + name, std::string("it is missing or not ") + wanted, ""};
}

} // namespace

Result<std::string> text_field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (!json.is_object() || found == json.end() || !found->is_string())
    return wrong(name, "a text");
  return found->get<std::string>();
}

Result<std::vector<std::string>> texts_field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (!json.is_object() || found == json.end() || !found->is_array())
    return wrong(name, "a list of texts");
  std::vector<std::string> texts;
  for (const Json& entry : *found) {
    if (!entry.is_string())
      return wrong(name, "a list of texts");
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

Result<double> number_field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (!json.is_object() || found == json.end() || !found->is_number() || !std::isfinite(found->get<double>()))
    return wrong(name, "a finite number");
  return found->get<double>();
}

Result<std::vector<double>> numbers_field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (!json.is_object() || found == json.end() || !found->is_array())
    return wrong(name, "a list of numbers");
  std::vector<double> numbers;
  for (const Json& entry : *found) {
    if (!entry.is_number() || !std::isfinite(entry.get<double>()))
      return wrong(name, "a list of finite numbers");
    numbers.push_back(entry.get<double>());
  }
  return numbers;
}

Result<std::int64_t> whole_field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (!json.is_object() || found == json.end() || !found->is_number_integer())
    return wrong(name, "a whole number");
  return found->get<std::int64_t>();
}

Result<bool> flag_field(const Json& json, const char* name, bool standard) {
  const auto found = json.find(name);
  if (found == json.end())
    return standard;
  if (!found->is_boolean())
    return wrong(name, "true or false");
  return found->get<bool>();
}

Status only_fields(const Json& json, std::initializer_list<std::string_view> known) {
  if (!json.is_object())
    return Error{"a part of it", "it is no JSON object", ""};
  for (const auto& [name, value] : json.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error{"field " + name, "there is no such field", ""};
  return Done{};
}

Json features_json(const Features& features) {
  Json json = Json::object();
  for (const auto& [name, value] : features)
    json[name] = value;
  return json;
}

Result<Features> features_field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_object())
    return Error{std::string("field ") + name, "it is missing or no object", ""};
  Features features;
  for (const auto& [key, value] : found->items()) {
    if (!value.is_number())
      return Error{std::string("field ") + name, key + " is no number", ""};
    features.emplace_back(key, value.get<double>());
  }
  return features;
}

Json action_json(const Action& action) {
  std::vector<std::string> kinds;
  for (const KnobKind kind : action.knob_kinds)
    kinds.emplace_back(lathe::to_string(kind));
  return {{"Rule", action.rule},
          {"Knobs", action.knobs},
          {"KnobKinds", kinds},
          {"Whole", action.whole},
          {"Lines", {action.first_line, action.last_line}},
          {"Why", action.why}};
}

Result<Action> action_from(const Json& json) {
  Action action;
  LATHE_TRY(action.rule, text_field(json, "Rule"));
  LATHE_TRY(action.knobs, texts_field(json, "Knobs"));
  LATHE_TRY(const std::vector<std::string> kinds, texts_field(json, "KnobKinds"));
  for (const std::string& kind : kinds) {
    const auto parsed = parse_knob_kind(kind);
    if (!parsed)
      return Error{"field KnobKinds", "there is no kind " + kind, ""};
    action.knob_kinds.push_back(*parsed);
  }
  LATHE_TRY(action.whole, flag_field(json, "Whole", true));
  LATHE_TRY(const std::vector<double> lines, numbers_field(json, "Lines"));
  if (lines.size() != 2)
    return wrong("Lines", "two numbers");
  action.first_line = static_cast<int>(lines[0]);
  action.last_line = static_cast<int>(lines[1]);
  LATHE_TRY(action.why, text_field(json, "Why"));
  action.kind = kind_of_rule(action.rule);
  action.direction = direction_of(action.rule, action.knob_kinds);
  return action;
}

} // namespace lathe::refactor::agents
