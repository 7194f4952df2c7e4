#include "tuner/search/recorded_space.h"

#include "tuner/base/files.h"
#include "tuner/search/domain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>
#include <zlib.h>

namespace lathe {

namespace {

using Json = nlohmann::json;

Error bad(const std::string& name, std::string why, std::string remedy) {
  return usage_error("recorded space \"" + name + "\"", std::move(why), std::move(remedy));
}

constexpr std::string_view counter_prefix = "counter:"; // of T4 measurements that are counters
// The time while counting: what is sought, not what goes with it.
constexpr std::string_view counted_time = "counter:DurationMicroseconds";

const char* const expected_formats = "give a Kernel Tuner cache file or a T4 results file, plain or gzip";

Result<std::string> inflate(const std::string& compressed, const std::string& name) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (inflateInit2(&stream, gzip_window) != Z_OK)
    return Error{"recorded space \"" + name + "\"", "zlib could not start", "free some memory"};
  std::string text;
  std::string chunk(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    state = ::inflate(&stream, Z_NO_FLUSH);
    text.append(chunk, 0, chunk.size() - stream.avail_out);
    if (state == Z_STREAM_END && stream.avail_in > 0) // gzip files may be concatenated
      state = inflateReset(&stream);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END)
    return bad(name, "the gzip stream ends early or is damaged", "copy or record it again");
  return text;
}

// Python writes NaN and Infinity as they stand, which JSON does not have: null, outside of texts.
std::string with_null_for_nan(std::string text) {
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_text && text[i] == '\\') {
      ++i;
      continue;
    }
    if (text[i] == '"')
      in_text = !in_text;
    if (in_text)
      continue;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
      if (text.compare(i, word.size(), word) == 0)
        text.replace(i, word.size(), "null");
  }
  return text;
}

std::optional<Value> value_of(const Json& json) {
  if (json.is_boolean())
    return Value{json.get<bool>()};
  if (json.is_number_integer())
    return Value{json.get<std::int64_t>()};
  if (json.is_number())
    return Value{json.get<double>()};
  if (json.is_string())
    return Value{json.get<std::string>()};
  return {};
}

double number_or(const Json& object, const char* key, double fallback) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : fallback;
}

std::string text_or(const Json& object, const char* key, std::string fallback) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::move(fallback);
}

// Collects records, one a configuration: a configuration that was measured again replaces its first record.
class Builder {
public:
  Builder(RecordedSpace& space, bool maximise) : space_(space), maximise_(maximise) {
    for (const Parameter& parameter : space.parameters) {
      auto& index = indices_.emplace_back();
      for (std::size_t i = 0; i < parameter.values.size(); ++i)
        index.emplace(parameter.values[i], static_cast<std::uint16_t>(i));
    }
  }

  // Nothing: the configuration has a value that is not in its parameter's list.
  std::optional<Point> point(const Json& configuration) const {
    Point point;
    for (std::size_t i = 0; i < space_.parameters.size(); ++i) {
      auto field = configuration.find(space_.parameters[i].name);
      if (field == configuration.end())
        return {};
      auto value = value_of(*field);
      auto found = value ? indices_[i].find(*value) : indices_[i].end();
      if (found == indices_[i].end())
        return {};
      point.push_back(found->second);
    }
    return point;
  }

  void add(Point point, const Json* objective, bool failed, double seconds, double compile_seconds,
           std::optional<Counters> counters = {}) {
    RecordedSpace::Record record{std::move(point),   false, 0, std::isfinite(seconds) ? seconds : 0, 0,
                                 std::move(counters)};
    if (std::isfinite(compile_seconds))
      record.compile_seconds = std::clamp(compile_seconds, 0.0, record.seconds);
    if (!failed && objective && objective->is_number()) {
      const double value = objective->get<double>();
      record.succeeded = std::isfinite(value) && value > 0;
      record.cost = maximise_ ? 1 / value : value;
    }
    auto [known, is_new] = rows_.try_emplace(record.point, space_.records.size());
    if (is_new)
      space_.records.push_back(std::move(record));
    else
      space_.records[known->second] = std::move(record);
  }

private:
  RecordedSpace& space_;
  bool maximise_;
  std::vector<std::map<Value, std::uint16_t>> indices_;
  std::unordered_map<Point, std::size_t, search::PointHash> rows_;
};

