// Which bytes were touched, against a list of them.
#include "tuner/measure/host_executor/access_log.h"

#include <gtest/gtest.h>

#include <random>
#include <sys/resource.h>

namespace lathe::host {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> pairs_of(const std::vector<ByteRange>& ranges) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const ByteRange& range : ranges)
    pairs.emplace_back(range.begin, range.end);
  return pairs;
}

TEST(TouchedBytes, AreThoseOfAListWhateverTheAccesses) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::size_t bytes = 1 + random() % 400, origin = random() % 130;
    TouchedBytes touched;
    touched.resize(bytes);
    std::vector<bool> list(bytes);
    for (unsigned long accesses = random() % 12; accesses > 0; --accesses) {
      const std::size_t first = random() % (bytes + 8),
                        last = first + random() % (accesses % 3 == 0 ? 150 : 17);
      touched.add(first, last);
      for (std::size_t i = first; i < std::min(last, bytes); ++i)
        list[i] = true;
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto at = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(origin);
      if (!list[i])
        continue;
      if (expected.empty() || expected.back().second != at)
        expected.emplace_back(at, at);
      ++expected.back().second;
    }
    EXPECT_EQ(pairs_of(touched.ranges(origin)), expected) << "round " << round;
  }
}

TEST(TouchedBytes, NothingIsTouchedAtFirst) {
  TouchedBytes touched;
  EXPECT_TRUE(touched.ranges(0).empty());
  touched.resize(100);
  touched.add(100, 104);
  touched.add(5, 5);
  EXPECT_TRUE(touched.ranges(0).empty());
}

// Traced runs give buffers whose size is not known yet gigabytes of address space.
TEST(TouchedBytes, CostMemoryOnlyWhereTheyAreTouched) {
  constexpr std::size_t BUFFER = std::size_t{8} << 30;
  const auto most_kilobytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const long before = most_kilobytes();
  TouchedBytes touched;
  touched.resize(BUFFER);
  touched.add(3, 5);
  touched.add(BUFFER - 4, BUFFER);
  EXPECT_EQ(touched.ranges(0).size(), 2u);
  EXPECT_LT(most_kilobytes() - before, 64 << 10);
}

} // namespace
} // namespace lathe::host
