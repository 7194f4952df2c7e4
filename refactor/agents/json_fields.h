// Reading JSON that other versions, machines or hands wrote: a field of the right type, or an Error that
// names it. Internal to this folder.
#pragma once

#include "refactor/agents/actions.h"

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::refactor::agents {

Result<std::string> text_field(const nlohmann::ordered_json& json, const char* name);
Result<std::vector<std::string>> texts_field(const nlohmann::ordered_json& json, const char* name);
Result<double> number_field(const nlohmann::ordered_json& json, const char* name); // finite
Result<std::vector<double>> numbers_field(const nlohmann::ordered_json& json, const char* name);
Result<std::int64_t> whole_field(const nlohmann::ordered_json& json, const char* name);

// `standard` where the field is absent.
Result<bool> flag_field(const nlohmann::ordered_json& json, const char* name, bool standard);
// Fails where a field is none of those named: a misspelt one would be taken for absent.
Status only_fields(const nlohmann::ordered_json& json, std::initializer_list<std::string_view> known);

template <class T> Result<T> integer_field(const nlohmann::ordered_json& json, const char* name) {
  LATHE_TRY(const std::int64_t value, whole_field(json, name));
  if (!std::in_range<T>(value))
    return Error{std::string("field ") + name, "it is out of range", ""};
  return static_cast<T>(value);
}

nlohmann::ordered_json features_json(const Features& features);
Result<Features> features_field(const nlohmann::ordered_json& json, const char* name);

nlohmann::ordered_json action_json(const Action& action);
Result<Action> action_from(const nlohmann::ordered_json& json);

} // namespace lathe::refactor::agents
