#include "refactor/llm/llm.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <nlohmann/json.hpp>

namespace lathe::refactor::llm {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* FORMAT = "lathe-transcript-1";
constexpr std::uintmax_t FILE_LIMIT = 64u << 20;

// Sources may hold bytes that are no UTF-8; a transcript shows them as U+FFFD.
std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json turn_json(const Turn& turn) {
  Json json;
  json["Role"] = turn.request.role;
  json["RequestId"] = turn.request.id();
  json["System"] = turn.request.system;
  json["User"] = turn.request.user;
  json["Temperature"] = turn.request.temperature;
  json["MaxOutputTokens"] = turn.request.max_output_tokens;
  if (!turn.request.continuations.empty())
    json["Continuations"] = turn.request.continuations;
  if (turn.answer)
    json["Answer"] = {{"Text", turn.answer->text},
                      {"Model", turn.answer->model},
                      {"InputTokens", turn.answer->input_tokens},
                      {"OutputTokens", turn.answer->output_tokens},
                      {"TokensEstimated", turn.answer->tokens_estimated},
                      {"Seconds", turn.answer->seconds}};
  else
    json["Error"] = turn.error;
  return json;
}

Turn read_turn(const Json& json) {
  Turn turn;
  turn.request.role = json.at("Role").get<std::string>();
  turn.request.system = json.at("System").get<std::string>();
  turn.request.user = json.at("User").get<std::string>();
  turn.request.temperature = json.at("Temperature").get<double>();
  turn.request.max_output_tokens = json.at("MaxOutputTokens").get<std::int64_t>();
  if (json.contains("Continuations"))
    turn.request.continuations = json.at("Continuations").get<std::vector<std::string>>();
  if (json.contains("Error")) {
    turn.error = json.at("Error").get<std::string>();
    return turn;
  }
  const Json& given = json.at("Answer");
  Answer& answer = turn.answer.emplace();
  answer.text = given.at("Text").get<std::string>();
  answer.model = given.at("Model").get<std::string>();
  answer.input_tokens = given.at("InputTokens").get<std::int64_t>();
  answer.output_tokens = given.at("OutputTokens").get<std::int64_t>();
  answer.tokens_estimated = given.at("TokensEstimated").get<bool>();
  answer.seconds = given.at("Seconds").get<double>();
  return turn;
}

} // namespace

std::string Request::id() const {
  Json words = Json::array({role, system, user});
  if (!continuations.empty())
    words.push_back(continuations);
  return content_hash(dumped(words, -1)).substr(0, 16);
}

nlohmann::ordered_json Transcript::to_json() const {
  Json json;
  json["Format"] = FORMAT;
  json["Provider"] = provider;
  json["Context"] = Json::object();
  for (const auto& [name, value] : context)
    json["Context"][name] = value;
  json["Turns"] = Json::array();
  for (const Turn& turn : turns)
    json["Turns"].push_back(turn_json(turn));
  return json;
}

Result<Transcript> Transcript::read(const std::filesystem::path& path) {
  const std::string what = "cannot read the transcript " + path.string();
  std::error_code failure;
  if (const auto size = std::filesystem::file_size(path, failure); !failure && size > FILE_LIMIT)
    return Error{what, "it is larger than 64 MiB", ""};
  LATHE_TRY(const std::string text, read_file(path));
  // Within this function: the JSON library reports by exceptions.
  try {
    const Json json = Json::parse(text);
    if (json.at("Format").get<std::string>() != FORMAT)
      return Error{what, "its Format is not " + std::string(FORMAT), ""};
    Transcript transcript;
    transcript.provider = json.at("Provider").get<std::string>();
    for (const auto& [name, value] : json.at("Context").items())
      transcript.context[name] = value.get<std::string>();
    for (const Json& turn : json.at("Turns"))
      transcript.turns.push_back(read_turn(turn));
    return transcript;
  } catch (const nlohmann::json::exception& problem) {
    return Error{what, problem.what(), "give a file that --transcript wrote"};
  }
}

Status Transcript::write(const std::filesystem::path& path) const {
  return write_file(path, dumped(to_json(), 2) + "\n");
}

std::string Transcript::hash() const {
  Json words = Json::array();
  for (const Turn& turn : turns) {
    words.push_back({turn.request.role, turn.request.system, turn.request.user,
                     turn.answer ? turn.answer->model : "", turn.answer ? turn.answer->text : turn.error});
    if (!turn.request.continuations.empty())
      words.back().push_back(turn.request.continuations);
  }
  return content_hash(dumped(words, -1));
}

Conversation::Conversation(std::unique_ptr<Provider> provider, Budget budget, std::filesystem::path keep_at)
    : provider_(std::move(provider)), ledger_(budget), keep_at_(std::move(keep_at)) {
  transcript_.provider = provider_->name();
}

Result<Answer> Conversation::ask(const Request& request) {
  LATHE_TRY(const Request admitted, ledger_.admit(request));
  Turn turn{admitted, std::nullopt, {}};
  Result<Answer> answer = provider_->ask(admitted);
  if (answer.ok()) {
    ledger_.charge(*answer);
    turn.answer = *answer;
  } else {
    ledger_.charge_failure(admitted);
    turn.error = answer.error().sentence();
  }
  transcript_.turns.push_back(std::move(turn));
  if (!keep_at_.empty())
    LATHE_CHECK(transcript_.write(keep_at_));
  return answer;
}

} // namespace lathe::refactor::llm
