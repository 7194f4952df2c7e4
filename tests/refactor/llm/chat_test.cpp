// Endpoints of both protocols against a web server in the test: good, slow, failing, malformed and endless.
#include "refactor/llm/llm.h"
#include "tests/refactor/llm/http_server.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace lathe::refactor::llm {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const char* OPENAI_REPLY = R"({"model": "tiny-1", "choices": [{"message": {"content": "hello"},
  "finish_reason": "stop"}], "usage": {"prompt_tokens": 11, "completion_tokens": 3}})";

Request question() {
  return {"author", "orders", "words", 0.25, 2000};
}

Result<Answer> ask(const HttpServer& server, ProviderOptions options = {},
                   const std::string& kind = "openai") {
  options.retry_pause_s = 0.01;
  auto provider = make_provider(kind + ":tiny@" + server.url(), options);
  return provider.ok() ? (*provider)->ask(question()) : Result<Answer>(provider.error());
}

Json body_of(const std::string& request) {
  return Json::parse(request.substr(request.find("\r\n\r\n") + 4));
}

HttpServer::Handler always(int status, const std::string& body, const std::string& headers = {}) {
  return [=](std::size_t, const std::string&, const HttpServer::Send& send) {
    send(http_reply(status, body, headers));
  };
}

struct Environment {
  Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name_); }
  const char* name_;
};

TEST(Chat, AsksInTheProtocolOfOpenAi) {
  const Environment key("OPENAI_API_KEY", "sk-secret");
  HttpServer server(always(200, OPENAI_REPLY));
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(answer->text, "hello");
  EXPECT_EQ(answer->model, "tiny-1");
  EXPECT_EQ(answer->input_tokens, 11);
  EXPECT_EQ(answer->output_tokens, 3);
  EXPECT_FALSE(answer->tokens_estimated);
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /chat/completions HTTP/1.1"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer sk-secret"));
  const Json body = body_of(request);
  EXPECT_EQ(body["model"], "tiny");
  EXPECT_EQ(body["messages"][0]["role"], "system");
  EXPECT_EQ(body["messages"][0]["content"], "orders");
  EXPECT_EQ(body["messages"][1]["content"], "words");
  EXPECT_EQ(body["temperature"], 0.25);
  EXPECT_EQ(body["max_tokens"], 2000);
}

