// Reading JSON that other versions, machines or hands wrote: a field of the right type, or an Error that
// names it. Internal to this folder.
#pragma once

#include "refactor/agents/actions.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lathe::refactor::agents {

Result<std::string> text_field(const nlohmann::ordered_json& json, const char* name);
Result<std::vector<std::string>> texts_field(const nlohmann::ordered_json& json, const char* name);
Result<double> number_field(const nlohmann::ordered_json& json, const char* name); // finite
Result<std::vector<double>> numbers_field(const nlohmann::ordered_json& json, const char* name);
Result<std::int64_t> whole_field(const nlohmann::ordered_json& json, const char* name);

template <class T> Result<T> integer_field(const nlohmann::ordered_json& json, const char* name) {
  LATHE_TRY(const std::int64_t value, whole_field(json, name));
  return static_cast<T>(value);
}

nlohmann::ordered_json features_json(const Features& features);
Result<Features> features_field(const nlohmann::ordered_json& json, const char* name);

nlohmann::ordered_json action_json(const Action& action);
Result<Action> action_from(const nlohmann::ordered_json& json);

} // namespace lathe::refactor::agents
