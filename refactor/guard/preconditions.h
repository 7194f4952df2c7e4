// Copies of the raw text with stated preconditions: what its own launch makes true, told to the compiler.
#pragma once

#include "refactor/guard/subject.h"

#include <string>
#include <vector>

namespace lathe::refactor {

struct RawVariant {
  std::string text;
  std::vector<std::string> preconditions; // as put into the text; empty for the text as it is
};

// The raw text as it is first, then with preconditions that hold for every launch of this default
// configuration: the block's dimensions, the template's launch bounds where the raw kernel has none, and
// both. Statements given in the options that do not follow from the launch are not used and are named in
// `refused`.
std::vector<RawVariant> raw_variants(const JudgedPair& subject, const Configuration& configuration,
                                     std::vector<std::string>& refused);

} // namespace lathe::refactor
