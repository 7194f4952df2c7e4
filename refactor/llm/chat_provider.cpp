// Endpoints that speak OpenAI's chat completions or Anthropic's messages.
#include "refactor/llm/answer_text.h"
#include "refactor/llm/endpoint.h"
#include "refactor/llm/providers.h"
#include "refactor/llm/tokens.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <fmt/format.h>

namespace lathe::refactor::llm {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_of(ChatProtocol protocol) {
  return protocol == ChatProtocol::openai ? "openai:" : "anthropic:";
}

class ChatProvider : public Provider {
public:
  ChatProvider(ChatProtocol protocol, std::string model, const std::string& url,
               const ProviderOptions& options)
      : protocol_(protocol), model_(std::move(model)),
        endpoint_(kind_of(protocol) + model_ + "@" + url, url,
                  protocol == ChatProtocol::openai ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY",
                  protocol == ChatProtocol::openai ? "Authorization: Bearer " : "x-api-key: ", options) {}

  std::string name() const override { return kind_of(protocol_) + model_ + "@" + endpoint_.url(); }

  Result<Answer> ask(const Request& request) override {
    const auto start = std::chrono::steady_clock::now();
    const bool is_openai = protocol_ == ChatProtocol::openai;
    LATHE_TRY(const std::string reply,
              endpoint_.post(
                  is_openai ? "/chat/completions" : "/v1/messages",
                  is_openai ? std::vector<std::string>{}
                            : std::vector<std::string>{"anthropic-version: 2023-06-01"},
                  [&] { return body(request); }, [&](const HttpReply& refused) { return adapt(refused); },
                  endpoint_.deadline()));
    return read_answer(request, reply,
                       std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

private:
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
      return endpoint_.failed("its answer is not of the protocol: " + endpoint_.quoted(text));
    }
    if (ending == "length" || ending == "max_tokens")
      return endpoint_.failed(fmt::format("its answer was cut at {} tokens", request.max_output_tokens));
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
  std::string model_;
  Endpoint endpoint_;
  std::string length_field_ = "max_tokens";
  bool sends_temperature_ = true;
};

} // namespace

std::unique_ptr<Provider> make_chat_provider(ChatProtocol protocol, std::string model, const std::string& url,
                                             const ProviderOptions& options) {
  return std::make_unique<ChatProvider>(protocol, std::move(model), url, options);
}

} // namespace lathe::refactor::llm