Result<RecordedSpace> from_cache(const Json& json, const std::string& name) {
  RecordedSpace space;
  space.kernel = text_or(json, "kernel_name", "");
  space.device = text_or(json, "device_name", "");
  space.objective = text_or(json, "objective", "time");
  auto keys = json.find("tune_params_keys");
  auto lists = json.find("tune_params");
  if (keys == json.end() || !keys->is_array() || lists == json.end() || !lists->is_object() ||
      !json["cache"].is_object())
    return bad(name, "\"tune_params_keys\", \"tune_params\" or \"cache\" is missing", expected_formats);
  for (const Json& key : *keys) {
    auto list = key.is_string() ? lists->find(key.get<std::string>()) : lists->end();
    if (list == lists->end() || !list->is_array() || list->empty() || list->size() > 65'535)
      return bad(name, "\"tune_params\" has no list of values for " + key.dump(), "record it again");
    Parameter parameter{key.get<std::string>(), {}};
    for (const Json& item : *list) {
      auto value = value_of(item);
      if (!value)
        return bad(name, "a value of \"" + parameter.name + "\" is not a number, text or truth value",
                   "record it again");
      if (std::ranges::find(parameter.values, *value) == parameter.values.end())
        parameter.values.push_back(*value);
    }
    space.parameters.push_back(std::move(parameter));
  }
  auto direction = json.find("objective_higher_is_better");
  Builder builder(space, direction != json.end() && direction->is_boolean() && direction->get<bool>());
  for (const auto& [key, record] : json["cache"].items()) {
    if (!record.is_object())
      return bad(name, "the record of \"" + key + "\" is not an object", "record it again");
    auto point = builder.point(record);
    if (!point)
      return bad(name,
                 "the record of \"" + key +
                     "\" lacks a parameter or has a value that \"tune_params\" does not list",
                 "record it again");
    auto objective = record.find(space.objective);
    double milliseconds = 0;
    for (const char* part : {"compile_time", "verification_time", "benchmark_time", "framework_time"})
      milliseconds += std::max(0.0, number_or(record, part, 0));
    builder.add(std::move(*point), objective == record.end() ? nullptr : &*objective, false,
                milliseconds / 1000, number_or(record, "compile_time", 0) / 1000);
  }
  return space;
}

// T4 has no lists of values: they are what occurs, numbers in rising order, other values as they appear.
// Parameters are in alphabetical order, since JSON objects have none.
Result<std::vector<Parameter>> parameters_of_t4(const Json& results, const std::string& name) {
  std::vector<Parameter> parameters;
  for (const auto& [key, value] : results.front()["configuration"].items())
    parameters.push_back({key, {}});
  std::vector<std::map<Value, std::size_t>> seen(parameters.size());
  for (const Json& result : results) {
    auto configuration = result.find("configuration");
    if (configuration == result.end() || !configuration->is_object() ||
        configuration->size() != parameters.size())
      return bad(name, "its results do not have the same parameters", "give one file for each space");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto field = configuration->find(parameters[i].name);
      auto value = field == configuration->end() ? std::nullopt : value_of(*field);
      if (!value)
        return bad(name, "a result has no value for the parameter \"" + parameters[i].name + "\"",
                   "give one file for each space");
      if (seen[i].try_emplace(*value, seen[i].size()).second)
        parameters[i].values.push_back(*value);
    }
  }
  for (Parameter& parameter : parameters) {
    if (std::ranges::none_of(parameter.values,
                             [](const Value& value) { return std::holds_alternative<std::string>(value); }))
      std::ranges::sort(parameter.values, {}, [](const Value& value) {
        return std::visit(
            [](const auto& item) {
              if constexpr (std::is_arithmetic_v<std::decay_t<decltype(item)>>)
                return static_cast<double>(item);
              else
                return 0.0;
            },
            value);
      });
    if (parameter.values.size() > 65'535)
      return bad(name, "the parameter \"" + parameter.name + "\" has more than 65535 values",
                 expected_formats);
  }
  return parameters;
}

Result<RecordedSpace> from_t4(const Json& json, const std::string& name) {
  const Json& results = json["results"];
  if (!results.is_array() || results.empty() || !results.front().is_object() ||
      !results.front().contains("configuration"))
    return bad(name, "it has no \"results\" with a \"configuration\"", expected_formats);
  RecordedSpace space;
  LATHE_TRY(space.parameters, parameters_of_t4(results, name));
  const Json& first = results.front();
  if (auto objectives = first.find("objectives"); objectives != first.end() && objectives->is_array() &&
                                                  !objectives->empty() && objectives->front().is_string())
    space.objective = objectives->front().get<std::string>();
  else
    space.objective = "time";
  if (auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object()) {
    space.kernel = text_or(*metadata, "kernel_name", "");
    space.device = text_or(*metadata, "device_name", "");
  }
  Builder builder(space, false);
  for (const Json& result : results) {
    auto point = builder.point(result["configuration"]);
    const Json* objective = nullptr;
    Counters counters;
    if (auto measurements = result.find("measurements");
        measurements != result.end() && measurements->is_array())
      for (const Json& measurement : *measurements)
        if (measurement.is_object() && measurement.contains("value")) {
          const std::string called = text_or(measurement, "name", "");
          if (called == space.objective)
            objective = &measurement["value"];
          else if (called.starts_with(counter_prefix) && called != counted_time &&
                   measurement["value"].is_number())
            counters[called.substr(counter_prefix.size())] = measurement["value"].get<double>();
        }
    double milliseconds = 0, compile_milliseconds = 0;
    if (auto times = result.find("times"); times != result.end() && times->is_object()) {
      compile_milliseconds = number_or(*times, "compilation", 0);
      for (const char* part : {"compilation", "framework", "validation"})
        milliseconds += std::max(0.0, number_or(*times, part, 0));
      if (auto runs = times->find("runtimes"); runs != times->end() && runs->is_array())
        for (const Json& run : *runs)
          milliseconds += run.is_number() ? std::max(0.0, run.get<double>()) : 0;
    }
    builder.add(std::move(*point), objective, text_or(result, "invalidity", "correct") != "correct",
                milliseconds / 1000, compile_milliseconds / 1000,
                counters.empty() ? std::nullopt : std::optional(std::move(counters)));
  }
  return space;
}

} // namespace

