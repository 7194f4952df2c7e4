// A language model as one more author of templates: asked, answered, judged, and told what is wrong, a
// limited number of times. It proposes; the guard decides.
#pragma once

#include "refactor/guard/guard.h"
#include "refactor/llm/llm.h"
#include "refactor/rewrite/rewrite.h"

#include <functional>
#include <string>
#include <vector>

namespace lathe::refactor::llm {

struct AuthorTask {
  Candidate raw;                   // what is to be rewritten, with everything that a model may not change
  std::vector<Knob> found;         // knobs that the rules expose in it
  std::vector<RuleReport> reports; // what each rule did, or why not
  std::vector<Problem> problems;   // sizes that it is tuned for
  std::string architecture = "sm_90";
  int rounds = 4; // answers that are judged at most
  double temperature = 0.2;
  std::int64_t max_output_tokens = 16384;
};

struct Round {
  std::string outcome; // "accepted", or one line: which check refused, and why
};

struct Authored {
  Candidate candidate;     // that was accepted
  Certificate certificate; // as `examine` gave it
  std::string model;       // who wrote it, by its own provider's word
  std::vector<Round> rounds;
  std::vector<std::string> notes;
};

// Writes the candidate where the guard reads it, and judges it. An Error means that there is no verdict: it
// counts as a refusal and its words go to the model.
using Examine = std::function<Result<Certificate>(const Candidate& candidate)>;

// Fails where the provider gives no answer, the budget is used up, or no answer was accepted in time; `why`
// then says what the last one was refused for. `progress` is told each round's outcome as soon as it is
// known.
Result<Authored> author_template(Conversation& conversation, const AuthorTask& task, const Examine& examine,
                                 const std::function<void(const std::string&)>& progress);

// What a refused certificate says to an author: check by check, without seeds and tolerances.
std::string complaints_of(const Certificate& certificate);

} // namespace lathe::refactor::llm
