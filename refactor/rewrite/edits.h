// Edits as data: applied together, or rejected when they overlap.
#pragma once

#include "refactor/rewrite/rewrite.h"

namespace lathe::refactor {

// Applies edits of one text. Two insertions at one place keep their order in the list; anything else that
// touches the same byte twice is an error, and so is an edit past the end.
Result<std::string> apply_edits(const std::string& text, std::vector<Edit> edits);

// The template arguments of an instance, split at top-level commas: "k<{T}, f<1, 2>>" has two.
struct InstanceName {
  std::string name;
  bool has_list = false;
  std::vector<std::string> arguments;
  std::string text() const;
};
InstanceName split_instance(const std::string& instance);

} // namespace lathe::refactor
