// Completions that echo their prompt: the likelihood of given continuations from the tokens of the echo.
//
// The form of the reply is that of OpenAI's completions with `echo` and `logprobs`:
// choices[i].logprobs.tokens and .token_logprobs, the first null. vLLM and SGLang fill both for the prompt.
// SGLang has no text_offset, and vLLM counts special tokens in it, so that the tokens' texts are what is
// relied on. One token is generated: neither server can be asked for none in all versions.
#include "refactor/llm/echoed_tokens.h"
#include "refactor/llm/endpoint.h"
#include "refactor/llm/providers.h"
#include "refactor/llm/tokens.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <limits>

namespace lathe::refactor::llm {
namespace {

using Json = nlohmann::ordered_json;

// A token of a reply: its text, its number and those of the likeliest one, with their punctuation.
constexpr std::size_t REPLY_BYTES_OF_A_TOKEN = 200;
// A larger count of tokens is no count, and sums of such would overflow.
constexpr std::uint64_t MOST_TOKENS = 1ull << 40;

// Prompts and continuations in one request, so that its reply stays within the limit of what is read.
std::size_t batch_size(const Request& request) {
  const auto tokens = static_cast<std::size_t>(estimated_tokens(request)) / request.continuations.size() + 1;
  return std::max<std::size_t>(1, HTTP_BODY_LIMIT / (tokens * REPLY_BYTES_OF_A_TOKEN));
}

class EchoProvider : public Provider {
public:
  EchoProvider(std::string model, const std::string& url, const ProviderOptions& options)
      : model_(std::move(model)),
        endpoint_("openai:" + model_ + "@" + url, url, "OPENAI_API_KEY", "Authorization: Bearer ", options) {}

  std::string name() const override { return "openai:" + model_ + "@" + endpoint_.url(); }

  Result<Answer> ask(const Request& request) override {
    const auto start = Endpoint::Clock::now();
    const auto deadline = endpoint_.deadline();
    Answer answer;
    answer.model = model_;
    std::vector<EchoedTokens> echoed(request.continuations.size());
    const std::size_t step = echoed.empty() ? 1 : batch_size(request);
    for (std::size_t first = 0; first < echoed.size(); first += step) {
      const std::size_t last = std::min(first + step, echoed.size());
      LATHE_TRY(const std::string reply, endpoint_.post(
                                             "/completions", {}, [&] { return body(request, first, last); },
                                             [](const HttpReply&) { return false; }, deadline));
      if (!read(reply, first, last, echoed, answer))
        return endpoint_.failed("its answer is not of the protocol: " + endpoint_.quoted(reply));
    }
    const auto sums = continuation_sums(request.user, request.continuations, echoed);
    if (!sums.ok())
      return endpoint_.failed(sums.error().sentence());
    answer.text = Json{{"log_probabilities", *sums}}.dump();
    if (answer.tokens_estimated) {
      answer.input_tokens = estimated_tokens(request);
      answer.output_tokens = static_cast<std::int64_t>(echoed.size());
    }
    answer.seconds = std::chrono::duration<double>(Endpoint::Clock::now() - start).count();
    return answer;
  }

private:
  std::string body(const Request& request, std::size_t first, std::size_t last) const {
    Json json{{"model", model_},  {"prompt", Json::array()}, {"max_tokens", 1},
              {"temperature", 0}, {"logprobs", 1},           {"echo", true},
              {"stream", false}};
    for (std::size_t i = first; i < last; ++i)
      json["prompt"].push_back(request.user + request.continuations[i]);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  // Whether the reply is of the protocol: one choice a prompt, each with as many numbers as tokens.
  bool read(const std::string& text, std::size_t first, std::size_t last, std::vector<EchoedTokens>& echoed,
            Answer& answer) const {
    const Json json = Json::parse(text, nullptr, false);
    // The JSON library reports missing fields and wrong types by exceptions.
    try {
      const Json& choices = json.at("choices");
      if (!choices.is_array() || choices.size() != last - first)
        return false;
      for (const Json& choice : choices) {
        const auto index = choice.at("index").get<std::size_t>();
        const Json &tokens = choice.at("logprobs").at("tokens"),
                   &numbers = choice.at("logprobs").at("token_logprobs");
        if (index >= last - first || !echoed[first + index].texts.empty() || tokens.size() != numbers.size())
          return false;
        EchoedTokens& echo = echoed[first + index];
        echo.texts = tokens.get<std::vector<std::string>>();
        for (const Json& number : numbers)
          echo.log_probabilities.push_back(number.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                            : number.get<double>());
      }
      if (json.contains("model"))
        answer.model = endpoint_.quoted(json["model"].get<std::string>());
    } catch (const nlohmann::json::exception&) {
      return false;
    }
    count_tokens(json, answer);
    return true;
  }

  static void count_tokens(const Json& json, Answer& answer) {
    const auto field = [&](const char* name) -> std::optional<std::int64_t> {
      const auto usage = json.find("usage");
      if (usage == json.end() || !usage->is_object() || !usage->contains(name) ||
          !(*usage)[name].is_number_unsigned())
        return std::nullopt;
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>((*usage)[name].get<std::uint64_t>(), MOST_TOKENS));
    };
    const auto input = field("prompt_tokens");
    answer.tokens_estimated = answer.tokens_estimated || !input;
    answer.input_tokens += input.value_or(0);
    answer.output_tokens += field("completion_tokens").value_or(0);
  }

  std::string model_;
  Endpoint endpoint_;
};

} // namespace

std::unique_ptr<Provider> make_echo_provider(std::string model, const std::string& url,
                                             const ProviderOptions& options) {
  return std::make_unique<EchoProvider>(std::move(model), url, options);
}

} // namespace lathe::refactor::llm
