// Language models behind one interface: who is asked, within which budget, and a record of every word.
//
// Whatever a model answers is text to be judged; nothing in this library decides that a template is right or
// fast. docs/model.md is the user's page.
#pragma once

#include "tuner/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor::llm {

// One question. Self-contained: no state is kept between questions.
struct Request {
  std::string role;   // who is asked: "author", "plan", "code", "debug", ...; letters, digits, '-' and '_'
  std::string system; // standing orders
  std::string user;   // the question
  double temperature = 0;
  std::int64_t max_output_tokens = 16384;
  // Not empty: nothing is to be written, but to be said how likely each of these is behind `user`
  // (likelihood.h).
  std::vector<std::string> continuations = {};

  // 16 hexadecimal digits over the role and the words: the same question has the same id in every run.
  std::string id() const;
};

struct Answer {
  std::string text;
  std::int64_t input_tokens = 0, output_tokens = 0;
  bool tokens_estimated = false; // the provider does not count: three bytes are taken for one token
  double seconds = 0;            // wall clock, repeats after transient failures included
  std::string model = {};        // as the provider names it; "unknown" where it does not
  // Of a replayed answer: it was recorded for a question with other words.
  bool question_differs = false;
};

// Longest answer that is read, in bytes; a longer one is an error, never a cut text.
inline constexpr std::size_t ANSWER_LIMIT = 1u << 20;

class Provider {
public:
  virtual ~Provider() = default;
  // "openai:MODEL@URL", "exchange:FOLDER", ...; never holds a key.
  virtual std::string name() const = 0;
  // Waits for the answer, at most ProviderOptions::timeout_s. Fails on a time-out, a refusal, a failure that
  // stays after the repeats, an answer that was cut, is too long, is empty or is no UTF-8 text.
  virtual Result<Answer> ask(const Request& request) = 0;
};

struct ProviderOptions {
  double timeout_s = 600; // of one question with its repeats
  int retries = 3; // repeats of a question after a transient failure (HTTP 408, 429, 5xx, no connection)
  double retry_pause_s = 1;   // before the first repeat; doubled each time; a server's Retry-After wins
  double poll_interval_s = 1; // how often an exchange folder is looked at
};

// `text` is one of
//   openai:MODEL@URL       chat completions below URL (such as http://localhost:8000/v1); key: OPENAI_API_KEY
//   anthropic:MODEL[@URL]  messages; key: ANTHROPIC_API_KEY
//   command:COMMAND        run by /bin/sh: the prompt on standard input, the answer on standard output
//   exchange:FOLDER        the prompt is written as a file there, the answer awaited as a file
//   replay:FILE            the answers of a transcript, in order
// Keys are read from the environment when a question is asked; over plain HTTP they go to this machine only.
// Fails, as a usage error, where the text is none of them or names a transcript that cannot be read.
Result<std::unique_ptr<Provider>> make_provider(std::string_view text, const ProviderOptions& options = {});

// Money in the currency of the prices.
struct Price {
  double input = 0, output = 0; // for a million tokens
};

// What may be spent; nothing: no limit. Money needs a price.
struct Budget {
  std::optional<std::int64_t> calls = {}, tokens = {}; // tokens: input and output together
  std::optional<double> money = {};
  std::optional<Price> price = {};
};

// What was spent. A question is refused before it is asked when its prompt and the longest answer that it
// allows would not fit into what is left.
class Ledger {
public:
  explicit Ledger(Budget budget = {}) : budget_(budget) {}

  // Fails where the budget does not allow the request. A request whose prompt fits but whose longest answer
  // does not comes back with a smaller `max_output_tokens`, at least FEWEST_OUTPUT_TOKENS or what it asked.
  Result<Request> admit(Request request) const;
  void charge(const Answer& answer);
  // A question without an answer: a call, with its prompt's estimated tokens.
  void charge_failure(const Request& request);

  static constexpr std::int64_t FEWEST_OUTPUT_TOKENS = 1024;
  std::int64_t calls() const { return calls_; }
  std::int64_t tokens() const { return input_tokens_ + output_tokens_; }
  double money() const; // 0 without a price
  // "3 calls, 41200 tokens"
  std::string summary() const;

private:
  Budget budget_;
  std::int64_t calls_ = 0, input_tokens_ = 0, output_tokens_ = 0;
};

// Every question with its answer or error, in order.
struct Turn {
  Request request;
  std::optional<Answer> answer;
  std::string error; // where there is no answer
};

class Transcript {
public:
  std::string provider;
  // What a replay needs besides the answers, such as the guard's seed; never shown to a model.
  std::map<std::string, std::string> context;
  std::vector<Turn> turns;

  nlohmann::ordered_json to_json() const;
  // Errors name the file and the field.
  static Result<Transcript> read(const std::filesystem::path& path);
  Status write(const std::filesystem::path& path) const;
  // Of the questions' and answers' words and of who answered, not of times, counts or the context: a replay
  // has the hash of what it replays.
  std::string hash() const;
};

// Asks a provider within a budget and records. With `keep_at`, the transcript is written there after every
// turn, so that nothing paid for is lost.
class Conversation {
public:
  Conversation(std::unique_ptr<Provider> provider, Budget budget, std::filesystem::path keep_at = {});
  Result<Answer> ask(const Request& request);

  const Ledger& ledger() const { return ledger_; }
  Transcript& transcript() { return transcript_; }
  const Transcript& transcript() const { return transcript_; }
  const Provider& provider() const { return *provider_; }

private:
  std::unique_ptr<Provider> provider_;
  Ledger ledger_;
  Transcript transcript_;
  std::filesystem::path keep_at_;
};

} // namespace lathe::refactor::llm
