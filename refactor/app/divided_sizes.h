// Sizes that the kernel's text divides by others: how long one of so many equal parts of a row is.
#pragma once

#include "refactor/app/traced_kernel.h"

#include <string>
#include <vector>

namespace lathe::refactor {

struct DividedSize {
  std::string whole, parts; // dimensions: a part is whole / parts long
};

// Those of dimensions that are passed as they are (`row_bytes / head_count`), each once and in the order of
// the text. A quotient of the launcher's own is an argument's value, and none of these.
std::vector<DividedSize> divided_sizes(const Candidate& raw);

// Raises wholes, so that a part is at least `length` long, or as long as at `base` where that is less: of a
// part that is shorter than what a kernel moves at a time it moves nothing. Sizes that `base` lacks stay.
void keep_parts(const std::vector<DividedSize>& divided, const Dimensions& base, std::int64_t length,
                Dimensions& sizes);

} // namespace lathe::refactor
