#include "refactor/app/baselines.h"

#include "tuner/base/files.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;

Error unusable(const std::filesystem::path& file, const std::string& why) {
  return {"baselines of " + file.string(), why, "write them with tests/benchmarks/pytorch_baselines.py"};
}

// Absent where the field is; nothing where it is no time.
Result<std::optional<double>> time_of(const Json& times, const char* name) {
  const auto found = times.find(name);
  if (found == times.end() || found->is_null())
    return std::optional<double>();
  if (!found->is_number() || !(found->get<double>() > 0))
    return Error{"", std::string(name) + " is no time", ""};
  return std::optional(found->get<double>());
}

std::optional<double> mean_ratio(const Baselines& baselines, const std::string& kernel,
                                 std::optional<double> Baseline::* column) {
  double sum = 0;
  int count = 0;
  for (const Baseline& row : baselines.rows)
    if (row.kernel == kernel && row.raw && row.*column) {
      sum += std::log(*row.raw / *(row.*column));
      ++count;
    }
  return count == 0 ? std::nullopt : std::optional(std::exp(sum / count));
}

} // namespace

Result<Baselines> read_baselines(const std::filesystem::path& file) {
  LATHE_TRY(const std::string text, read_file(file));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("Schema", Json()) != schema || !json.contains("Baselines") ||
      !json["Baselines"].is_array() || !json.contains("Device") || !json["Device"].is_string())
    return unusable(file, "it holds no baselines of this version");
  Baselines baselines;
  baselines.device = json["Device"];
  for (const Json& entry : json["Baselines"]) {
    if (!entry.is_object() || !entry.contains("Kernel") || !entry["Kernel"].is_string() ||
        !entry.contains("Microseconds") || !entry["Microseconds"].is_object())
      return unusable(file, fmt::format("row {} lacks Kernel or Microseconds", baselines.rows.size() + 1));
    Baseline row;
    row.kernel = entry["Kernel"];
    for (const auto& [name, into] :
         {std::pair{"Raw", &row.raw}, {"Eager", &row.eager}, {"Compile", &row.compiled}}) {
      auto time = time_of(entry["Microseconds"], name);
      if (!time.ok())
        return unusable(file, fmt::format("row {}: {}", baselines.rows.size() + 1, time.error().why));
      *into = *time;
    }
    baselines.rows.push_back(std::move(row));
  }
  return baselines;
}

BaselineRatio baseline_of(const Baselines& baselines, const std::string& kernel, const std::string& device) {
  if (baselines.device != device)
    return {};
  return {mean_ratio(baselines, kernel, &Baseline::eager),
          mean_ratio(baselines, kernel, &Baseline::compiled)};
}

std::string baseline_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "not measured";
}

Json baseline_json(const BaselineRatio& ratio) {
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"RawOverEager", number(ratio.eager)}, {"RawOverCompile", number(ratio.compiled)}};
}

BaselineRatio baseline_from(const Json& json) {
  const auto number = [&](const char* name) {
    const bool is_there = json.is_object() && json.contains(name) && json[name].is_number();
    return is_there ? std::optional(json[name].get<double>()) : std::nullopt;
  };
  return {number("RawOverEager"), number("RawOverCompile")};
}

} // namespace lathe::refactor
