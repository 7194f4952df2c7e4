// What a model says about given continuations: token products by hand-made numbers, servers that echo,
// commands, and answers that are none.
#include "refactor/llm/echoed_tokens.h"
#include "refactor/llm/likelihood.h"
#include "tests/refactor/llm/http_server.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <thread>

namespace lathe::refactor::llm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
const std::string PROMPT = "The next action:";

TEST(EchoedTokens, TheProbabilityIsTheProductOfTheContinuationsTokens) {
  const auto sums =
      continuation_sums(PROMPT, {" split-block(SPLIT)", " unroll(A)"},
                        {{{"The", " next", " action", ":", " split", "-block", "(SPLIT", ")", "\n"},
                          {NONE, -3, -2, -0.5, -1.25, -0.5, -0.125, -0.0625, -7}},
                         {{"The", " next", " action", ":", " un", "roll", "(A)", "."},
                          {NONE, -3, -2, -0.5, -2, -0.25, -0.5, -9}}});
  ASSERT_TRUE(sums.ok()) << sums.error().sentence();
  EXPECT_THAT(*sums, ElementsAre(-1.25 - 0.5 - 0.125 - 0.0625, -2 - 0.25 - 0.5));
}

TEST(EchoedTokens, ABeginTokenAndOtherBlanksChangeNothing) {
  // A first token of the tokenizer's own, blanks as U+2581, blanks lost, a blank by itself, no generated
  // token.
  const std::vector<std::string> one{" split"};
  const std::vector<EchoedTokens> ways{
      {{"<s>", "\u2581The\u2581next", "\u2581action:", "\u2581split", "x"}, {NONE, -1, -1, -0.5, -9}},
      {{"The", "next", "action", ":", "split", ""}, {NONE, -1, -1, -1, -0.5, -9}},
      {{"The next action", ":", " ", "split", "x"}, {NONE, -1, -0.25, -0.25, -9}},
      {{"The next action", ":", " split"}, {NONE, -1, -0.5}}};
  for (const EchoedTokens& way : ways) {
    const auto sums = continuation_sums(PROMPT, one, {way});
    ASSERT_TRUE(sums.ok()) << sums.error().sentence();
    EXPECT_THAT(*sums, ElementsAre(-0.5));
  }
}

TEST(EchoedTokens, AStraddlingTokenMovesTheBorderForAll) {
  // ":exp" belongs to prompt and continuation: the other sum takes its ":" in, too.
  const auto sums =
      continuation_sums(PROMPT, {"expose", "split"},
                        {{{"The", " next", " action", ":exp", "ose", "!"}, {NONE, -3, -2, -1.5, -0.25, -9}},
                         {{"The", " next", " action", ":", "split", "!"}, {NONE, -3, -2, -0.125, -1, -9}}});
  ASSERT_TRUE(sums.ok()) << sums.error().sentence();
  EXPECT_THAT(*sums, ElementsAre(-1.5 - 0.25, -0.125 - 1));
  // Alone it has no other to agree with; the border is where its token begins.
  const auto alone =
      continuation_sums(PROMPT, {"expose"}, {{{"x", ":exp", "ose", "!"}, {NONE, -1.5, -0.25, -9}}});
  ASSERT_TRUE(alone.ok());
  EXPECT_THAT(*alone, ElementsAre(-1.75));
}

TEST(EchoedTokens, TokensThatNeverMeetAreRefused) {
  // Every second byte before the border begins a token: the odd ones here, the even ones there.
  const std::string prompt(200, 'a');
  EchoedTokens odd{{"a"}, {}}, even;
  odd.texts.insert(odd.texts.end(), 99, "aa");
  odd.texts.insert(odd.texts.end(), {"ax", "!"});
  even.texts.insert(even.texts.end(), 99, "aa");
  even.texts.insert(even.texts.end(), {"aay", "!"});
  odd.log_probabilities.assign(odd.texts.size(), -1);
  even.log_probabilities.assign(even.texts.size(), -1);
  const auto sums = continuation_sums(prompt, {"x", "y"}, {odd, even});
  ASSERT_FALSE(sums.ok());
  EXPECT_THAT(sums.error().sentence(), HasSubstr("do not meet"));
}

