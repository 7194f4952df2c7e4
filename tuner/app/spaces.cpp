// `lathe spaces`: counts, times and samples tuning spaces. Needs no device.
#include "tuner/app/options.h"
#include "tuner/app/selection.h"
#include "tuner/app/tuning_session.h"
#include "tuner/base/files.h"
#include "tuner/search/recorded_space.h"
#include "tuner/space/space.h"
#include "tuner/spec/spec.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>

namespace lathe {
namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

struct Options {
  std::size_t samples = 3;
  std::size_t repeat = 1;
  std::uint64_t seed = 1;
  std::map<std::string, Value> device_limits;
  WorkloadSelection selection;
};

struct Summary {
  std::string file, name, workload;
  std::vector<Parameter> parameters;
  double cartesian = 0;
  ValidCount valid;
  bool indexable = false;
  bool recorded = false; // the valid points are those that a file lists
  double milliseconds = 0;
  std::optional<double> listing_milliseconds; // of all valid points, where they are not too many
  std::vector<std::vector<Value>> samples;
};

double cartesian_size(const std::vector<Parameter>& parameters) {
  double size = 1;
  for (const Parameter& parameter : parameters)
    size *= static_cast<double>(parameter.values.size());
  return size;
}

// More valid points than this are not listed.
constexpr double listing_limit = 1e6;

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

class Stopwatch {
public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Times parsing the conditions and building the space, and takes the median over the repeats.
Result<Summary> summarize(const TuningSpec& spec, const std::string& workload, const Options& options,
                          const std::function<Result<Space>(const std::vector<Expression>&)>& build) {
  std::vector<double> times, listing_times;
  std::optional<Space> space;
  for (std::size_t i = 0; i < options.repeat; ++i) {
    const Stopwatch building;
    std::vector<Expression> conditions;
    for (const Condition& condition : spec.conditions) {
      LATHE_TRY(Expression parsed,
                Expression::parse(condition.expression.text(), condition.expression.dialect()));
      conditions.push_back(std::move(parsed));
    }
    Result<Space> built = build(conditions);
    if (!built.ok()) {
      Error error = built.error();
      error.what = spec.path.string() + ": " + error.what;
      return error;
    }
    space = std::move(*built);
    times.push_back(building.milliseconds());
    if (!space->is_enumerated() || space->valid_count().value > listing_limit)
      continue;
    const Stopwatch listing;
    const std::vector<std::uint16_t> listed = space->list();
    listing_times.push_back(listing.milliseconds());
  }
  Summary summary;
  summary.file = spec.path.string();
  summary.name = spec.name;
  summary.workload = workload;
  summary.parameters = space->parameters();
  summary.cartesian = space->cartesian_size();
  summary.valid = space->valid_count();
  summary.indexable = space->is_enumerated();
  summary.milliseconds = median(times);
  if (!listing_times.empty())
    summary.listing_milliseconds = median(listing_times);
  Random random(options.seed);
  for (std::size_t i = 0; i < options.samples; ++i)
    summary.samples.push_back(space->values(space->sample(random)));
  return summary;
}

Result<std::vector<Summary>> summarize_spec(const TuningSpec& spec, const Options& options) {
  std::vector<Summary> summaries;
  if (spec.problems.empty()) {
    const Lookup limits = [&](std::string_view name) -> std::optional<Value> {
      const auto limit = options.device_limits.find(std::string(name));
      return limit == options.device_limits.end() ? std::nullopt : std::optional(limit->second);
    };
    LATHE_TRY(Summary summary, summarize(spec, "", options, [&](const std::vector<Expression>& conditions) {
                std::vector<Parameter> parameters;
                parameters.reserve(spec.knobs.size());
                for (const Knob& knob : spec.knobs)
                  parameters.push_back({knob.name, knob.values});
                return Space::build(std::move(parameters), conditions, limits);
              }));
    summaries.push_back(std::move(summary));
    return summaries;
  }
  // The space that `lathe tune` searches: with the raw kernel's own values in it.
  LATHE_TRY(const std::vector<Workload> workloads,
            select_workloads(spec, options.selection, options.device_limits));
  for (const Workload& workload : workloads) {
    LATHE_TRY(const KnobValues defaults, default_knobs(workload));
    LATHE_TRY(Summary summary, summarize(spec, workload.key(), options, [&](const std::vector<Expression>&) {
                return workload_space(workload, defaults);
              }));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

Summary summarize_recorded(const std::string& file, const RecordedSpace& recorded, const Options& options) {
  Summary summary;
  summary.file = file;
  summary.name = recorded.kernel; // T4 files name neither kernel nor device
  if (!recorded.device.empty())
    summary.name += " on " + recorded.device;
  summary.parameters = recorded.parameters;
  summary.cartesian = cartesian_size(recorded.parameters);
  summary.valid.value = static_cast<double>(recorded.records.size());
  summary.recorded = true;
  Random random(options.seed);
  for (std::size_t i = 0; i < options.samples; ++i) {
    const Point& point = recorded.records[random() % recorded.records.size()].point;
    summary.samples.emplace_back();
    for (std::size_t k = 0; k < point.size(); ++k)
      summary.samples.back().push_back(recorded.parameters[k].values[point[k]]);
  }
  return summary;
}

// Recordings are compressed, or have a list of measurements.
bool is_recording(const std::string& file) {
  if (file.ends_with(".gz"))
    return true;
  const Result<std::string> text = read_file(file);
  const Json json = text.ok() ? Json::parse(*text, nullptr, false) : Json();
  return json.is_object() && (json.contains("cache") || json.contains("results"));
}

Result<std::vector<Summary>> summarize_file(const std::string& file, const Options& options) {
  if (is_recording(file)) {
    LATHE_TRY(const RecordedSpace recorded, read_recorded_space(file));
    return std::vector{summarize_recorded(file, recorded, options)};
  }
  ReadOptions reading;
  reading.check_template = false;
  LATHE_TRY(const TuningSpec spec, read_spec(file, reading));
  for (const std::string& warning : spec.warnings)
    std::cerr << "lathe: warning: " << warning << "\n";
  LATHE_TRY(std::vector<Summary> summaries, summarize_spec(spec, options));
  for (Summary& summary : summaries)
    summary.file = file;
  return summaries;
}

Json value_json(const Value& value) {
  return std::visit([](const auto& content) { return Json(content); }, value);
}

// The most memory that this process has held, in MB; 0 where the system does not say.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stod(line.substr(6)) / 1024;
  return 0;
}

constexpr int json_schema_version = 1; // of each entry

Json summary_json(const Summary& summary) {
  Json json = {{"schema", json_schema_version}, {"file", summary.file}, {"name", summary.name}};
  if (!summary.workload.empty())
    json["workload"] = summary.workload;
  json["parameters"] = Json::array();
  for (const Parameter& parameter : summary.parameters)
    json["parameters"].push_back({{"name", parameter.name}, {"values", parameter.values.size()}});
  json["cartesian"] = summary.cartesian;
  json["valid"] = summary.valid.value;
  json["exact"] = summary.valid.exact;
  if (!summary.valid.exact)
    json["standard_error"] = summary.valid.standard_error;
  json["recorded"] = summary.recorded;
  if (!summary.recorded) {
    json["indexable"] = summary.indexable;
    json["construction_ms"] = summary.milliseconds;
    if (summary.listing_milliseconds)
      json["listing_ms"] = *summary.listing_milliseconds;
  }
  json["samples"] = Json::array();
  for (const std::vector<Value>& sample : summary.samples) {
    Json configuration = Json::object();
    for (std::size_t i = 0; i < sample.size(); ++i)
      configuration[summary.parameters[i].name] = value_json(sample[i]);
    json["samples"].push_back(std::move(configuration));
  }
  return json;
}

std::string count_text(double count) {
  return count < 1e15 ? fmt::format("{:.0f}", count) : fmt::format("{:.6g}", count);
}

void print(const Summary& summary) {
  std::cout << summary.file;
  if (!summary.name.empty())
    std::cout << ": " << summary.name;
  if (!summary.workload.empty())
    std::cout << ", " << summary.workload;
  std::cout << fmt::format("\n  parameters    {}\n  cartesian     {}\n  {:14}{}", summary.parameters.size(),
                           count_text(summary.cartesian), summary.recorded ? "recorded" : "valid",
                           count_text(summary.valid.value));
  if (!summary.valid.exact)
    std::cout << fmt::format(" (estimate, standard error {})", count_text(summary.valid.standard_error));
  std::cout << fmt::format(" ({:.3g} % of the product)", 100 * summary.valid.value / summary.cartesian);
  if (!summary.recorded)
    std::cout << fmt::format("\n  construction  {:.3f} ms", summary.milliseconds);
  if (summary.listing_milliseconds)
    std::cout << fmt::format("\n  listing       {:.3f} ms", *summary.listing_milliseconds);
  for (const std::vector<Value>& sample : summary.samples) {
    std::cout << "\n  sample       ";
    for (std::size_t i = 0; i < sample.size(); ++i)
      std::cout << " " << summary.parameters[i].name << "=" << to_string(sample[i]);
  }
  std::cout << "\n";
}

} // namespace

int spaces_command(const Arguments& arguments) {
  CommandLine line(
      "lathe spaces FILE... [options]",
      "Counts the valid configurations of tuning spaces, times their construction and draws samples. "
      "FILE is a tuning specification (T1, with or without \"Lathe\"), a constraint-space-1 file, or a "
      "recording (T4 or a Kernel Tuner cache, also .gz). Needs no device.",
      "lathe spaces search_spaces/*.json --samples 5 --json");
  line.options().add_options()("samples", po::value<std::size_t>()->default_value(3),
                               "configurations to draw")("seed", po::value<std::uint64_t>()->default_value(1),
                                                         "of the samples")(
      "repeat", po::value<std::size_t>()->default_value(1), "constructions to time; the median is shown")(
      "arch", po::value<std::string>()->default_value("sm_90"),
      "architecture whose limits conditions mention")("problem", po::value<std::vector<std::string>>(),
                                                      "only this problem, such as n=16,d=4096 (repeatable)")(
      "types", po::value<std::string>()->default_value(""), "type parameters, such as T=f16")("json",
                                                                                              "print JSON");
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.empty())
    return fail(
        usage_error("lathe spaces", "expected at least one file", "name one, such as search_spaces/x.json"));
  Options options;
  options.samples = line.get<std::size_t>("samples");
  options.repeat = std::max<std::size_t>(1, line.get<std::size_t>("repeat"));
  options.seed = line.get<std::uint64_t>("seed");
  const Result<DeviceInfo> device = known_device(line.get<std::string>("arch"));
  if (!device.ok())
    return fail(device.error());
  options.device_limits = device->limits();
  if (line.has("problem"))
    options.selection.problems = line.get<std::vector<std::string>>("problem");
  options.selection.types = line.get<std::string>("types");

  int code = 0;
  Json json = Json::array();
  for (const std::string& file : line.positionals) {
    const Result<std::vector<Summary>> summaries = summarize_file(file, options);
    if (!summaries.ok()) { // the other files still count
      code = std::max(code, fail(summaries.error()));
      continue;
    }
    for (const Summary& summary : *summaries) {
      if (line.has("json"))
        json.push_back(summary_json(summary));
      else
        print(summary);
    }
  }
  if (line.has("json") && !json.empty())
    json.back()["process_peak_megabytes"] = peak_megabytes();
  if (line.has("json"))
    std::cout << json.dump(2) << "\n";
  return code;
}

} // namespace lathe
