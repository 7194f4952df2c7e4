// A subject's buffers, where nobody gives their sizes.
#pragma once

#include "refactor/app/subject.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// The sizes of the problem with the fewest elements, which is cheap to trace; what is one there, and more in
// other problems, is a few: (n - 1) * stride + m does not show at one column that it follows the stride.
std::map<std::string, std::int64_t> smallest_with_few(const std::vector<Problem>& problems);

// Reads the sizes of the buffers that nobody gave off traced runs, with what looks like offsets of ranges
// rising where the raw kernel runs so. Where it does not run with what was taken for its switches and modes,
// or in a mode writes nothing, with others; then the subject's arguments and notes say so.
Status size_buffers(Subject& subject, const ParseOptions& options);

} // namespace lathe::refactor
