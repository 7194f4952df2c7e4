// Guessed sizes that go together: where the raw kernel reaches in front of its buffers, does not run or
// writes nothing, some size has to be a multiple of another, their product, or one of few.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// `problems` are guesses. Where a traced run is clean and writes at any of the small sizes that they are
// traced at, nothing changes. Otherwise one or two sizes are changed until one is, and the problems become
// that one and what it is enlarged to, as far as these are clean; `notes` says so. Without such sizes, too,
// nothing changes. `architecture`: whose device limits a launch may ask for.
void relate_sizes(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                  std::vector<std::string>& notes);

} // namespace lathe::refactor
