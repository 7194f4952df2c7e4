// How far the raw kernel reaches into its buffers as the sizes grow.
#pragma once

#include "refactor/app/extent_guess.h"
#include "refactor/app/traced_kernel.h"

#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

struct Growth {
  std::vector<Dimensions> sizes;         // of each run; the first is the base
  std::vector<std::vector<Extent>> runs; // one entry an argument; scalars stay empty
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> geometry; // of the grid, in each run
};

// Those above `most` halved, rounded up, until they are not: small sizes show how buffers grow as well as
// large ones do, in less time and room.
Dimensions reduced(const Dimensions& sizes, std::int64_t most);

// Sizes at which a kernel may show how its buffers grow, none above `base` and the best ones first: those at
// which the grid of `raw` is not empty.
std::vector<Dimensions> sizes_to_trace(const Candidate& raw, const Dimensions& base,
                                       const TracedKernel& kernel);

// The sizes, those of them larger, up to `base`, that a side of the grid follows of which twice the size is
// no more blocks: what the last block does beyond them hides how buffers grow. Others stay as they are.
Dimensions with_growing_grid(const Candidate& raw, const Dimensions& sizes, const Dimensions& base,
                             const TracedKernel& kernel);

// A run that shows how buffers grow is a small one; one that takes longer says that its sizes are too large.
inline constexpr double LONGEST_FIRST_RUN_S = 20;

// Runs there, with sets of dimensions doubled, and with all of them tripled. Fails where the first does.
Result<Growth> trace_growth_at(const Candidate& raw, const Dimensions& sizes, const TracedKernel& kernel,
                               double first_run_limit_s = LONGEST_FIRST_RUN_S);

// How many elements of an argument the runs say that there are.
ExtentGuess guess_of(const Growth& growth, std::size_t argument);

// Whether no run writes to any buffer.
bool writes_nothing_in(const Growth& growth);

// Whether there was more than one run, where there are sizes to change: one does not show how buffers grow.
bool is_telling(const Growth& growth);

// At the first of the sizes to trace, none above `base`, at which the raw kernel shows how its buffers grow:
// shows that. The error is the first sizes' reason: larger ones fail for want of time besides. `kernel` is
// `raw`'s, compiled. `first_run_limit_s`: for the first run at each of the sizes.
Result<Growth> trace_growth(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel,
                            double first_run_limit_s = LONGEST_FIRST_RUN_S);

} // namespace lathe::refactor
