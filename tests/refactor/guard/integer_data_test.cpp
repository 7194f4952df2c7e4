// What integer inputs hold in runs of their own.
#include "refactor/guard/integer_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <vector>

namespace lathe::refactor {
namespace {

std::vector<std::int32_t> filled_as(IntegerFill::Kind kind, const std::vector<std::int32_t>& usual,
                                    std::uint64_t seed) {
  std::vector<std::byte> bytes(usual.size() * sizeof(std::int32_t));
  std::memcpy(bytes.data(), usual.data(), bytes.size());
  fill_integers({kind}, element::s32, seed, bytes);
  std::vector<std::int32_t> filled(usual.size());
  std::memcpy(filled.data(), bytes.data(), bytes.size());
  return filled;
}

std::vector<std::int32_t> in_stretches(const std::vector<std::int32_t>& usual, std::uint64_t seed) {
  return filled_as(IntegerFill::Kind::stretches, usual, seed);
}

TEST(IntegerData, StretchesAreOfTheUsualNumbers) {
  std::vector<std::int32_t> usual;
  for (std::int32_t i = 0; i < 1000; ++i)
    usual.push_back(i);
  const std::vector<std::int32_t> filled = in_stretches(usual, 3);
  std::size_t equal = 0, longest = 0, length = 1;
  for (std::size_t i = 0; i < filled.size(); ++i) {
    EXPECT_LE(filled[i], usual[i]);
    EXPECT_GT(filled[i] + 8, usual[i]);
    if (i == 0)
      continue;
    length = filled[i] == filled[i - 1] ? length + 1 : 1;
    equal += length > 1;
    longest = std::max(longest, length);
  }
  EXPECT_EQ(longest, 8u);
  EXPECT_GT(equal, 300u); // of neighbours
  EXPECT_LT(equal, 800u); // and some stand alone
  EXPECT_EQ(filled, in_stretches(usual, 3));
  EXPECT_NE(filled, in_stretches(usual, 4));
}

std::vector<std::int32_t> filled_with(const IntegerFill& fill, const std::vector<std::int32_t>& usual,
                                      std::uint64_t seed) {
  std::vector<std::int32_t> filled = usual;
  fill_integers(fill, element::s32, seed, std::as_writable_bytes(std::span(filled)));
  return filled;
}

TEST(IntegerData, SparseOnesAreOneNumberButForFew) {
  std::vector<std::int32_t> usual;
  for (std::int32_t i = 0; i < 20000; ++i)
    usual.push_back(1000 + i);
  const IntegerFill fill{IntegerFill::Kind::sparse, 100, 7};
  const std::vector<std::int32_t> filled = filled_with(fill, usual, 3);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    EXPECT_TRUE(filled[i] == 7 || filled[i] == usual[i]) << i;
    kept += filled[i] == usual[i];
  }
  EXPECT_GT(kept, 140u);
  EXPECT_LT(kept, 270u);
  EXPECT_EQ(filled, filled_with(fill, usual, 3));
  EXPECT_NE(filled, filled_with(fill, usual, 4));
}

TEST(IntegerData, PlateausAreOfTheUsualNumbers) {
  std::vector<std::int32_t> usual;
  for (std::int32_t i = 0; i < 20000; ++i)
    usual.push_back(i);
  const std::vector<std::int32_t> filled = filled_with({IntegerFill::Kind::plateaus, 100}, usual, 3);
  std::size_t plateaus = 1;
  for (std::size_t i = 1; i < usual.size(); ++i) {
    EXPECT_TRUE(filled[i] == filled[i - 1] || filled[i] == usual[i]) << i;
    plateaus += filled[i] != filled[i - 1];
  }
  EXPECT_GT(plateaus, 140u);
  EXPECT_LT(plateaus, 270u);
}

TEST(IntegerData, SortedEndsReachTheLargestOfTheType) {
  for (const std::size_t count : {3u, 10u, 500u})
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      std::vector<std::int32_t> usual;
      for (std::size_t i = 0; i < count; ++i)
        usual.push_back(static_cast<std::int32_t>(i / 2));
      const std::vector<std::int32_t> filled = filled_as(IntegerFill::Kind::sorted_ends, usual, seed);
      EXPECT_TRUE(std::ranges::is_sorted(filled));
      EXPECT_EQ(filled.back(), std::numeric_limits<std::int32_t>::max());
      EXPECT_TRUE(
          std::equal(usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(count / 2), filled.begin()));
    }
}

TEST(IntegerData, EdgesLieAboutMultiplesWithinTheRange) {
  std::vector<std::int32_t> usual;
  for (std::int32_t i = 0; i < 4000; ++i)
    usual.push_back(251 * i - 500000);
  std::vector<std::int32_t> filled = usual;
  fill_integers({IntegerFill::Kind::edges, 0, 0, {1000, 70007}}, element::s32, 5,
                std::as_writable_bytes(std::span(filled)), {-400000, 504000});
  std::set<std::int64_t> last, first;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (filled[i] == usual[i])
      continue;
    EXPECT_TRUE(filled[i] >= -400000 && filled[i] <= 504000) << filled[i];
    EXPECT_LE(std::abs(std::int64_t{filled[i]} - usual[i]), 70008);
    last.insert((std::int64_t{filled[i]} + 1000 + 1) % 70007);
    first.insert(std::int64_t{filled[i]} % 70007);
  }
  EXPECT_TRUE(first.contains(0) && last.contains(0));
}

TEST(IntegerData, PowersStayInTheirRange) {
  std::vector<std::int32_t> usual{0, 1, -1, 100, -100, 5000, std::numeric_limits<std::int32_t>::min()};
  for (std::int32_t i = 0; i < 200; ++i)
    usual.push_back(37 * i - 3000);
  const auto powers = [&](std::int64_t low, std::int64_t high) {
    std::vector<std::int32_t> filled = usual;
    fill_integers({IntegerFill::Kind::powers}, element::s32, 7, std::as_writable_bytes(std::span(filled)),
                  {low, high});
    return filled;
  };
  const std::vector<std::int32_t> filled = powers(-5000, 5000);
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const std::int64_t size = std::abs(std::int64_t{filled[i]});
    if (filled[i] != usual[i]) {
      EXPECT_EQ(size & (size - 1), 0) << usual[i];
      EXPECT_LE(size, std::abs(std::int64_t{usual[i]}));
      EXPECT_EQ(filled[i] < 0, usual[i] < 0);
    }
    seen.insert(filled[i]);
  }
  EXPECT_GT(seen.size(), 12u);
  // Where the range has no power that is small enough, the number stays.
  for (std::size_t i = 0; i < usual.size(); ++i)
    EXPECT_TRUE(powers(2049, 5000)[i] == usual[i] || powers(2049, 5000)[i] == 4096);
}

} // namespace
} // namespace lathe::refactor
