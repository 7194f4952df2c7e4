// Which blocks of two grids over the same elements hold the same ones.
#pragma once

#include "tuner/spec/spec.h"

#include <cstdint>
#include <vector>

namespace lathe::refactor {

std::uint64_t blocks_of(const Launch& launch);

// Numbers of blocks, ascending: two at each share of the grid (from 0 to 1), and the last two.
std::vector<std::uint64_t> blocks_at(const std::vector<double>& shares, std::uint64_t blocks);

// How well blocks are matched.
enum class Matching {
  likely,   // by the simplest ratio of block sizes that the numbers of blocks allow, and some beside
  possible, // by every ratio that they allow: more blocks, up to some three times as many
};

// The raw kernel's blocks that hold what these blocks of the template's grid do, ascending: each axis by
// itself, or all of them in a row where both grids have as many blocks.
std::vector<std::uint64_t> blocks_around(const std::vector<std::uint64_t>& blocks, const Launch& templated,
                                         const Launch& raw, Matching matching);

} // namespace lathe::refactor
