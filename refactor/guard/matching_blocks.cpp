#include "refactor/guard/matching_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace lathe::refactor {
namespace {

void sort_unique(std::vector<std::uint64_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

// How many raw blocks one of the template holds. Of N elements in blocks of A and of B, N/A is at most the
// number of raw blocks and more than one less, as N/B is of the template's: B/A lies between, bounds apart.
struct Ratio {
  double least, most;
};

Ratio ratio_of(std::uint64_t templated, std::uint64_t raw) {
  const auto of_template = static_cast<double>(templated), of_raw = static_cast<double>(raw);
  return {(of_raw - 1) / of_template,
          templated > 1 ? of_raw / (of_template - 1) : std::numeric_limits<double>::infinity()};
}

// The fraction between two numbers whose denominator is the least (by continued fractions). Blocks are small
// numbers of elements, so that their ratio is a simple one.
double simplest_between(double least, double most) {
  constexpr int MOST_TERMS = 12; // denominators of blocks are far smaller than what these reach
  std::array<double, MOST_TERMS> whole{};
  std::size_t terms = 0;
  double tail = 0;
  for (; terms < whole.size(); ++terms) {
    const double floor = std::floor(least);
    if (floor + 1 < most) {
      tail = floor + 1;
      break;
    }
    whole[terms] = floor;
    const double below = 1 / (most - floor);
    most = least > floor ? 1 / (least - floor) : std::numeric_limits<double>::infinity();
    least = below;
  }
  if (terms == whole.size())
    tail = least;
  while (terms-- > 0)
    tail = whole[terms] + 1 / tail;
  return tail;
}

// Of an axis of `raw` blocks those that lie where block `at` of `templated` does, and some on either side.
std::vector<std::uint64_t> axis_around(std::uint64_t at, std::uint64_t templated, std::uint64_t raw,
                                       Matching matching) {
  constexpr double BESIDE = 2;
  Ratio ratio = ratio_of(templated, raw);
  if (matching == Matching::likely)
    ratio.least = ratio.most = simplest_between(ratio.least, ratio.most);
  const double begin = std::max(0.0, std::floor(static_cast<double>(at) * ratio.least) - BESIDE),
               end = std::min(static_cast<double>(raw),
                              std::ceil(static_cast<double>(at + 1) * ratio.most) + BESIDE);
  std::vector<std::uint64_t> around;
  for (auto each = static_cast<std::uint64_t>(begin); each < static_cast<std::uint64_t>(end); ++each)
    around.push_back(each);
  return around;
}

} // namespace

std::uint64_t blocks_of(const Launch& launch) {
  return std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

std::vector<std::uint64_t> blocks_at(const std::vector<double>& shares, std::uint64_t blocks) {
  std::vector<std::uint64_t> at{blocks - 1, blocks > 1 ? blocks - 2 : 0};
  for (const double share : shares)
    for (const std::uint64_t next : {0, 1})
      at.push_back(
          std::min(blocks - 1, static_cast<std::uint64_t>(share * static_cast<double>(blocks - 1)) + next));
  sort_unique(at);
  return at;
}

std::vector<std::uint64_t> blocks_around(const std::vector<std::uint64_t>& blocks, const Launch& templated,
                                         const Launch& raw, Matching matching) {
  const std::uint64_t all = blocks_of(templated), row = templated.grid[0], plane = row * templated.grid[1];
  const auto along = [&](std::size_t axis, std::uint64_t at) {
    const std::uint32_t own = templated.grid[axis], raws = raw.grid[axis];
    return own == raws ? std::vector<std::uint64_t>{at} : axis_around(at, own, raws, matching);
  };
  std::vector<std::uint64_t> around;
  for (const std::uint64_t block : blocks) {
    if (blocks_of(raw) == all) {
      std::ranges::copy(axis_around(block, all, all, matching), std::back_inserter(around));
      continue;
    }
    for (const std::uint64_t z : along(2, block / plane))
      for (const std::uint64_t y : along(1, block % plane / row))
        for (const std::uint64_t x : along(0, block % row))
          around.push_back((z * raw.grid[1] + y) * raw.grid[0] + x);
  }
  sort_unique(around);
  return around;
}

} // namespace lathe::refactor