TEST(EchoedTokens, WhatWasNotAskedIsRefused) {
  const auto refusal = [](const EchoedTokens& echo) {
    const auto sums = continuation_sums(PROMPT, {" split"}, {echo});
    return sums.ok() ? std::string("(accepted)") : sums.error().sentence();
  };
  EXPECT_THAT(refusal({{"rows"}, {-1}}), HasSubstr("does not echo")) << "the generated token alone";
  EXPECT_THAT(refusal({{}, {}}), HasSubstr("does not echo"));
  EXPECT_THAT(refusal({{"The", " next action:", " spl"}, {NONE, -1, -1}}), HasSubstr("cut the prompt"));
  EXPECT_THAT(refusal({{"action:", " split", "x"}, {-1, NONE, -1}}), HasSubstr("no log-probability"));
  EXPECT_THAT(refusal({{"action:", " split", "x"}, {-1, 0.5, -1}}), HasSubstr("above 0"));
  EXPECT_EQ(refusal({{"action:", " split", "x"}, {-1, 0.00001, -1}}), "(accepted)") << "rounding";
}

// A server's tokens: the prompt by bytes, so that every border is one of tokens; ln P of a byte is -1/64, of
// the bytes of the word "split" -1/8.
Json echo_choice(std::size_t index, const std::string& prompt) {
  Json tokens = Json::array(), numbers = Json::array();
  const std::size_t likely = prompt.rfind(" split");
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    tokens.push_back(std::string(1, prompt[i]));
    if (i == 0)
      numbers.push_back(nullptr);
    else
      numbers.push_back(i >= likely && likely != std::string::npos ? -0.125 : -0.015625);
  }
  tokens.push_back("\n");
  numbers.push_back(-3);
  return {{"index", index},
          {"text", prompt + "\n"},
          {"logprobs", {{"tokens", tokens}, {"token_logprobs", numbers}}}};
}

Json body_of(const std::string& request) {
  return Json::parse(request.substr(request.find("\r\n\r\n") + 4));
}

HttpServer::Handler echoing() {
  return [](std::size_t, const std::string& request, const HttpServer::Send& send) {
    const Json asked = body_of(request);
    Json reply{{"model", "tiny-1"},
               {"choices", Json::array()},
               {"usage", {{"prompt_tokens", 100}, {"completion_tokens", asked["prompt"].size()}}}};
    for (std::size_t i = asked["prompt"].size(); i-- > 0;) // in no particular order
      reply["choices"].push_back(echo_choice(i, asked["prompt"][i].get<std::string>()));
    send(http_reply(200, reply.dump()));
  };
}

HttpServer::Handler always(const std::string& body) {
  return [=](std::size_t, const std::string&, const HttpServer::Send& send) { send(http_reply(200, body)); };
}

Conversation asking(const std::string& provider, Budget budget = {},
                    const std::filesystem::path& keep_at = {}, double timeout_s = 20) {
  auto made = make_likelihood_provider(provider, {.timeout_s = timeout_s, .retry_pause_s = 0.01});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().sentence());
  return Conversation(std::move(*made), budget, keep_at);
}

std::string refusal_of(Conversation& conversation, std::size_t count = 2) {
  const auto numbers =
      log_probabilities(conversation, "policy", PROMPT, std::vector<std::string>(count, " split"));
  return numbers.ok() ? "(accepted)" : numbers.error().sentence();
}

TEST(Likelihood, OfAServerThatEchoes) {
  HttpServer server(echoing());
  Conversation conversation = asking("openai:tiny@" + server.url() + "/v1/");
  const auto numbers = log_probabilities(conversation, "policy", PROMPT, {" split", " rows"});
  ASSERT_TRUE(numbers.ok()) << numbers.error().sentence();
  EXPECT_THAT(*numbers, ElementsAre(-6 * 0.125, -5 * 0.015625));
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /v1/completions HTTP/1.1"));
  const Json body = body_of(request);
  EXPECT_EQ(body["prompt"], Json::array({PROMPT + " split", PROMPT + " rows"}));
  EXPECT_EQ(body["echo"], true);
  EXPECT_EQ(body["logprobs"], 1);
  EXPECT_EQ(body["max_tokens"], 1);
  EXPECT_EQ(conversation.ledger().calls(), 1);
  EXPECT_EQ(conversation.ledger().tokens(), 102) << "as the server counts";
  EXPECT_EQ(conversation.transcript().turns.at(0).answer->model, "tiny-1");
}

TEST(Likelihood, LongPromptsGoInSeveralRequestsOfOneQuestion) {
  HttpServer server(echoing());
  Conversation conversation = asking("openai:tiny@" + server.url());
  const std::string prompt = std::string(60000, 'x') + ":";
  const auto numbers = log_probabilities(conversation, "policy", prompt, {" a", " bb", " split"});
  ASSERT_TRUE(numbers.ok()) << numbers.error().sentence();
  EXPECT_THAT(*numbers, ElementsAre(-2 * 0.015625, -3 * 0.015625, -6 * 0.125));
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(conversation.ledger().calls(), 1);
}

