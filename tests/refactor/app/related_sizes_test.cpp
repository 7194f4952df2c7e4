// Guessed sizes that have to go together.
#include "refactor/app/related_sizes.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;

Candidate candidate(const std::string& body) {
  Candidate raw;
  raw.text = "__global__ void k(float* x, int n, int nodes) {\n"
             "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  " +
             body + "\n}\n";
  raw.kernel = raw.instance = "k";
  raw.dimensions = {"n", "nodes"};
  const auto read = [](const std::string& expression) { return *Expression::parse(expression); };
  raw.launch.grid = {read("(n + 63) / 64"), read("1"), read("1")};
  raw.launch.block = {read("64"), read("1"), read("1")};
  raw.launch.shared_bytes = read("0");
  Argument buffer;
  buffer.name = "x";
  buffer.dtype = "f32";
  buffer.direction = Direction::inout;
  buffer.count = read("0");
  raw.arguments.push_back(buffer);
  for (const std::string& name : raw.dimensions) {
    Argument scalar;
    scalar.name = name;
    scalar.is_buffer = false;
    scalar.dtype = "i32";
    scalar.value = read(name);
    raw.arguments.push_back(scalar);
  }
  return raw;
}

struct Related {
  std::vector<Problem> problems;
  std::vector<std::string> notes;
};

Related related(const Candidate& raw, std::int64_t n, std::int64_t nodes) {
  Related result;
  result.problems.resize(1);
  result.problems[0].dimensions = {{"n", n}, {"nodes", nodes}};
  relate_sizes(raw, "sm_90", result.problems, result.notes);
  return result;
}

// Points of a grid of nodes^3, of which the first planes are left out.
TEST(RelatedSizes, WhereNothingIsWritten) {
  const Related found = related(candidate("if (i < n && i / (nodes * nodes) > 0) x[i] = 1;"), 256, 256);
  ASSERT_GE(found.problems.size(), 2u);
  for (const Problem& problem : found.problems)
    EXPECT_GT(problem.dimensions.at("n"), problem.dimensions.at("nodes") * problem.dimensions.at("nodes"));
  EXPECT_THAT(found.notes, Contains(HasSubstr("does not write at the usual sizes")));
}

// Cells are taken from the end of the nodes, of which there are twice as many as bodies.
TEST(RelatedSizes, OneThatHasToBeAMultipleOfAnother) {
  const Related found = related(candidate("if (i < n) x[nodes - 2 * i - 1] = 1;"), 4096, 64);
  ASSERT_EQ(found.problems.size(), 3u);
  for (const Problem& problem : found.problems)
    EXPECT_GE(problem.dimensions.at("nodes"), 2 * problem.dimensions.at("n"));
  EXPECT_GT(found.problems[2].dimensions.at("n"), found.problems[0].dimensions.at("n"));
  EXPECT_THAT(found.notes, Contains(HasSubstr("nodes = 32")));
}

// A kind of layer that there are two of, one of which wants a width of its own.
TEST(RelatedSizes, NumbersThatTheTextComparesThemWith) {
  const Related found = related(candidate("if (nodes < 1 || nodes >= 6) __trap();\n"
                                          "  if (nodes != 5) __trap();\n  if (i < n) x[i] = nodes;"),
                                4096, 64);
  ASSERT_FALSE(found.problems.empty());
  for (const Problem& problem : found.problems)
    EXPECT_EQ(problem.dimensions.at("nodes"), 5);
  EXPECT_THAT(found.notes, Contains(HasSubstr("nodes = 5")));
}

TEST(RelatedSizes, TwoNumbersThatGoTogether) {
  const Related found =
      related(candidate("if (!(nodes <= 2)) __trap();\n  if (nodes == 2 && n != 7) __trap();\n"
                        "  if (nodes != 2) __trap();\n  if (i < n) x[i] = nodes;"),
              4096, 64);
  ASSERT_FALSE(found.problems.empty());
  EXPECT_EQ(found.problems[0].dimensions.at("nodes"), 2);
  EXPECT_EQ(found.problems[0].dimensions.at("n"), 7);
}

TEST(RelatedSizes, ThoseThatRunStay) {
  const Related found = related(candidate("if (i < n) x[i] = nodes;"), 4096, 64);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems[0].dimensions.at("n"), 4096);
  EXPECT_TRUE(found.notes.empty());
}

// No size mends a run that has no end.
TEST(RelatedSizes, OfARunWithoutEndNothingIsTried) {
  const Related found = related(candidate("while (((volatile float*)x)[i] == 1) {}"), 64, 64);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems[0].dimensions.at("nodes"), 64);
}

} // namespace
} // namespace lathe::refactor
