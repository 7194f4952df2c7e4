#include "refactor/llm/author.h"

#include "refactor/llm/answer_text.h"
#include "refactor/llm/candidate.h"
#include "refactor/llm/prompt.h"

#include <fmt/format.h>

namespace lathe::refactor::llm {
namespace {

constexpr std::size_t MOST_COMPLAINTS = 6; // of one check
constexpr std::size_t COMPLAINT_LIMIT = 700;

std::string first_line(const std::string& text) {
  return excerpt(text.substr(0, text.find('\n')), 300);
}

bool runs_no_variant(const Certificate& certificate) {
  for (const CheckResult& check : certificate.checks)
    if (check.check == "well-formed")
      for (const std::string& line : check.evidence)
        if (line.starts_with("compiled: "))
          return false;
  return true;
}

class Author {
public:
  Author(const AuthorTask& task, const Examine& examine) : task_(task), examine_(examine) {}

  // Nothing when the answer was accepted; else what is wrong with it.
  std::string judge(const std::string& answer) {
    const auto submission = parse_submission(answer);
    if (!submission.ok())
      return "form: " + submission.error().why;
    auto candidate = make_candidate(*submission, task_.raw, task_.architecture);
    if (!candidate.ok())
      return "screening: " + candidate.error().why;
    auto certificate = examine_(*candidate);
    if (!certificate.ok())
      return "judging: " + certificate.error().sentence();
    if (!certificate->accepted())
      return complaints_of(*certificate);
    if (runs_no_variant(*certificate))
      return "knobs: the conditions admit no configuration but the default at any size that was looked at";
    authored.candidate = std::move(*candidate);
    authored.certificate = std::move(*certificate);
    return {};
  }

  Authored authored;

private:
  const AuthorTask& task_;
  const Examine& examine_;
};

} // namespace

std::string complaints_of(const Certificate& certificate) {
  std::string text;
  for (const CheckResult& check : certificate.checks) {
    if (check.verdict != Verdict::failed && check.verdict != Verdict::undecided)
      continue;
    std::size_t shown = 0;
    std::string lines;
    for (const std::string& line : check.evidence) {
      const bool is_fault = line.starts_with("failed: ") || line.starts_with("undecided: ");
      if (is_fault && shown++ < MOST_COMPLAINTS)
        lines +=
            fmt::format("{}: {}\n", check.check, excerpt(line.substr(line.find(' ') + 1), COMPLAINT_LIMIT));
    }
    if (shown > MOST_COMPLAINTS)
      lines += fmt::format("{}: and {} more of the kind\n", check.check, shown - MOST_COMPLAINTS);
    text +=
        lines.empty() ? fmt::format("{}: {}\n", check.check, excerpt(check.detail, COMPLAINT_LIMIT)) : lines;
  }
  return text.empty() ? "the checks were not all made\n" : text;
}

Result<Authored> author_template(Conversation& conversation, const AuthorTask& task, const Examine& examine,
                                 const std::function<void(const std::string&)>& progress) {
  Author author(task, examine);
  std::optional<Refused> last;
  for (int round = 1; round <= task.rounds; ++round) {
    const Request request{"author", author_orders(), author_question(task, round, last ? &*last : nullptr),
                          task.temperature, task.max_output_tokens};
    const auto answer = conversation.ask(request);
    if (!answer.ok()) {
      Error error = answer.error();
      if (last)
        error.why += "; the answer before was refused (" + first_line(last->complaints) + ")";
      return error;
    }
    if (answer->question_differs)
      author.authored.notes.push_back(
          fmt::format("answer {} of the transcript was recorded for a question with other words", round));
    std::string complaints = author.judge(answer->text);
    const std::string outcome = complaints.empty() ? "accepted" : "refused: " + first_line(complaints);
    author.authored.rounds.push_back({outcome});
    if (progress)
      progress(fmt::format("answer {} of {} ({}): {}", round, task.rounds, answer->model, outcome));
    if (complaints.empty()) {
      author.authored.model = answer->model;
      return std::move(author.authored);
    }
    last = Refused{answer->text, std::move(complaints)};
  }
  return Error{"no template of the model's is accepted",
               fmt::format("after {} answer{} the last complaint is: {}", task.rounds,
                           task.rounds == 1 ? "" : "s",
                           first_line(last ? last->complaints : "none was asked for")),
               "allow more with --model-rounds, or leave the model out: the rules are tried then"};
}

} // namespace lathe::refactor::llm
