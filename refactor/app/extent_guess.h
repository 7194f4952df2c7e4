// How many elements a buffer has, as a formula, from how many were touched at several sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

struct ExtentGuess {
  std::string count; // a Lathe expression
  std::string why;   // half a sentence
};

// `touched`: one past the last element touched in the run with those `sizes`; the first run is the base, and
// in the others dimensions are multiplied. `geometry`: other expressions and their values in the same runs.
//  - What grows in proportion to each of its dimensions is that product.
//  - What grows with a dimension's square or cube is the product that has it as often.
//  - A sum of such products is kept as one, or is the leading product where the rest only takes away: a
//  stencil
//    touches nx * ny - 1 elements of nx * ny.
//  - What follows the grid rather than the sizes is a multiple of the grid.
//  - What two equal dimensions change only together is a product with the least of them; what either changes
//    as much as both, with the greater.
//  - Anything else, a sum that is below one at sizes smaller than those that were run too, is bounded by the
//  smallest product that has room for all runs.
ExtentGuess guess_extent(const std::vector<std::map<std::string, std::int64_t>>& sizes,
                         const std::vector<std::int64_t>& touched,
                         const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& geometry);

} // namespace lathe::refactor
