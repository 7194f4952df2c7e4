// A command of the user's: the prompt on its standard input, the answer on its standard output. Where
// continuations are to be weighed, both are JSON (likelihood.h).
#include "refactor/llm/answer_text.h"
#include "refactor/llm/providers.h"
#include "refactor/llm/tokens.h"
#include "tuner/base/subprocess.h"

#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor::llm {
namespace {

std::string input_of(const Request& request) {
  const std::string prompt = request.system + "\n\n" + request.user;
  if (request.continuations.empty())
    return prompt + "\n";
  using Json = nlohmann::ordered_json;
  const Json question{{"prompt", request.system.empty() ? request.user : prompt},
                      {"continuations", request.continuations}};
  return question.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

class CommandProvider : public Provider {
public:
  CommandProvider(std::string command, const ProviderOptions& options)
      : command_(std::move(command)), options_(options) {}

  std::string name() const override { return "command:" + command_; }

  Result<Answer> ask(const Request& request) override {
    const auto start = std::chrono::steady_clock::now();
    const std::string prompt = input_of(request);
    SubprocessOptions options;
    options.timeout = std::chrono::milliseconds(static_cast<long long>(options_.timeout_s * 1000));
    options.input = prompt;
    options.output_limit = ANSWER_LIMIT + 1;
    options.environment = {{"LATHE_MODEL_ROLE", request.role},
                           {"LATHE_MODEL_TEMPERATURE", fmt::format("{}", request.temperature)},
                           {"LATHE_MODEL_MAX_TOKENS", std::to_string(request.max_output_tokens)}};
    LATHE_TRY(SubprocessResult ran, run_subprocess({"/bin/sh", "-c", command_}, options));
    if (!ran.succeeded())
      return Error{"no answer from " + name(),
                   ran.ending() + (ran.errors.empty() ? "" : ": " + excerpt(ran.errors)), ""};
    Answer answer;
    LATHE_TRY(answer.text, accepted_text(std::move(ran.output), name()));
    answer.model = "unknown";
    answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    answer.input_tokens = estimated_tokens(request);
    answer.output_tokens = estimated_tokens(answer.text);
    answer.tokens_estimated = true;
    return answer;
  }

private:
  std::string command_;
  ProviderOptions options_;
};

} // namespace

std::unique_ptr<Provider> make_command_provider(std::string command, const ProviderOptions& options) {
  return std::make_unique<CommandProvider>(std::move(command), options);
}

} // namespace lathe::refactor::llm
