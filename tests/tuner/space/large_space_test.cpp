// Spaces that brute force cannot check: counts known by other means, memory, and the ways out.
#include "brute_force.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

namespace lathe {
namespace {

std::vector<Value> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(last - first + 1));
  std::iota(values.begin(), values.end(), first);
  return integers(std::move(values));
}

std::string numbered(const char* prefix, int number) {
  return std::string(prefix).append(std::to_string(number));
}

std::string joined(const char* prefix, int count, const char* separator) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text.append(i == 0 ? "" : separator).append(numbered(prefix, i));
  return text;
}

// One more digit into a hash: its digits cannot be told apart in parts.
std::string mix(const std::string& hash, int digit) {
  return std::string("((")
      .append(hash)
      .append(") * 131 ^ ")
      .append(numbered("p", digit))
      .append(" * 7919) % 1000003");
}

// The number of ways to throw `dice` dice with faces 0 to 7 and this sum.
double ways(int dice, int sum) {
  std::vector<double> count(static_cast<std::size_t>(sum) + 1, 0);
  count[0] = 1;
  for (int die = 0; die < dice; ++die) {
    std::vector<double> next(count.size(), 0);
    for (std::size_t i = 0; i < count.size(); ++i)
      for (std::size_t face = 0; face < 8 && i + face < next.size(); ++face)
        next[i + face] += count[i];
    count = next;
  }
  return count.back();
}

std::size_t peak_memory_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stoul(line.substr(6));
  return 0;
}

TEST(LargeSpace, CountsMoreThan64BitsExactly) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 30; ++i)
    parameters.push_back({numbered("p", i), range(0, 7)});
  const Space space = *Space::build(parameters, parse_all({joined("p", 30, " + ") + " == 100"}));
  const ValidCount count = space.valid_count();
  EXPECT_TRUE(count.exact);
  EXPECT_FALSE(space.is_enumerated());
  EXPECT_NEAR(count.value, ways(30, 100), 1e-9 * count.value);
  Random random(1);
  const Point point = space.sample(random);
  EXPECT_TRUE(space.contains(point));
  EXPECT_FALSE(space.index_of(point));
  for (const Point& neighbour : space.neighbours(point, Neighbourhood::wide))
    ASSERT_TRUE(space.contains(neighbour));
}

// All a before all b: in declaration order, every combination of the a would have to be told apart.
TEST(LargeSpace, FindsABetterOrderAndKeepsTheIndexLexicographic) {
  constexpr int pairs = 9;
  std::vector<Parameter> parameters;
  std::vector<std::string> conditions;
  for (int i = 0; i < pairs; ++i)
    parameters.push_back({numbered("a", i), range(1, 8)});
  for (int i = 0; i < pairs; ++i) {
    parameters.push_back({numbered("b", i), range(1, 8)});
    conditions.push_back(numbered("a", i).append(" % ").append(numbered("b", i)).append(" == 0"));
  }
  conditions.push_back(joined("a", pairs, " + ") + " <= 30");
  const Space space = *Space::build(parameters, parse_all(conditions));
  // By dynamic programming over the pairs: (a, number of its divisors).
  const std::vector<double> divisors = {1, 2, 2, 3, 2, 4, 2, 4};
  std::vector<double> with_sum(31, 0);
  with_sum[0] = 1;
  for (int i = 0; i < pairs; ++i) {
    std::vector<double> next(31, 0);
    for (std::size_t sum = 0; sum <= 30; ++sum)
      for (std::size_t a = 1; a <= 8 && sum + a <= 30; ++a)
        next[sum + a] += with_sum[sum] * divisors[a - 1];
    with_sum = next;
  }
  double expected = 0;
  for (const double count : with_sum)
    expected += count;
  ASSERT_TRUE(space.valid_count().exact);
  ASSERT_EQ(space.valid_count().value, expected);
  ASSERT_TRUE(space.is_enumerated());
  Random random(5);
  const auto total = static_cast<std::uint64_t>(expected);
  Point previous;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const std::uint64_t index = i * (total - 1) / 11;
    const Point point = space.point(index);
    ASSERT_TRUE(space.contains(point));
    ASSERT_EQ(space.index_of(point), index);
    ASSERT_LT(previous, point);
    if (index + 1 < total) {
      ASSERT_LT(point, space.point(index + 1));
    }
    previous = point;
  }
  const Point sample = space.sample(random);
  EXPECT_EQ(space.point(*space.index_of(sample)), sample);
  EXPECT_EQ(space.repair(sample, random), sample);
}

