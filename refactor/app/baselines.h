// What PyTorch takes for what the shipped kernels compute, eager and compiled, measured beside the raw
// kernel: the two columns of the loop's tables. Written by tests/benchmarks/pytorch_baselines.py.
#pragma once

#include "tuner/base/result.h"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

struct Baseline {
  std::string kernel; // the template's name
  // Microseconds of one call, on the same device and in the same run; absent: not measured.
  std::optional<double> raw, eager, compiled;
};

struct Baselines {
  std::string device;
  std::vector<Baseline> rows; // one a problem
};

// Fails where the file cannot be read or is none of these.
Result<Baselines> read_baselines(const std::filesystem::path& file);

// raw / PyTorch of one kernel: the geometric mean over the problems on which both were measured, on the scale
// of raw / tuned. Absent: not measured on that device.
struct BaselineRatio {
  std::optional<double> eager, compiled;
};
BaselineRatio baseline_of(const Baselines& baselines, const std::string& kernel, const std::string& device);

// "0.389", or "not measured".
std::string baseline_text(const std::optional<double>& ratio);
// {"RawOverEager": 0.389, "RawOverCompile": null}, and back; what is no number there is not measured.
nlohmann::ordered_json baseline_json(const BaselineRatio& ratio);
BaselineRatio baseline_from(const nlohmann::ordered_json& json);

} // namespace lathe::refactor
