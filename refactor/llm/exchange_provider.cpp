// A folder: the prompt is written as a file, the answer awaited as a file. For machines without a network and
// for people. A run that is repeated finds the answers that are there already, because a question's id
// depends on its words alone.
#include "refactor/llm/answer_text.h"
#include "refactor/llm/providers.h"
#include "refactor/llm/tokens.h"
#include "tuner/base/files.h"

#include <chrono>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>

namespace lathe::refactor::llm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t FRAME_BYTES = 4096; // of the lines around an answer

// The first line of `text`, which is taken off it.
std::string take_line(std::string& text) {
  const std::size_t end = text.find('\n');
  std::string line = text.substr(0, end);
  text.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

class ExchangeProvider : public Provider {
public:
  ExchangeProvider(fs::path folder, const ProviderOptions& options)
      : folder_(std::move(folder)), options_(options) {}

  std::string name() const override { return "exchange:" + folder_.string(); }

  Result<Answer> ask(const Request& request) override {
    const Clock::time_point start = Clock::now();
    const std::string id = request.id();
    const fs::path question = folder_ / (id + ".prompt.md"), file = folder_ / (id + ".answer.md");
    LATHE_CHECK(write_file(question, prompt_text(request, id, file)));
    const auto limit = std::chrono::duration<double>(options_.timeout_s);
    for (;;) {
      std::string missing;
      LATHE_TRY(std::optional<Answer> answer, look(request, id, file, missing));
      if (answer) {
        answer->seconds = std::chrono::duration<double>(Clock::now() - start).count();
        return std::move(*answer);
      }
      if (Clock::now() - start >= limit)
        return Error{"no answer in " + file.string(),
                     fmt::format("{} after {:.0f} s; the question is {}", missing, options_.timeout_s,
                                 question.string()),
                     "answer it and give the same command again"};
      std::this_thread::sleep_for(std::chrono::duration<double>(options_.poll_interval_s));
    }
  }

private:
  static std::string prompt_text(const Request& request, const std::string& id, const fs::path& file) {
    return fmt::format(
        "A question to a language model or a person (role: {}).\n"
        "Write the answer to {}: first to another name in the same folder, then rename it.\n"
        "The file's first line is exactly\n"
        "Request: {}\n"
        "its second line names who answers, such as\n"
        "Model: NAME-OF-THE-MODEL\n"
        "and its last line is exactly\n"
        "End: {}\n"
        "The answer stands between them. Nothing else is read, and an answer with another id is refused.\n\n"
        "======== standing orders ========\n\n{}\n\n"
        "======== question ========\n\n{}\n",
        request.role, fs::absolute(file).string(), id, id, request.system, request.user);
  }

  // Nothing while there is no whole answer: `missing` says what there is instead.
  Result<std::optional<Answer>> look(const Request& request, const std::string& id, const fs::path& file,
                                     std::string& missing) const {
    const std::string what = "the answer in " + file.string() + " is refused";
    struct stat status{};
    if (::lstat(file.c_str(), &status) != 0) {
      missing = "there is none";
      return std::optional<Answer>();
    }
    if (!S_ISREG(status.st_mode))
      return Error{what, "it is no plain file", ""};
    if (static_cast<std::size_t>(status.st_size) > ANSWER_LIMIT + FRAME_BYTES)
      return Error{what, "it is longer than 1 MiB", ""};
    LATHE_TRY(std::string text, read_file(file));
    std::erase(text, '\r');
    text.erase(text.find_last_not_of(" \t\n") + 1);
    const bool has_first_line = text.find('\n') != std::string::npos;
    const std::size_t last = text.rfind('\n');
    const bool is_whole = has_first_line && text.substr(last + 1) == "End: " + id;
    const std::string first = text.substr(0, text.find('\n'));
    if (has_first_line && first != "Request: " + id)
      return Error{what, "its first line is not 'Request: " + id + "' but '" + excerpt(first, 60) + "'",
                   "remove it, or let it begin so"};
    if (!is_whole) {
      missing = "its last line is not 'End: " + id + "' yet";
      return std::optional<Answer>();
    }
    text.erase(last + 1);
    take_line(text);
    Answer answer;
    answer.model = "unknown";
    if (text.starts_with("Model: "))
      answer.model = excerpt(take_line(text).substr(7), 100);
    LATHE_TRY(answer.text, accepted_text(std::move(text), name()));
    answer.input_tokens = estimated_tokens(request);
    answer.output_tokens = estimated_tokens(answer.text);
    answer.tokens_estimated = true;
    return std::optional<Answer>(std::move(answer));
  }

  fs::path folder_;
  ProviderOptions options_;
};

} // namespace

std::unique_ptr<Provider> make_exchange_provider(std::filesystem::path folder,
                                                 const ProviderOptions& options) {
  return std::make_unique<ExchangeProvider>(std::move(folder), options);
}

} // namespace lathe::refactor::llm
