// Endpoints that speak OpenAI's chat completions or Anthropic's messages.
#include "refactor/llm/answer_text.h"
#include "refactor/llm/http.h"
#include "refactor/llm/providers.h"
#include "refactor/llm/tokens.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

namespace lathe::refactor::llm {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_until(Clock::time_point end) {
  return std::chrono::duration<double>(end - Clock::now()).count();
}

class ChatProvider : public Provider {
public:
  ChatProvider(ChatProtocol protocol, std::string model, std::string url, const ProviderOptions& options)
      : protocol_(protocol), model_(std::move(model)), url_(std::move(url)), options_(options) {
    while (url_.ends_with('/'))
      url_.pop_back();
  }

  std::string name() const override {
    return (protocol_ == ChatProtocol::openai ? "openai:" : "anthropic:") + model_ + "@" + url_;
  }

  Result<Answer> ask(const Request& request) override {
    const Clock::time_point start = Clock::now();
    const Clock::time_point deadline = start + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(options_.timeout_s));
    double pause = options_.retry_pause_s;
    for (int repeats = 0;;) {
      const HttpReply reply =
          post_json(endpoint(), headers(), body(request), std::max(0.001, seconds_until(deadline)));
      if (reply.failure.empty() && reply.status >= 200 && reply.status < 300)
        return read_answer(request, reply.body, std::chrono::duration<double>(Clock::now() - start).count());
      if (adapt(reply))
        continue;
      const std::string why = describe(reply);
      if (!reply.is_transient || repeats == options_.retries)
        return failed(repeats ? fmt::format("{} ({} repeats)", why, repeats) : why);
      const double wait = reply.retry_after_s >= 0 ? reply.retry_after_s : pause;
      if (wait >= seconds_until(deadline))
        return failed(
            fmt::format("{}; the next try would come after {:.0f} s, past the time limit", why, wait));
      std::this_thread::sleep_for(std::chrono::duration<double>(wait));
      pause *= 2;
      ++repeats;
    }
  }

private:
  Error failed(const std::string& why) const {
    return {"no answer from " + name(), why, "see docs/model.md"};
  }

  std::string endpoint() const {
    const char* path = protocol_ == ChatProtocol::openai ? "/chat/completions" : "/v1/messages";
    return url_.ends_with(path) ? url_ : url_ + path;
  }

