// #include directives within text that is kept.
#pragma once

#include "refactor/extract/source_text.h"

#include <clang/AST/Decl.h>

#include <string>
#include <vector>

namespace lathe::refactor {

// Text that stands in the place of another.
struct Replacement {
  TextSpan span;
  std::string text;
};

// Directives that include the user's own files. What is reached of a file's declarations has a place of its
// own; statements in a function's body are written where they are included.
std::vector<Replacement> inclusions_within(ParsedSourceImpl& source,
                                           const std::vector<const clang::Decl*>& units);

} // namespace lathe::refactor