// The same with few pairs, such that all points can be listed although the diagram has another order, and
// with a second group between the two halves.
TEST(LargeSpace, ListsABetterOrderInTheOrderOfTheIndex) {
  constexpr int pairs = 4;
  std::vector<Parameter> parameters;
  std::vector<std::string> conditions;
  for (int i = 0; i < pairs; ++i)
    parameters.push_back({numbered("a", i), range(1, 40)});
  parameters.push_back({"c", range(0, 1)});
  for (int i = 0; i < pairs; ++i) {
    parameters.push_back({numbered("b", i), range(20, 40)});
    conditions.push_back(numbered("a", i).append(" == ").append(numbered("b", i)).append(" / 2 * 2 + 1"));
  }
  conditions.push_back(joined("a", pairs, " + ") + " <= 110");
  const Space space = *Space::build(parameters, parse_all(conditions));
  ASSERT_TRUE(space.is_enumerated());
  const auto total = static_cast<std::uint64_t>(space.valid_count().value);
  const std::vector<std::uint16_t> all = space.list();
  ASSERT_EQ(all.size(), total * parameters.size());
  for (std::uint64_t index = 0; index < total; index += 1 + total / 50) {
    const auto row = all.begin() + static_cast<std::ptrdiff_t>(index * parameters.size());
    EXPECT_EQ(Point(row, row + static_cast<std::ptrdiff_t>(parameters.size())), space.point(index));
  }
}

// 10^7 points whose condition leaves no structure to use: 1 in 100 is valid.
TEST(LargeSpace, StaysSmallWithoutStructure) {
  std::vector<Parameter> parameters;
  std::string sum;
  for (int i = 0; i < 7; ++i) {
    parameters.push_back({numbered("p", i), range(1, 10)});
    sum.append(i == 0 ? "" : " + ").append(numbered("p", i)).append(" * ").append(numbered("p", (i + 1) % 7));
    sum.append(numbered(" * ", 101 + i * 37));
  }
  const std::vector<std::string> condition = {"(" + sum + ") % 100 == 7"};
  const Space space = *Space::build(parameters, parse_all(condition));
  std::uint64_t expected = 0;
  std::array<int, 7> p{};
  for (int code = 0; code < 10'000'000; ++code) {
    int rest = code;
    for (int& value : p) {
      value = rest % 10 + 1;
      rest /= 10;
    }
    int total = 0;
    for (std::size_t i = 0; i < 7; ++i)
      total += p[i] * p[(i + 1) % 7] * (101 + static_cast<int>(i) * 37);
    expected += total % 100 == 7 ? 1 : 0;
  }
  EXPECT_EQ(space.valid_count().value, static_cast<double>(expected));
  // Ten digits' products, summed: the estimate of a sampled version agrees.
  SpaceOptions tight;
  tight.step_limit = 100'000;
  const Space sampled = *Space::build(parameters, parse_all(condition), {}, tight);
  const ValidCount estimate = sampled.valid_count();
  EXPECT_FALSE(estimate.exact);
  EXPECT_GT(estimate.standard_error, 0);
  EXPECT_NEAR(estimate.value, static_cast<double>(expected), 6 * estimate.standard_error);
  Random random(2);
  std::set<Point> seen;
  for (int i = 0; i < 50; ++i) {
    const Point point = sampled.sample(random);
    ASSERT_TRUE(space.contains(point));
    seen.insert(point);
  }
  EXPECT_GT(seen.size(), 40u);
}

TEST(LargeSpace, MemoryLimitLeadsToSampling) {
  // The order of the digits matters: nothing merges, and 8^8 points are valid of 8^9.
  std::vector<Parameter> parameters;
  std::string mixed = "p0";
  for (int i = 0; i < 9; ++i)
    parameters.push_back({numbered("p", i), range(0, 7)});
  for (int i = 1; i < 9; ++i)
    mixed = mix(mixed, i);
  SpaceOptions options;
  options.memory_limit_bytes = 8u << 20;
  options.step_limit = 20'000'000;
  const std::size_t before = peak_memory_kilobytes();
  const Space space = *Space::build(parameters, parse_all({mixed + " % 8 == 3"}), {}, options);
  EXPECT_FALSE(space.valid_count().exact);
  EXPECT_NEAR(space.valid_count().value, std::pow(8, 8), 6 * space.valid_count().standard_error);
  EXPECT_LT(peak_memory_kilobytes() - before, 16u << 10);
}

TEST(LargeSpace, SaysWhenNothingWasFound) {
  std::vector<Parameter> parameters;
  std::string mixed = "p0";
  for (int i = 0; i < 10; ++i)
    parameters.push_back({numbered("p", i), range(0, 7)});
  for (int i = 1; i < 10; ++i)
    mixed = mix(mixed, i);
  SpaceOptions options;
  options.step_limit = 100'000;
  // No square leaves 2, but no range says so.
  const Result<Space> space =
      Space::build(parameters, parse_all({mixed.insert(0, 1, '(').append(") ** 2 % 4 == 2")}), {}, options);
  ASSERT_FALSE(space.ok());
  EXPECT_THAT(space.error().sentence(), testing::HasSubstr("too large to enumerate"));
}

} // namespace
} // namespace lathe
