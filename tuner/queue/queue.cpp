#include "tuner/queue/queue.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int schema = 1;

Json to_json(const QueueRequest& request) {
  Json json{{"Schema", schema},         {"Id", request.id},
            {"Kernel", request.kernel}, {"Template", request.template_hash},
            {"Rank", request.rank},     {"Problems", request.problems},
            {"Types", request.types},   {"Evaluations", request.evaluations},
            {"Seed", request.seed}};
  if (request.counters)
    json["Counters"] = true;
  return json;
}

Json to_json(const QueueScore& score) {
  Json json{{"Workload", score.workload}, {"Problem", score.problem}};
  if (!score.failure.empty()) {
    json["Failure"] = score.failure;
    return json;
  }
  json["RawUs"] = score.raw_us;
  json["BestUs"] = score.best_us;
  json["Ratio"] = {score.ratio, score.ratio_low, score.ratio_high};
  json["NoiseBand"] = score.noise_band;
  json["CopyFloorUs"] = score.copy_floor_us;
  json["DefaultKept"] = score.default_kept;
  json["Knobs"] = score.knobs;
  json["Evaluated"] = score.evaluated;
  json["Failed"] = score.failed;
  json["Samples"] = score.samples;
  if (!score.raw_counters.empty())
    json["RawCounters"] = score.raw_counters;
  return json;
}

Json to_json(const QueueAnswer& answer) {
  Json json{{"Schema", schema},
            {"Id", answer.id},
            {"Template", answer.template_hash},
            {"Device", answer.device},
            {"Driver", answer.driver},
            {"Toolkit", answer.toolkit},
            {"Protocol", answer.protocol},
            {"Host", answer.is_host},
            {"Timestamp", answer.timestamp},
            {"Lathe", answer.lathe_version},
            {"Seconds", answer.seconds},
            {"Scores", Json::array()}};
  if (!answer.failure.empty())
    json["Failure"] = answer.failure;
  for (const QueueScore& score : answer.scores)
    json["Scores"].push_back(to_json(score));
  return json;
}

// A field of the right type, or an Error that names it. JSON files come from other machines.
template <class T> Result<T> field(const Json& json, const char* name) {
  const auto found = json.find(name);
  const Error missing{std::string("field ") + name, "it is missing or has another type", ""};
  if (found == json.end())
    return missing;
  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string())
      return found->template get<T>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean())
      return found->template get<T>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (found->is_number() && std::isfinite(found->template get<double>()))
      return found->template get<T>();
  } else {
    if (found->is_number_integer() && found->template get<std::int64_t>() >= 0)
      return static_cast<T>(found->template get<std::int64_t>());
  }
  return missing;
}

Result<Json> read_json(const fs::path& file) {
  LATHE_TRY(const std::string text, read_file(file));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return Error{file.string(), "it is no JSON object", ""};
  LATHE_TRY(const int version, field<int>(json, "Schema"));
  if (version != schema)
    return Error{file.string(),
                 "it has schema " + std::to_string(version) + ", this version reads " +
                     std::to_string(schema),
                 "write it with the same version of lathe"};
  return json;
}

Result<QueueRequest> request_from(const Json& json) {
  QueueRequest request;
  LATHE_TRY(request.id, field<std::string>(json, "Id"));
  LATHE_TRY(request.kernel, field<std::string>(json, "Kernel"));
  LATHE_TRY(request.template_hash, field<std::string>(json, "Template"));
  LATHE_TRY(request.rank, field<int>(json, "Rank"));
  LATHE_TRY(request.types, field<std::string>(json, "Types"));
  LATHE_TRY(request.evaluations, field<int>(json, "Evaluations"));
  LATHE_TRY(request.seed, field<std::uint64_t>(json, "Seed"));
  if (const auto problems = json.find("Problems"); problems != json.end() && problems->is_array())
    for (const Json& problem : *problems)
      if (problem.is_string())
        request.problems.push_back(problem.get<std::string>());
  if (json.contains("Counters")) {
    LATHE_TRY(request.counters, field<bool>(json, "Counters"));
  }
  return request;
}