TEST(Likelihood, RepliesThatAreNoneAreASentence) {
  const Json good = echo_choice(0, PROMPT + " split");
  const auto choices = [](const std::vector<Json>& list) { return Json{{"choices", list}}.dump(); };
  Json unequal = good, second = good, silent = good, texts = good;
  unequal["logprobs"]["token_logprobs"].erase(0);
  second["index"] = 7;
  silent["logprobs"] = nullptr;
  texts["logprobs"]["token_logprobs"][2] = "-1";
  for (const std::string& reply : std::vector<std::string>{
           "", "{", "[]", "null", "{}", "<html>", choices({}), choices({good}), choices({good, good}),
           choices({good, unequal}), choices({good, second}), choices({silent, silent}),
           choices({texts, texts}), "{\"choices\": {\"0\": 1, \"1\": 2}}", "{\"choices\": [NaN, NaN]}"}) {
    HttpServer server(always(reply));
    Conversation conversation = asking("openai:tiny@" + server.url());
    const std::string refusal = refusal_of(conversation);
    EXPECT_THAT(refusal, HasSubstr("not of the protocol")) << reply;
    EXPECT_THAT(refusal, Not(HasSubstr("\n")));
    EXPECT_EQ(conversation.ledger().calls(), 1) << "a failed question counts";
  }
}

TEST(Likelihood, AServerThatDoesNotEchoIsSaid) {
  const Json only{{"index", 0}, {"logprobs", {{"tokens", {" rows"}}, {"token_logprobs", {-0.5}}}}};
  HttpServer server(always(Json{{"choices", {only}}}.dump()));
  Conversation conversation = asking("openai:tiny@" + server.url());
  EXPECT_THAT(refusal_of(conversation, 1), HasSubstr("does not echo"));
}

TEST(Likelihood, EndlessAndSlowServersAreLeft) {
  HttpServer endless([](std::size_t, const std::string&, const HttpServer::Send& send) {
    send("HTTP/1.1 200 OK\r\n\r\n");
    while (send(std::string(1 << 16, 'x'))) {
    }
  });
  Conversation first = asking("openai:tiny@" + endless.url());
  EXPECT_THAT(refusal_of(first), HasSubstr("longer than 8 MiB"));
  HttpServer* running = nullptr;
  HttpServer slow([&](std::size_t, const std::string&, const HttpServer::Send& send) {
    send("HTTP/1.1 200 OK\r\n\r\n{");
    while (running && !running->is_stopping())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  running = &slow;
  Conversation second = asking("openai:tiny@" + slow.url(), {}, {}, 0.5);
  EXPECT_THAT(refusal_of(second), HasSubstr("no whole answer came in time"));
}

TEST(Likelihood, OfACommand) {
  const TemporaryFolder folder = std::move(*TemporaryFolder::create("likelihood-test"));
  const std::string seen = (folder.path() / "seen.json").string();
  Conversation conversation =
      asking("command:cat > " + seen + "; echo '{\"log_probabilities\": [-0.5, -2.25]}'");
  const auto numbers = log_probabilities(conversation, "policy", PROMPT, {" split", " rows"});
  ASSERT_TRUE(numbers.ok()) << numbers.error().sentence();
  EXPECT_THAT(*numbers, ElementsAre(-0.5, -2.25));
  const Json asked = Json::parse(*read_file(seen));
  EXPECT_EQ(asked, (Json{{"prompt", PROMPT}, {"continuations", {" split", " rows"}}}));
}

TEST(Likelihood, CommandsThatSayOtherThingsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"echo I cannot help with that", "no JSON object"},
      {"echo '[-1, -2]'", "no JSON object"},
      {"echo '{\"log_probabilities\": 7}'", "no JSON object with a list"},
      {"echo '{\"log_probabilities\": [-1]}'", "there are 1 for 2"},
      {"echo '{\"log_probabilities\": [-1, -2, -3]}'", "there are 3 for 2"},
      {"echo '{\"log_probabilities\": [-1, null]}'", "number 2 is no finite number"},
      {"echo '{\"log_probabilities\": [-1, \"-2\"]}'", "number 2 is no finite number"},
      {"echo '{\"log_probabilities\": [NaN, -1]}'", "no JSON object"},
      {"echo '{\"log_probabilities\": [-Infinity, -1]}'", "no JSON object"},
      {"echo '{\"log_probabilities\": [-1e999, -1]}'", "no JSON object"},
      {"echo '{\"log_probabilities\": [-1, 0.5]}'", "number 2 is above 0"},
      {"true", "it is empty"},
      {"exit 3", "exit code 3"},
      {"head -c 5000000 /dev/zero | tr '\\0' 1", "longer than 1 MiB"}};
  for (const auto& [command, words] : bad) {
    Conversation conversation = asking("command:" + command);
    const std::string refusal = refusal_of(conversation);
    EXPECT_THAT(refusal, HasSubstr(words)) << command;
    EXPECT_THAT(refusal, Not(HasSubstr("\n")));
  }
  Conversation endless = asking("command:yes", {}, {}, 0.5);
  EXPECT_THAT(refusal_of(endless), HasSubstr("timed out"));
}

