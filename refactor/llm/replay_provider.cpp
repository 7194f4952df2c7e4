// The answers of a transcript, in order. What was an error then is an error now.
#include "refactor/llm/answer_text.h"
#include "refactor/llm/providers.h"

namespace lathe::refactor::llm {
namespace {

class ReplayProvider : public Provider {
public:
  ReplayProvider(std::filesystem::path file, Transcript transcript)
      : file_(std::move(file)), transcript_(std::move(transcript)) {}

  std::string name() const override { return "replay:" + file_.string(); }

  Result<Answer> ask(const Request& request) override {
    const std::string what = "no answer from " + name();
    if (next_ == transcript_.turns.size())
      return Error{what,
                   "question " + std::to_string(next_ + 1) + " was asked and it holds " +
                       std::to_string(transcript_.turns.size()),
                   ""};
    const Turn& turn = transcript_.turns[next_];
    if (turn.request.role != request.role)
      return Error{what,
                   "its question " + std::to_string(next_ + 1) + " went to the role '" + turn.request.role +
                       "', not to '" + request.role + "'",
                   "replay it with the command that recorded it"};
    ++next_;
    if (!turn.answer)
      return Error{what, "the recorded question failed: " + turn.error, ""};
    Answer answer = *turn.answer;
    LATHE_TRY(answer.text, accepted_text(std::move(answer.text), name()));
    answer.question_differs = turn.request.id() != request.id();
    return answer;
  }

private:
  std::filesystem::path file_;
  Transcript transcript_;
  std::size_t next_ = 0;
};

} // namespace

Result<std::unique_ptr<Provider>> make_replay_provider(const std::filesystem::path& file) {
  auto transcript = Transcript::read(file);
  if (!transcript.ok()) {
    Error error = transcript.error();
    error.failure = Failure::usage;
    return error;
  }
  return std::unique_ptr<Provider>(std::make_unique<ReplayProvider>(file, std::move(*transcript)));
}

} // namespace lathe::refactor::llm