double RecordedSpace::best_cost() const {
  double best = std::numeric_limits<double>::infinity();
  for (const Record& record : records)
    if (record.succeeded)
      best = std::min(best, record.cost);
  return best;
}

Result<RecordedSpace> parse_recorded_space(const std::string& text, const std::string& name) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    json = Json::parse(with_null_for_nan(text), nullptr, false);
  if (json.is_discarded()) {
    const auto last = text.find_last_not_of(" \t\r\n");
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '{' && text[last] != '}')
      return bad(name, "the JSON text ends early, as an interrupted recording does",
                 "finish the recording or close its braces");
    return bad(name, "it is not JSON", expected_formats);
  }
  if (!json.is_object() || (!json.contains("cache") && !json.contains("results")))
    return bad(name, "it has neither \"cache\" nor \"results\"", expected_formats);
  LATHE_TRY(RecordedSpace space, json.contains("cache") ? from_cache(json, name) : from_t4(json, name));
  if (space.parameters.empty() || space.records.empty())
    return bad(name, "it has no recorded configuration", expected_formats);
  if (!std::isfinite(space.best_cost()))
    return bad(name, "none of its records succeeded with a number for \"" + space.objective + "\"",
               "name an objective that was measured");
  return space;
}

Result<RecordedSpace> read_recorded_space(const std::filesystem::path& path) {
  LATHE_TRY(std::string content, read_file(path));
  const bool compressed = content.size() > 2 && content[0] == '\x1f' && content[1] == '\x8b';
  if (compressed) {
    LATHE_TRY(content, inflate(content, path.string()));
  }
  return parse_recorded_space(content, path.string());
}

Result<std::vector<Observation>> prior_from(const RecordedSpace& other,
                                            const std::vector<Parameter>& parameters) {
  std::vector<std::size_t> columns;
  for (const Parameter& parameter : parameters) {
    auto found = std::ranges::find(other.parameters, parameter.name, &Parameter::name);
    if (found == other.parameters.end())
      return usage_error("prior for this space", "it has no parameter \"" + parameter.name + "\"",
                         "give results of the same kernel");
    columns.push_back(static_cast<std::size_t>(found - other.parameters.begin()));
  }
  if (other.parameters.size() != parameters.size())
    return usage_error("prior for this space", "it has parameters that the space lacks",
                       "give results of the same kernel");
  std::vector<std::map<Value, std::uint16_t>> indices(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    for (std::size_t value = 0; value < parameters[i].values.size(); ++value)
      indices[i].emplace(parameters[i].values[value], static_cast<std::uint16_t>(value));
  std::vector<Observation> observations;
  for (const RecordedSpace::Record& record : other.records) {
    Observation observation{{}, record.succeeded, record.cost};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto found = indices[i].find(other.parameters[columns[i]].values[record.point[columns[i]]]);
      if (found == indices[i].end())
        break;
      observation.point.push_back(found->second);
    }
    if (observation.point.size() == parameters.size())
      observations.push_back(std::move(observation));
  }
  return observations;
}

} // namespace lathe
