// How many elements each pointer parameter needs, and which buffers are written: read off traced runs of the
// raw kernel on the host executor at a few sizes.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// Fills in `count` (where it is 0) and `direction` of every buffer of `raw`. The element count is fitted as
// constant * product of dimensions through runs in which one dimension at a time is doubled; it holds for the
// sizes that were run and is said to be so in `notes`. Fails, naming the --argument that helps, where no such
// product fits or the raw kernel does not run. `base` gives the dimensions of the first run: small sizes that
// the kernel supports.
Status infer_buffers(Candidate& raw, const std::map<std::string, std::int64_t>& base,
                     const std::vector<std::string>& fixed_directions, std::vector<std::string>& notes);

} // namespace lathe::refactor