TEST(Likelihood, EveryContinuationsPromptCountsBeforeItIsAsked) {
  // 3000 bytes are taken for 1000 tokens, behind each of which stands a continuation.
  const std::string prompt(3000, 'x');
  const std::string command = "command:echo '{\"log_probabilities\": [-1, -1, -1, -1]}'";
  const std::vector<std::string> four(4, " a");
  Conversation tight = asking(command, {.tokens = 4000});
  const auto refused = log_probabilities(tight, "policy", prompt, four);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().sentence(), HasSubstr("the budget of tokens is used up"));
  EXPECT_EQ(tight.ledger().calls(), 0) << "it was not asked";
  Conversation enough = asking(command, {.tokens = 4100});
  EXPECT_TRUE(log_probabilities(enough, "policy", prompt, four).ok());
  EXPECT_FALSE(log_probabilities(enough, "policy", prompt, four).ok());
  Conversation once = asking(command, {.calls = 1});
  EXPECT_TRUE(log_probabilities(once, "policy", prompt, four).ok());
  EXPECT_THAT(log_probabilities(once, "policy", prompt, four).error().sentence(),
              HasSubstr("the budget of calls is used up"));
  Conversation poor = asking(command, {.money = 0.003, .price = Price{1, 1}});
  EXPECT_THAT(log_probabilities(poor, "policy", prompt, four).error().sentence(), HasSubstr("money"));
}

TEST(Likelihood, IsRecordedAndReplayed) {
  const TemporaryFolder folder = std::move(*TemporaryFolder::create("likelihood-test"));
  const auto file = folder.path() / "policy.json";
  Conversation recorded = asking("command:echo '{\"log_probabilities\": [-0.5, -2.25]}'", {}, file);
  ASSERT_TRUE(log_probabilities(recorded, "policy", PROMPT, {" split", " rows"}).ok());
  const auto transcript = Transcript::read(file);
  ASSERT_TRUE(transcript.ok()) << transcript.error().sentence();
  EXPECT_THAT(transcript->turns.at(0).request.continuations, ElementsAre(" split", " rows"));
  Conversation replayed = asking("replay:" + file.string());
  const auto again = log_probabilities(replayed, "policy", PROMPT, {" split", " rows"});
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  EXPECT_THAT(*again, ElementsAre(-0.5, -2.25));
  EXPECT_EQ(replayed.transcript().hash(), recorded.transcript().hash());
  EXPECT_FALSE(replayed.transcript().turns.at(0).answer->question_differs);
  Conversation other = asking("replay:" + file.string());
  ASSERT_TRUE(log_probabilities(other, "policy", PROMPT, {" split", " unroll"}).ok());
  EXPECT_TRUE(other.transcript().turns.at(0).answer->question_differs);
  Conversation more = asking("replay:" + file.string());
  EXPECT_THAT(refusal_of(more, 3), HasSubstr("there are 2 for 3"));
}

TEST(Likelihood, NamesThatAreNoSuchModelAreRefused) {
  for (const char* text :
       {"", "openai:", "openai:model", "openai:@http://h", "openai:m@ftp://h", "anthropic:m",
        "exchange:folder", "command:", "replay:/no/such/file", "weights.json"}) {
    const auto provider = make_likelihood_provider(text);
    ASSERT_FALSE(provider.ok()) << text;
    EXPECT_EQ(provider.error().failure, Failure::usage) << text;
  }
  EXPECT_FALSE(names_likelihood_provider("data/policy.json"));
  EXPECT_TRUE(names_likelihood_provider("openai:m@http://localhost:8000/v1"));
}

} // namespace
} // namespace lathe::refactor::llm
