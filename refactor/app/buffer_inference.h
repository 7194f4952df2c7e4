// How many elements each pointer parameter needs, and which buffers are written: read off traced runs of the
// raw kernel on the host executor at a few sizes.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// Fills in `count` (where it is 0) and `direction` of every buffer of `raw`. The element count is guessed
// from runs in which sets of dimensions are doubled (extent_guess.h), and said in `notes` to be a guess.
// Fails, naming what helps, where the raw kernel does not run. `base`: sizes that the kernel supports;
// smaller ones are tried before them. `architecture`: whose device limits a launch may ask for.
// `writes_nothing`, where given, says whether no run wrote to any buffer.
Status infer_buffers(Candidate& raw, const std::map<std::string, std::int64_t>& base,
                     const std::vector<std::string>& fixed_directions, const std::string& architecture,
                     std::vector<std::string>& notes, bool* writes_nothing = nullptr);

} // namespace lathe::refactor
