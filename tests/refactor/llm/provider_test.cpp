// Commands, exchange folders, budgets and transcripts.
#include "refactor/llm/llm.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <thread>

namespace lathe::refactor::llm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

Request question(const std::string& user = "words") {
  return {"author", "orders", user, 0, 4000};
}

Result<Answer> ask(const std::string& provider, ProviderOptions options = {.timeout_s = 20}) {
  options.poll_interval_s = 0.01;
  auto made = make_provider(provider, options);
  return made.ok() ? (*made)->ask(question()) : Result<Answer>(made.error());
}

std::string why(const Result<Answer>& answer) {
  return answer.ok() ? "(it answered)" : answer.error().why;
}

TEST(Command, GetsThePromptAndAnswers) {
  const auto answer = ask("command:cat; echo \"as $LATHE_MODEL_ROLE\"");
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(answer->text, "orders\n\nwords\nas author\n");
  EXPECT_TRUE(answer->tokens_estimated);
}

TEST(Command, MayLeaveThePromptUnread) {
  EXPECT_TRUE(ask("command:exec <&-; echo hello").ok());
}

TEST(Command, IsEndedAtTheTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(why(ask("command:sleep 60", {.timeout_s = 0.3})), HasSubstr("timed out"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Command, FailureIsNoAnswer) {
  const auto answer = ask("command:echo hello; echo 'no licence' >&2; exit 3");
  EXPECT_THAT(why(answer), HasSubstr("exit code 3: no licence"));
}

TEST(Command, LongAnswersAreRefused) {
  EXPECT_THAT(why(ask("command:head -c 5000000 /dev/zero | tr '\\0' x")), HasSubstr("longer than 1 MiB"));
}

TEST(Command, EndlessAnswersAreEnded) {
  EXPECT_THAT(why(ask("command:yes", {.timeout_s = 0.5})), HasSubstr("timed out"));
}

TEST(Command, EmptyAndBinaryAnswersAreRefused) {
  EXPECT_THAT(why(ask("command:true")), HasSubstr("it is empty"));
  EXPECT_THAT(why(ask("command:printf 'a\\377b'")), HasSubstr("no UTF-8"));
  EXPECT_THAT(why(ask("command:printf 'a\\033[2Jb'")), HasSubstr("control characters"));
}

class Exchange : public testing::Test {
protected:
  Exchange() : folder_(std::move(*TemporaryFolder::create("exchange-test"))) {}
  fs::path answer_file() const { return folder_.path() / (question().id() + ".answer.md"); }
  fs::path prompt_file() const { return folder_.path() / (question().id() + ".prompt.md"); }
  std::string provider() const { return "exchange:" + folder_.path().string(); }
  static std::string framed(const std::string& text) {
    return "Request: " + question().id() + "\nModel: tiny\n" + text + "End: " + question().id() + "\n";
  }
  void put(const std::string& content) const { std::ofstream(answer_file()) << content; }
  TemporaryFolder folder_;
};

TEST_F(Exchange, WritesTheQuestionAndTakesTheAnswer) {
  std::thread person([&] {
    while (!fs::exists(prompt_file()))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(write_file(answer_file(), framed("hello\n")).ok());
  });
  const auto answer = ask(provider());
  person.join();
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(answer->text, "hello\n");
  EXPECT_EQ(answer->model, "tiny");
  const std::string prompt = *read_file(prompt_file());
  for (const std::string& part :
       std::vector<std::string>{"orders", "words", question().id(), answer_file().string()})
    EXPECT_THAT(prompt, HasSubstr(part));
}

TEST_F(Exchange, WaitsForTheRestOfAHalfWrittenAnswer) {
  put("Request: " + question().id() + "\nModel: tiny\nhel");
  EXPECT_THAT(why(ask(provider(), {.timeout_s = 0.1})), HasSubstr("its last line is not"));
  std::thread person([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    put(framed("hello\n"));
  });
  const auto answer = ask(provider());
  person.join();
  ASSERT_TRUE(answer.ok()) << answer.error().sentence();
  EXPECT_EQ(answer->text, "hello\n");
}

TEST_F(Exchange, AFirstLineOfWhichHalfIsThereIsNotForeign) {
  put("Requ");
  EXPECT_THAT(why(ask(provider(), {.timeout_s = 0.1})), HasSubstr("its last line is not"));
}

TEST_F(Exchange, NoAnswerInTime) {
  const auto answer = ask(provider(), {.timeout_s = 0.1});
  EXPECT_THAT(why(answer), HasSubstr("there is none after"));
  EXPECT_THAT(why(answer), HasSubstr(prompt_file().string()));
}

TEST_F(Exchange, ForeignAnswersAreRefused) {
  std::string other = framed("hello\n");
  other.replace(other.find("Request: ") + 9, 16, "0123456789abcdef");
  put(other);
  EXPECT_THAT(why(ask(provider())), HasSubstr("its first line is not"));
  put("hello\nEnd: " + question().id() + "\n");
  EXPECT_THAT(why(ask(provider())), HasSubstr("its first line is not"));
}

TEST_F(Exchange, WhatIsNoPlainFileIsRefused) {
  const fs::path elsewhere = folder_.path() / "elsewhere";
  ASSERT_TRUE(write_file(elsewhere, framed("hello\n")).ok());
  fs::create_symlink(elsewhere, answer_file());
  EXPECT_THAT(why(ask(provider())), HasSubstr("no plain file"));
}

TEST_F(Exchange, LongAnswersAreRefused) {
  put(framed(std::string(ANSWER_LIMIT + 10000, 'x') + "\n"));
  EXPECT_THAT(why(ask(provider())), HasSubstr("longer than 1 MiB"));
}

TEST_F(Exchange, EmptyAnswersAreRefused) {
  put(framed("\n"));
  EXPECT_THAT(why(ask(provider())), HasSubstr("it is empty"));
}

TEST(Ledger, CountsCalls) {
  Ledger ledger({.calls = 2});
  EXPECT_TRUE(ledger.admit(question()).ok());
  ledger.charge({});
  ledger.charge_failure(question());
  const auto third = ledger.admit(question());
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().why, HasSubstr("the budget of calls is used up (2 calls"));
}

TEST(Ledger, ShortensTheAnswerToTheTokensLeft) {
  Ledger ledger({.tokens = 3000});
  const auto admitted = ledger.admit(question());
  ASSERT_TRUE(admitted.ok());
  EXPECT_LT(admitted->max_output_tokens, 3000);
  EXPECT_GT(admitted->max_output_tokens, 2900);
  ledger.charge({.text = "", .input_tokens = 1000, .output_tokens = 1500});
  EXPECT_THAT(ledger.admit(question()).error().why, HasSubstr("tokens is used up"));
}

TEST(Ledger, RefusesAPromptThatDoesNotFit) {
  const Ledger ledger({.tokens = 3000});
  EXPECT_FALSE(ledger.admit(question(std::string(30000, 'x'))).ok());
}

TEST(Ledger, CountsMoney) {
  Ledger ledger({.money = 0.1, .price = Price{3, 15}}); // 0.06 for 4000 tokens of answer
  ASSERT_TRUE(ledger.admit(question()).ok());
  EXPECT_EQ(ledger.admit(question())->max_output_tokens, 4000);
  ledger.charge({.text = "", .input_tokens = 1000, .output_tokens = 4000});
  EXPECT_DOUBLE_EQ(ledger.money(), 0.063);
  const auto second = ledger.admit(question());
  ASSERT_TRUE(second.ok());
  EXPECT_LT(second->max_output_tokens, 2500);
  ledger.charge({.text = "", .input_tokens = 5, .output_tokens = second->max_output_tokens});
  EXPECT_THAT(ledger.admit(question()).error().why, HasSubstr("money is used up"));
  EXPECT_LE(ledger.money(), 0.1);
}

TEST(Ledger, MoneyNeedsAPrice) {
  EXPECT_EQ(Ledger({.money = 1}).admit(question()).error().failure, Failure::usage);
}

TEST(Conversation, KeepsEveryTurnAtOnce) {
  const TemporaryFolder folder = std::move(*TemporaryFolder::create("transcript-test"));
  const fs::path file = folder.path() / "deep" / "transcript.json";
  Conversation conversation(std::move(*make_provider("command:cat")), {.calls = 2}, file);
  ASSERT_TRUE(conversation.ask(question("one")).ok());
  EXPECT_EQ(Transcript::read(file)->turns.size(), 1u);
  ASSERT_TRUE(conversation.ask(question("two")).ok());
  EXPECT_FALSE(conversation.ask(question("three")).ok());
  const auto transcript = Transcript::read(file);
  ASSERT_TRUE(transcript.ok()) << transcript.error().sentence();
  ASSERT_EQ(transcript->turns.size(), 2u);
  EXPECT_EQ(transcript->turns[1].answer->text, "orders\n\ntwo\n");
  EXPECT_EQ(transcript->hash(), conversation.transcript().hash());
}

TEST(Conversation, FailuresAreTurnsToo) {
  Conversation conversation(std::move(*make_provider("command:exit 7")), {});
  EXPECT_FALSE(conversation.ask(question()).ok());
  EXPECT_THAT(conversation.transcript().turns.at(0).error, HasSubstr("exit code 7"));
  EXPECT_EQ(conversation.ledger().calls(), 1);
}

TEST(Replay, GivesTheAnswersInOrderAndTheSameHash) {
  const TemporaryFolder folder = std::move(*TemporaryFolder::create("transcript-test"));
  const fs::path file = folder.path() / "transcript.json";
  Conversation recorded(std::move(*make_provider("command:cat")), {}, file);
  ASSERT_TRUE(recorded.ask(question("one")).ok());
  ASSERT_TRUE(recorded.ask(question("two")).ok());
  Conversation replayed(std::move(*make_provider("replay:" + file.string())), {});
  const auto first = replayed.ask(question("one"));
  ASSERT_TRUE(first.ok()) << first.error().sentence();
  EXPECT_FALSE(first->question_differs);
  EXPECT_TRUE(replayed.ask(question("two")).ok());
  EXPECT_EQ(replayed.transcript().hash(), recorded.transcript().hash());
  EXPECT_THAT(why(replayed.ask(question("three"))), HasSubstr("question 3 was asked and it holds 2"));
}

TEST(Replay, SaysWhereTheQuestionDiffersAndRefusesAnotherRole) {
  const TemporaryFolder folder = std::move(*TemporaryFolder::create("transcript-test"));
  const fs::path file = folder.path() / "transcript.json";
  Conversation recorded(std::move(*make_provider("command:cat")), {}, file);
  ASSERT_TRUE(recorded.ask(question("one")).ok());
  auto provider = std::move(*make_provider("replay:" + file.string()));
  Request other_role = question("one");
  other_role.role = "plan";
  EXPECT_THAT(why(provider->ask(other_role)), HasSubstr("went to the role 'author'"));
  const auto answer = provider->ask(question("other words"));
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->question_differs);
}

TEST(Replay, RefusesWhatIsNoTranscript) {
  const TemporaryFolder folder = std::move(*TemporaryFolder::create("transcript-test"));
  const fs::path file = folder.path() / "transcript.json";
  for (
      const char* text :
      {"", "{", "[]", "{}", R"({"Format": "other-1"})", R"({"Format": "lathe-transcript-1", "Turns": []})",
       R"({"Format": "lathe-transcript-1", "Provider": "x", "Context": {"Seed": 7}, "Turns": []})",
       R"({"Format": "lathe-transcript-1", "Provider": "x", "Context": {}, "Turns": [{"Role": "author"}]})"}) {
    ASSERT_TRUE(write_file(file, text).ok());
    EXPECT_FALSE(make_provider("replay:" + file.string()).ok()) << text;
  }
}

TEST(Request, TheIdIsOfTheWords) {
  Request same = question();
  same.temperature = 1;
  EXPECT_EQ(question().id(), same.id());
  EXPECT_NE(question("a").id(), question("b").id());
  EXPECT_EQ(question("\xff\xfe").id().size(), 16u); // no UTF-8
}

} // namespace
} // namespace lathe::refactor::llm
