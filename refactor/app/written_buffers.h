// Buffers that a kernel's text writes to.
#pragma once

#include "refactor/frontend/frontend.h"
#include "refactor/rewrite/rewrite.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Traced runs write only what their data make them write. Inputs of `raw` that the text stores to, or hands
// on by an address that is not constant, become inputs and outputs, but for `fixed`; a note says which. None
// where the text cannot be read.
void mark_written(Candidate& raw, const std::vector<std::string>& fixed, const ParseOptions& options,
                  std::vector<std::string>& notes);

} // namespace lathe::refactor
