// `lathe templatize --model`: the conversation with a model, and the judgement of what it writes.
#pragma once

#include "refactor/app/model_options.h"
#include "refactor/app/spec_assembly.h"
#include "refactor/guard/guard.h"
#include "refactor/llm/author.h"

#include <functional>

namespace lathe::refactor {

// The specification of a candidate whose files lie at `paths`; nothing is written.
using Assemble = std::function<Result<TuningSpec>(const Candidate& tuned, const OutputPaths& paths)>;

struct ModelWork {
  std::string name; // of the template
  llm::AuthorTask task;
  GuardOptions guard; // its seed 0: the transcript's for a replay, else drawn
  std::filesystem::path transcript_default;
  std::string source_hash;
};

struct ModelResult {
  Candidate candidate;
  Certificate certificate; // accepted, and names its author
  std::vector<std::string> notes;
};

// Judges in a process of its own: a compiler or a kernel that hangs or crashes costs the candidate, not the
// command.
Result<Certificate> judge_apart(const TuningSpec& spec, const GuardOptions& guard);

// Every candidate is judged in a folder of its own, by a process of its own: a refused one leaves nothing
// behind but the transcript.
Result<ModelResult> templatize_by_model(const ModelOptions& options, ModelWork work,
                                        const Assemble& assemble);

} // namespace lathe::refactor
