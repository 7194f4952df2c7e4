// The form in which a model hands in a template: two fenced blocks. Everything that is not of the form is
// refused.
#pragma once

#include "tuner/base/result.h"
#include "tuner/spec/spec.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor::llm {

// What a model may say about a template. Arguments, sizes, reference, tolerance and cost are not among it:
// those stay as Lathe read them from the raw kernel.
struct Submission {
  struct KnobText {
    std::string name, default_text, why;
    KnobKind kind = KnobKind::flag;
    std::vector<std::int64_t> values;
  };
  struct ConditionText {
    std::string expression, why;
  };
  std::string text; // the template
  std::vector<KnobText> knobs;
  std::vector<ConditionText> conditions;
  // Nothing: as the raw kernel's launch.
  std::optional<std::array<std::string, 3>> grid, block;
  std::optional<std::string> shared_bytes;
};

// Exactly one block fenced by ```cuda and ``` and one by ```json and ```, in that order; words around them
// are not read. Errors' `why` is a sentence that the model can act on.
Result<Submission> parse_submission(std::string_view answer);

// How the form is explained to the model.
std::string_view form_explanation();

} // namespace lathe::refactor::llm