TEST(Chat, AsksInTheProtocolOfAnthropic) {
  const Environment key("ANTHROPIC_API_KEY", "sk-other");
  HttpServer server(always(200, R"({"model": "m", "content": [{"type": "thinking", "thinking": "hm"},
    {"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}], "stop_reason": "end_turn",
    "usage": {"input_tokens": 5, "output_tokens": 6}})"));
  const auto answer = ask(server, {}, "anthropic");
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(answer->text, "hello");
  EXPECT_EQ(answer->output_tokens, 6);
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /v1/messages HTTP/1.1"));
  EXPECT_THAT(request, HasSubstr("x-api-key: sk-other"));
  EXPECT_THAT(request, HasSubstr("anthropic-version:"));
  EXPECT_EQ(body_of(request)["system"], "orders");
}

TEST(Chat, EstimatesTokensThatNobodyCounts) {
  HttpServer server(always(200, R"({"choices": [{"message": {"content": "hello!"}}]})"));
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_TRUE(answer->tokens_estimated);
  EXPECT_EQ(answer->output_tokens, 2);
}

TEST(Chat, RepeatsAfterTransientFailures) {
  HttpServer server([](std::size_t number, const std::string&, const HttpServer::Send& send) {
    send(number < 2 ? http_reply(503, R"({"error": "busy"})") : http_reply(200, OPENAI_REPLY));
  });
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(Chat, GivesUpAfterTheRepeats) {
  HttpServer server(always(500, R"({"error": {"message": "broken"}})"));
  const auto answer = ask(server, {.timeout_s = 5, .retries = 2});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().why, HasSubstr("HTTP status 500: broken"));
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(Chat, RepeatsWhereTheConnectionBreaks) {
  HttpServer server([](std::size_t number, const std::string&, const HttpServer::Send& send) {
    if (number == 1)
      send(http_reply(200, OPENAI_REPLY));
  });
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(Chat, WaitsAsLongAsTheServerSays) {
  HttpServer server([](std::size_t number, const std::string&, const HttpServer::Send& send) {
    send(number == 0 ? http_reply(429, "{}", "Retry-After: 1\r\n") : http_reply(200, OPENAI_REPLY));
  });
  const auto start = std::chrono::steady_clock::now();
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1000));
}

TEST(Chat, DoesNotWaitPastItsTimeLimit) {
  HttpServer server(always(429, "{}", "Retry-After: 3600\r\n"));
  const auto answer = ask(server, {.timeout_s = 5});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().why, HasSubstr("past the time limit"));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Chat, DoesNotRepeatWhatStaysWrong) {
  HttpServer server(always(401, R"({"error": {"message": "no such key"}})"));
  const auto answer = ask(server);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().why, HasSubstr("no such key"));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Chat, EndsASlowAnswerAtTheTimeLimit) {
  HttpServer* running = nullptr;
  HttpServer server([&](std::size_t, const std::string&, const HttpServer::Send& send) {
    send("HTTP/1.1 200 OK\r\n\r\n{");
    while (running && !running->is_stopping())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  running = &server;
  const auto start = std::chrono::steady_clock::now();
  const auto answer = ask(server, {.timeout_s = 0.5});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().why, HasSubstr("no whole answer came in time"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Chat, StopsReadingAnEndlessAnswer) {
  HttpServer server([](std::size_t, const std::string&, const HttpServer::Send& send) {
    send("HTTP/1.1 200 OK\r\n\r\n");
    while (send(std::string(1 << 16, 'x'))) {
    }
  });
  const auto answer = ask(server, {.timeout_s = 60});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().why, HasSubstr("longer than 8 MiB"));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Chat, RefusesALongText) {
  const Json reply = {{"choices", {{{"message", {{"content", std::string(ANSWER_LIMIT + 1, 'a')}}}}}}};
  HttpServer server(always(200, reply.dump()));
  const auto answer = ask(server);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().why, HasSubstr("longer than 1 MiB"));
}

TEST(Chat, RefusesWhatIsNotOfTheProtocol) {
  const char* replies[] = {"",
                           "{",
                           "[]",
                           "null",
                           "{}",
                           R"({"choices": []})",
                           R"({"choices": {"0": 1}})",
                           R"({"choices": [{"message": {"content": 7}}]})",
                           R"({"choices": [{"message": "hello"}]})",
                           "<html>hello</html>",
                           R"({"model": 7, "choices": [{"message": {"content": "hello"}}]})"};
  for (const char* reply : replies) {
    HttpServer server(always(200, reply));
    const auto answer = ask(server);
    ASSERT_FALSE(answer.ok()) << reply;
    EXPECT_THAT(answer.error().why, HasSubstr("not of the protocol")) << reply;
  }
}

TEST(Chat, RefusesCutEmptyAndBinaryAnswers) {
  HttpServer cut(always(200, R"({"choices": [{"message": {"content": "hel"}, "finish_reason": "length"}]})"));
  EXPECT_THAT(ask(cut).error().why, HasSubstr("was cut at 2000 tokens"));
  HttpServer empty(always(200, R"({"choices": [{"message": {"content": null}}]})"));
  EXPECT_THAT(ask(empty).error().why, HasSubstr("it is empty"));
  HttpServer binary(always(200, R"({"choices": [{"message": {"content": "a\u0000b"}}]})"));
  EXPECT_THAT(ask(binary).error().why, HasSubstr("control characters"));
}

TEST(Chat, FollowsNoRedirection) {
  HttpServer target(always(200, OPENAI_REPLY));
  HttpServer server(always(302, "", "Location: " + target.url() + "/chat/completions\r\n"));
  EXPECT_FALSE(ask(server).ok());
  EXPECT_TRUE(target.requests().empty());
}

TEST(Chat, AdaptsToServersThatNameFieldsOtherwise) {
  HttpServer server([](std::size_t, const std::string& request, const HttpServer::Send& send) {
    const Json body = body_of(request);
    if (body.contains("max_tokens"))
      send(http_reply(400, R"({"error": {"message": "use max_completion_tokens"}})"));
    else if (body.contains("temperature"))
      send(http_reply(400, R"({"error": {"message": "temperature is not supported"}})"));
    else
      send(http_reply(200, OPENAI_REPLY));
  });
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(Chat, NeverShowsTheKey) {
  const Environment key("OPENAI_API_KEY", "sk-secret");
  HttpServer server(always(401, R"({"error": {"message": "wrong key sk-secret"}})"));
  auto provider = make_provider("openai:tiny@" + server.url());
  ASSERT_TRUE(provider.ok());
  Conversation conversation(std::move(*provider), {});
  const auto answer = conversation.ask(question());
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(server.requests().at(0), HasSubstr("sk-secret"));
  EXPECT_THAT(answer.error().sentence(), Not(HasSubstr("sk-secret")));
  EXPECT_THAT(conversation.transcript().to_json().dump(), Not(HasSubstr("sk-secret")));
}

TEST(Chat, NobodyListens) {
  std::string url;
  {
    HttpServer gone(always(200, OPENAI_REPLY));
    url = gone.url();
  }
  auto provider = make_provider("openai:tiny@" + url, {.timeout_s = 5, .retries = 1, .retry_pause_s = 0.01});
  const auto answer = (*provider)->ask(question());
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().why, HasSubstr("1 repeats"));
}

TEST(Chat, RefusesNamesThatAreNoProvider) {
  for (const char* text :
       {"", "openai", "openai:", "openai:model", "openai:@http://h", "openai:m@ftp://h",
        "openai:m@http://user:word@h/v1", "anthropic:m@http://", "gemini:m", "replay:/no/such/file"}) {
    const auto provider = make_provider(text);
    ASSERT_FALSE(provider.ok()) << text;
    EXPECT_EQ(provider.error().failure, Failure::usage) << text;
  }
}

} // namespace
} // namespace lathe::refactor::llm
