#include "refactor/llm/likelihood.h"

#include "refactor/llm/http.h"
#include "refactor/llm/providers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace lathe::refactor::llm {
namespace {

constexpr std::array<std::string_view, 3> KINDS{"openai:", "command:", "replay:"};
constexpr const char* FORMS = "expected openai:MODEL@URL, command:COMMAND or replay:FILE";

// What one number takes in an answer.
constexpr std::int64_t TOKENS_OF_A_NUMBER = 12;

Result<std::vector<double>> read_numbers(const std::string& text, std::size_t count) {
  const auto wrong = [](const std::string& why) {
    return Error{"the log-probabilities are refused", why, "docs/model.md has the form"};
  };
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto found = json.is_object() ? json.find("log_probabilities") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_array())
    return wrong("the answer is no JSON object with a list log_probabilities");
  if (found->size() != count)
    return wrong(fmt::format("there are {} for {} continuations", found->size(), count));
  std::vector<double> numbers;
  for (const auto& each : *found) {
    if (!each.is_number() || !std::isfinite(each.get<double>()))
      return wrong(fmt::format("number {} is no finite number", numbers.size() + 1));
    if (each.get<double>() > LOG_PROBABILITY_ROUNDING)
      return wrong(
          fmt::format("number {} is above 0, which no logarithm of a probability is", numbers.size() + 1));
    numbers.push_back(std::min(each.get<double>(), 0.0));
  }
  return numbers;
}

} // namespace

bool names_likelihood_provider(std::string_view text) {
  return std::any_of(KINDS.begin(), KINDS.end(),
                     [&](std::string_view kind) { return text.starts_with(kind); });
}

Result<std::unique_ptr<Provider>> make_likelihood_provider(std::string_view text,
                                                           const ProviderOptions& options) {
  const std::string what = "no model '" + std::string(text) + "' to weigh actions";
  const std::string rest(text.substr(std::min(text.size(), text.find(':') + 1)));
  if (!names_likelihood_provider(text) || rest.empty())
    return usage_error(what, FORMS);
  if (text.starts_with("command:"))
    return make_command_provider(rest, options);
  if (text.starts_with("replay:"))
    return make_replay_provider(rest);
  const auto [model, url] = read_address(rest);
  if (model.empty() || url.empty())
    return usage_error(what, FORMS);
  if (!is_plain_url(url))
    return usage_error(what, "its URL has no host, or holds a user name or password",
                       "keys are read from the environment, see docs/model.md");
  return make_echo_provider(model, url, options);
}

Result<std::vector<double>> log_probabilities(Conversation& conversation, const std::string& role,
                                              const std::string& prompt,
                                              const std::vector<std::string>& continuations) {
  Request request;
  request.role = role;
  request.user = prompt;
  request.continuations = continuations;
  request.max_output_tokens = TOKENS_OF_A_NUMBER * static_cast<std::int64_t>(continuations.size());
  LATHE_TRY(const Answer answer, conversation.ask(request));
  return read_numbers(answer.text, continuations.size());
}

} // namespace lathe::refactor::llm