Result<QueueScore> score_from(const Json& json) {
  if (!json.is_object())
    return Error{"a score", "it is no object", ""};
  QueueScore score;
  LATHE_TRY(score.workload, field<std::string>(json, "Workload"));
  if (const auto problem = json.find("Problem"); problem != json.end() && problem->is_object())
    for (const auto& [name, value] : problem->items())
      if (value.is_number_integer())
        score.problem[name] = value.get<std::int64_t>();
  if (json.contains("Failure")) {
    LATHE_TRY(score.failure, field<std::string>(json, "Failure"));
    return score;
  }
  LATHE_TRY(score.raw_us, field<double>(json, "RawUs"));
  LATHE_TRY(score.best_us, field<double>(json, "BestUs"));
  LATHE_TRY(score.noise_band, field<double>(json, "NoiseBand"));
  LATHE_TRY(score.copy_floor_us, field<double>(json, "CopyFloorUs"));
  LATHE_TRY(score.default_kept, field<bool>(json, "DefaultKept"));
  LATHE_TRY(score.evaluated, field<int>(json, "Evaluated"));
  LATHE_TRY(score.failed, field<int>(json, "Failed"));
  const auto ratio = json.find("Ratio");
  if (ratio == json.end() || !ratio->is_array() || ratio->size() != 3 ||
      !std::all_of(ratio->begin(), ratio->end(), [](const Json& number) { return number.is_number(); }))
    return Error{"field Ratio", "it is not three numbers", ""};
  score.ratio = (*ratio)[0];
  score.ratio_low = (*ratio)[1];
  score.ratio_high = (*ratio)[2];
  if (score.ratio <= 0 || score.raw_us <= 0 || score.best_us <= 0)
    return Error{"a score", "a time or ratio is not positive", ""};
  if (const auto samples = json.find("Samples"); samples != json.end() && samples->is_array())
    for (const Json& sample : *samples)
      if (sample.is_number())
        score.samples.push_back(sample.get<double>());
  if (const auto counters = json.find("RawCounters"); counters != json.end() && counters->is_object())
    for (const auto& [name, value] : counters->items())
      if (value.is_number())
        score.raw_counters[name] = value.get<double>();
  if (const auto knobs = json.find("Knobs"); knobs != json.end() && knobs->is_object())
    for (const auto& [name, value] : knobs->items())
      if (value.is_string())
        score.knobs[name] = value.get<std::string>();
  return score;
}

Result<QueueAnswer> answer_from(const Json& json) {
  QueueAnswer answer;
  LATHE_TRY(answer.id, field<std::string>(json, "Id"));
  LATHE_TRY(answer.template_hash, field<std::string>(json, "Template"));
  LATHE_TRY(answer.device, field<std::string>(json, "Device"));
  LATHE_TRY(answer.driver, field<std::string>(json, "Driver"));
  LATHE_TRY(answer.toolkit, field<std::string>(json, "Toolkit"));
  LATHE_TRY(answer.protocol, field<std::string>(json, "Protocol"));
  LATHE_TRY(answer.is_host, field<bool>(json, "Host"));
  LATHE_TRY(answer.timestamp, field<std::string>(json, "Timestamp"));
  LATHE_TRY(answer.lathe_version, field<std::string>(json, "Lathe"));
  LATHE_TRY(answer.seconds, field<double>(json, "Seconds"));
  if (json.contains("Failure")) {
    LATHE_TRY(answer.failure, field<std::string>(json, "Failure"));
  }
  const auto scores = json.find("Scores");
  if (scores == json.end() || !scores->is_array())
    return Error{"field Scores", "it is missing or no list", ""};
  for (const Json& entry : *scores) {
    LATHE_TRY(QueueScore score, score_from(entry));
    answer.scores.push_back(std::move(score));
  }
  if (answer.failure.empty() && answer.scores.empty())
    return Error{"an answer", "it has neither scores nor a failure", ""};
  return answer;
}

// Files and folders by name, so that what is accepted does not depend on the file system's order.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace

Result<QueueRequest> EvaluationQueue::put(QueueRequest request, const TuningSpec& spec,
                                          const fs::path& certificate) const {
  LATHE_TRY(const std::string text, read_file(spec.kernel.file));
  LATHE_TRY(const std::string certified, read_file(certificate));
  std::string raw;
  if (!spec.reference.file.empty()) {
    LATHE_TRY(raw, read_file(spec.reference.file));
  }
  request.template_hash = content_hash(text);
  request.id.clear();
  // Rank and what names the same numbers differently do not make another request.
  Json asked = to_json(request);
  asked.erase("Rank");
  TuningSpec moved = spec;
  const fs::path anywhere = "/queue/specification.json";
  moved.path = anywhere;
  moved.kernel.file = anywhere.parent_path() / "template.cuh";
  if (!raw.empty())
    moved.reference.file = anywhere.parent_path() / "raw.cuh";
  moved.cpu_reference.clear(); // the raw kernel is the reference; sources of others stay behind
  moved.provenance.certificate = "certificate.json";
  moved.template_hash = request.template_hash;
  const std::string specification = format_spec(moved, anywhere);
  request.id = content_hash(asked.dump() + specification + text + raw).substr(0, 16);
  const fs::path folder = folder_ / "requests" / request.id;
  std::error_code failure;
  if (fs::exists(folder / "request.json", failure))
    return request;
  LATHE_CHECK(write_file(folder / "specification.json", specification));
  LATHE_CHECK(write_file(folder / "template.cuh", text));
  if (!raw.empty())
    LATHE_CHECK(write_file(folder / "raw.cuh", raw));
  LATHE_CHECK(write_file(folder / "certificate.json", certified));
  // Last: a request is there when this file is.
  LATHE_CHECK(write_file(folder / "request.json", to_json(request).dump(2) + "\n"));
  return request;
}

fs::path EvaluationQueue::specification(const QueueRequest& request) const {
  return folder_ / "requests" / request.id / "specification.json";
}

Result<std::vector<QueueRequest>> EvaluationQueue::requests() const {
  std::error_code failure;
  if (!fs::is_directory(folder_ / "requests", failure))
    return usage_error("queue " + folder_.string(), "it has no folder requests",
                       "name a folder that lathe explore or lathe optimize --queue wrote");
  std::vector<QueueRequest> all;
  for (const fs::path& folder : entries(folder_ / "requests")) {
    if (!fs::exists(folder / "request.json", failure))
      continue; // being written
    LATHE_TRY(const Json json, read_json(folder / "request.json"));
    auto request = request_from(json);
    if (!request.ok() || request->id != folder.filename())
      return Error{"request " + (folder / "request.json").string(),
                   request.ok() ? "its id is not its folder's name" : request.error().sentence(),
                   "remove the folder"};
    all.push_back(std::move(*request));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const QueueRequest& a, const QueueRequest& b) { return a.rank < b.rank; });
  return all;
}

Result<QueueAnswers> EvaluationQueue::answers() const {
  LATHE_TRY(const std::vector<QueueRequest> asked, requests());
  std::map<std::string, const QueueRequest*> by_id;
  for (const QueueRequest& request : asked)
    by_id[request.id] = &request;
  QueueAnswers result;
  for (const fs::path& file : entries(folder_ / "answers")) {
    if (file.extension() != ".json")
      continue;
    const auto refuse = [&](const std::string& why) {
      result.refused.push_back("answer " + file.filename().string() + " is not used: " + why);
    };
    auto json = read_json(file);
    auto answer = json.ok() ? answer_from(*json) : Result<QueueAnswer>(json.error());
    if (!answer.ok()) {
      refuse(answer.error().sentence());
      continue;
    }
    const auto request = by_id.find(answer->id);
    if (request == by_id.end())
      refuse("no request of this queue has the id " + answer->id);
    else if (request->second->template_hash != answer->template_hash)
      refuse("it is about another text of the template");
    else if (!result.accepted.emplace(answer->id, *answer).second)
      refuse("request " + answer->id + " is answered already");
  }
  return result;
}

Result<std::vector<QueueRequest>> EvaluationQueue::pending() const {
  LATHE_TRY(std::vector<QueueRequest> asked, requests());
  LATHE_TRY(const QueueAnswers answered, answers());
  std::erase_if(asked, [&](const QueueRequest& request) { return answered.accepted.contains(request.id); });
  return asked;
}

Status EvaluationQueue::answer(const QueueAnswer& answer) const {
  return write_file(folder_ / "answers" / (answer.id + ".json"), to_json(answer).dump(2) + "\n");
}

} // namespace lathe