  std::string key() const {
    const char* value =
        std::getenv(protocol_ == ChatProtocol::openai ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY");
    return value && is_private_channel(url_) ? value : "";
  }

  std::vector<std::string> headers() const {
    const std::string secret = key();
    std::vector<std::string> lines;
    if (protocol_ == ChatProtocol::anthropic)
      lines.emplace_back("anthropic-version: 2023-06-01");
    if (!secret.empty())
      lines.push_back((protocol_ == ChatProtocol::openai ? "Authorization: Bearer " : "x-api-key: ") +
                      secret);
    return lines;
  }

  std::string body(const Request& request) const {
    Json json;
    json["model"] = model_;
    json["messages"] = Json::array();
    if (protocol_ == ChatProtocol::anthropic)
      json["system"] = request.system;
    else
      json["messages"].push_back({{"role", "system"}, {"content", request.system}});
    json["messages"].push_back({{"role", "user"}, {"content", request.user}});
    if (sends_temperature_)
      json["temperature"] = request.temperature;
    json[length_field_] = request.max_output_tokens;
    json["stream"] = false;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  // Servers differ in two fields. Where one is refused by name it is renamed or left out, each once.
  bool adapt(const HttpReply& reply) {
    if (reply.status != 400 || !reply.failure.empty())
      return false;
    if (length_field_ == "max_tokens" && reply.body.find("max_completion_tokens") != std::string::npos) {
      length_field_ = "max_completion_tokens";
      return true;
    }
    if (sends_temperature_ && reply.body.find("temperature") != std::string::npos) {
      sends_temperature_ = false;
      return true;
    }
    return false;
  }

  // A server may repeat the key in its error.
  std::string without_key(std::string text) const {
    const std::string secret = key();
    for (std::size_t at; !secret.empty() && (at = text.find(secret)) != std::string::npos;)
      text.replace(at, secret.size(), "(key)");
    return text;
  }

  std::string describe(const HttpReply& reply) const {
    if (!reply.failure.empty())
      return reply.failure + (reply.timed_out ? fmt::format(" ({:.0f} s)", options_.timeout_s) : "");
    std::string message;
    const Json json = Json::parse(reply.body, nullptr, false);
    if (json.is_object() && json.contains("error")) {
      const Json& error = json["error"];
      if (error.is_object() && error.contains("message") && error["message"].is_string())
        message = error["message"].get<std::string>();
      else if (error.is_string())
        message = error.get<std::string>();
    }
    if (message.empty())
      message = reply.body;
    message = excerpt(without_key(message));
    const bool lacks_key = (reply.status == 401 || reply.status == 403) && key().empty();
    return fmt::format("HTTP status {}{}{}{}", reply.status, message.empty() ? "" : ": ", message,
                       lacks_key ? " (no key was sent: none is set, or the connection is not private)" : "");
  }

  Result<Answer> read_answer(const Request& request, const std::string& text, double seconds) const {
    const Json json = Json::parse(text, nullptr, false);
    Answer answer;
    answer.seconds = seconds;
    std::string ending;
    // The JSON library reports missing fields and wrong types by exceptions.
    try {
      if (protocol_ == ChatProtocol::openai) {
        const Json& choice = json.at("choices").at(0);
        const Json& content = choice.at("message").at("content");
        answer.text = content.is_null() ? "" : content.get<std::string>();
        ending = choice.contains("finish_reason") && choice["finish_reason"].is_string()
                     ? choice["finish_reason"].get<std::string>()
                     : "";
      } else {
        for (const Json& block : json.at("content"))
          if (block.at("type").get<std::string>() == "text")
            answer.text += block.at("text").get<std::string>();
        ending = json.contains("stop_reason") && json["stop_reason"].is_string()
                     ? json["stop_reason"].get<std::string>()
                     : "";
      }
      answer.model = json.contains("model") ? json["model"].get<std::string>() : model_;
    } catch (const nlohmann::json::exception&) {
      return failed("its answer is not of the protocol: " + excerpt(without_key(text)));
    }
    if (ending == "length" || ending == "max_tokens")
      return failed(fmt::format("its answer was cut at {} tokens", request.max_output_tokens));
    answer.model = excerpt(answer.model, 100);
    count_tokens(request, json, answer);
    LATHE_TRY(answer.text, accepted_text(std::move(answer.text), name()));
    return answer;
  }

  void count_tokens(const Request& request, const Json& json, Answer& answer) const {
    const bool is_openai = protocol_ == ChatProtocol::openai;
    const auto field = [&](const char* name) -> std::int64_t {
      const auto usage = json.find("usage");
      if (usage == json.end() || !usage->is_object() || !usage->contains(name) ||
          !(*usage)[name].is_number_unsigned())
        return -1;
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>((*usage)[name].get<std::uint64_t>(), 1ull << 40));
    };
    answer.input_tokens = field(is_openai ? "prompt_tokens" : "input_tokens");
    answer.output_tokens = field(is_openai ? "completion_tokens" : "output_tokens");
    answer.tokens_estimated = answer.input_tokens < 0 || answer.output_tokens < 0;
    if (answer.tokens_estimated) {
      answer.input_tokens = estimated_tokens(request);
      answer.output_tokens = estimated_tokens(answer.text);
    }
  }

  ChatProtocol protocol_;
  std::string model_, url_;
  ProviderOptions options_;
  std::string length_field_ = "max_tokens";
  bool sends_temperature_ = true;
};

} // namespace

std::unique_ptr<Provider> make_chat_provider(ChatProtocol protocol, std::string model, std::string url,
                                             const ProviderOptions& options) {
  return std::make_unique<ChatProvider>(protocol, std::move(model), std::move(url), options);
}

} // namespace lathe::refactor::llm
