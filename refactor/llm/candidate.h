// From what a model handed in to a candidate that the guard can judge.
#pragma once

#include "refactor/llm/answer_form.h"
#include "refactor/rewrite/rewrite.h"

namespace lathe::refactor::llm {

// Screens the text, parses it in a process of its own, and binds its template parameters: those of the raw
// kernel keep their arguments, every other one is a knob. Whatever the model may not say is copied from
// `raw`. An error is a refusal; its `why` is a sentence that the model can act on.
Result<Candidate> make_candidate(const Submission& submission, const Candidate& raw,
                                 const std::string& architecture);

} // namespace lathe::refactor::llm
