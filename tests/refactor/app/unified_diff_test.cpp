#include "refactor/app/unified_diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <vector>

namespace lathe::refactor {
namespace {

TEST(UnifiedDiff, ChangesThatAreFarApartAreHunksOfTheirOwn) {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) {
    before += std::to_string(i) + "\n";
    after += i == 3 ? "three\n" : std::to_string(i) + "\n";
    if (i == 17)
      after += "more\n";
  }
  EXPECT_EQ(unified_diff("a/b.cu", before, after),
            "--- a/a/b.cu\n+++ b/a/b.cu\n"
            "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n"
            "@@ -15,6 +15,7 @@\n 15\n 16\n 17\n+more\n 18\n 19\n 20\n");
}

TEST(UnifiedDiff, NearChangesShareAHunk) {
  EXPECT_EQ(unified_diff("x", "a\nb\nc\nd\n", "A\nb\nc\nD\n"),
            "--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n-d\n+D\n");
}

TEST(UnifiedDiff, EqualTextsHaveNone) {
  EXPECT_EQ(unified_diff("x", "a\n", "a\n"), "");
}

TEST(UnifiedDiff, SaysWhereTheLastLineIsNotEnded) {
  EXPECT_EQ(
      unified_diff("x", "a\nb", "a\nc"),
      "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of "
      "file\n");
}

TEST(UnifiedDiff, FromAndToNothing) {
  EXPECT_EQ(unified_diff("x", "", "a\n"), "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
  EXPECT_EQ(unified_diff("x", "a\n", ""), "--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a\n");
}

// What `patch` does: the hunks' lines without '+' are found where the heads say.
std::string applied(const std::string& text, const std::string& diff) {
  std::vector<std::string> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);)
    lines.push_back(line);
  std::string result;
  std::size_t at = 0;
  std::istringstream script(diff);
  std::string line;
  std::getline(script, line);
  std::getline(script, line);
  while (std::getline(script, line)) {
    if (line.starts_with("@@ -")) {
      const bool is_empty = line.find(",0 +") != std::string::npos;
      const std::size_t first = std::stoul(line.substr(4)) - (is_empty ? 0 : 1);
      while (at < first)
        result += lines.at(at++) + "\n";
      continue;
    }
    if (line.front() != '+') {
      EXPECT_EQ(lines.at(at++), line.substr(1));
    }
    if (line.front() != '-')
      result += line.substr(1) + "\n";
  }
  while (at < lines.size())
    result += lines.at(at++) + "\n";
  return result;
}

TEST(UnifiedDiff, AppliedToTheOneGivesTheOther) {
  std::mt19937 random(1);
  const auto any = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> lines;
    for (int i = any(40); i > 0; --i)
      lines.push_back(std::to_string(any(6)));
    std::vector<std::string> changed = lines;
    for (int i = any(5); i >= 0; --i) {
      const int kind = any(2);
      const auto at = changed.begin() + any(static_cast<int>(changed.size()) + 1);
      if (kind == 0)
        changed.insert(at, std::to_string(any(6)));
      else if (at != changed.end())
        changed.erase(at);
    }
    std::string before, after;
    for (const std::string& line : lines)
      before += line + "\n";
    for (const std::string& line : changed)
      after += line + "\n";
    EXPECT_EQ(applied(before, unified_diff("x", before, after)), after) << before << "\n" << after;
  }
}

} // namespace
} // namespace lathe::refactor
