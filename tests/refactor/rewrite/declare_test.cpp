// declare-where-set: variables that are declared first and set later. count-in-for: loops that count with
// what is declared in front of them.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

Outcome moved(const std::string& body, const std::string& before = "") {
  return apply_rule("declare-where-set", plain(kernel(body, before)));
}

void expect_counts(const std::string& body, const std::string& result) {
  const Outcome outcome = apply_rule("count-in-for", plain(kernel(body)));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.text, kernel(result));
  EXPECT_EQ(machine_code(kernel(body), "k"), machine_code(outcome.candidate.text, "k"));
}

void expect_no_count(const std::string& body) {
  const Outcome outcome = apply_rule("count-in-for", plain(kernel(body)));
  EXPECT_FALSE(outcome.report.applied) << outcome.candidate.text;
}

void expect_moved(const std::string& body, const std::string& result) {
  const Outcome outcome = moved(body);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.text, kernel(result));
  EXPECT_EQ(machine_code(kernel(body), "k"), machine_code(outcome.candidate.text, "k"));
}

void expect_stays(const std::string& body, const std::string& before = "") {
  const Outcome outcome = moved(body, before);
  EXPECT_FALSE(outcome.report.applied) << outcome.candidate.text;
  EXPECT_EQ(outcome.report.detail, "every variable is declared where it is set");
}

TEST(DeclareWhereSet, AThreadsNumber) {
  expect_moved("  int i, j;\n  i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
               "  j = 2 * i;\n  out[i] = in[j];",
               "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
               "  int j = 2 * i;\n  out[i] = in[j];");
}

TEST(DeclareWhereSet, WhatStaysKeepsItsDeclaration) {
  expect_moved(
      "  int first = 2, i, last[3], j;\n  last[0] = n;\n  i = threadIdx.x;\n  if (i < n) j = first;\n"
      "  else j = last[0];\n  out[i] = in[j];",
      "  int first = 2, last[3], j;\n  last[0] = n;\n  int i = threadIdx.x;\n  if (i < n) j = first;\n"
      "  else j = last[0];\n  out[i] = in[j];");
  expect_moved("  const float *p, *q = in;\n  float v;\n  p = in + d;\n  v = *p + *q;\n  out[0] = v;",
               "  const float *q = in;\n  const float * p = in + d;\n  float v = *p + *q;\n  out[0] = v;");
}

TEST(DeclareWhereSet, EveryLoopHasACounterOfItsOwn) {
  expect_moved(
      "  int i;\n  float sum = 0;\n  for (i = threadIdx.x; i < d; i += blockDim.x)\n    sum += in[i];\n"
      "  for (i = threadIdx.x; i < n; i += blockDim.x)\n    out[i] = sum;",
      "  float sum = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x)\n    sum += in[i];\n"
      "  for (int i = threadIdx.x; i < n; i += blockDim.x)\n    out[i] = sum;");
  // Behind a use of its own in the same block.
  expect_moved("  int i;\n  i = blockIdx.x;\n  out[i] = in[i];\n  for (i = 0; i < d; ++i)\n    out[i] += 1;",
               "  int i = blockIdx.x;\n  out[i] = in[i];\n  for (int i = 0; i < d; ++i)\n    out[i] += 1;");
}

TEST(DeclareWhereSet, WhatARoundSetsIsDeclaredInTheRound) {
  expect_moved("  float v;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    v = in[i];\n"
               "    out[i] = v * v;\n  }",
               "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    float v = in[i];\n"
               "    out[i] = v * v;\n  }");
}

TEST(DeclareWhereSet, ALaterValueOfTheSameBlockIsAssigned) {
  expect_moved("  int i;\n  i = threadIdx.x;\n  out[i] = in[i];\n  i = blockIdx.x;\n  out[i] += 1;",
               "  int i = threadIdx.x;\n  out[i] = in[i];\n  i = blockIdx.x;\n  out[i] += 1;");
}

TEST(DeclareWhereSet, OtherRulesReadWhatIsDeclaredThen) {
  const Facts facts = plain(kernel("  int i;\n  for (i = threadIdx.x; i < d; i += blockDim.x)\n"
                                   "    out[blockIdx.x * d + i] = in[blockIdx.x * d + i];"));
  EXPECT_FALSE(apply_rule("expose-block-size", facts).report.applied);
  const auto both =
      rewrite(make_candidate(facts), {"declare-where-set", "expose-block-size"}, ParseOptions{});
  ASSERT_TRUE(both.ok()) << both.error().sentence();
  EXPECT_TRUE(both->reports[1].applied) << both->reports[1].detail;
}

TEST(DeclareWhereSet, RefusesWhatIsReadElsewhere) {
  // Behind the loop that counts with it.
  expect_stays("  int i;\n  for (i = 0; i < d && in[i] > 0; ++i)\n    ;\n  out[0] = i;");
  // In the next round, before it is set again.
  expect_stays("  int i;\n  for (int r = 0; r < n; ++r) {\n    if (r > 0) out[r] = i;\n    i = r;\n  }");
  // Where it is set on either way.
  expect_stays("  int i;\n  if (n > 1) i = threadIdx.x;\n  else i = 0;\n  out[i] = 1;");
  // Behind the block that sets it.
  expect_stays(
      "  int i;\n  if (n > 1) {\n    i = 1;\n    out[i] = 0;\n  } else {\n    i = 2;\n  }\n  out[0] = i;");
  // A loop whose counter the next round of an outer one reads.
  expect_moved(
      "  int i;\n  i = 0;\n  for (int r = 0; r < n; ++r) {\n    out[r] = i;\n    for (i = 0; i < r; ++i)\n"
      "      out[i] += 1;\n  }",
      "  int i = 0;\n  for (int r = 0; r < n; ++r) {\n    out[r] = i;\n    for (i = 0; i < r; ++i)\n"
      "      out[i] += 1;\n  }");
}

TEST(DeclareWhereSet, RefusesWhatMayBeReachedOtherwise) {
  expect_stays("  int i;\n  int* p = &i;\n  i = 1;\n  out[*p] = 0;");
  expect_stays("  int i;\n  int& same = i;\n  i = 1;\n  out[same] = 0;");
  expect_stays("  int i;\n  i = n;\nagain:\n  out[i] = 0;\n  if (--i > 0) goto again;");
  expect_stays(
      "  int i;\n  switch (n) {\n  case 0:\n    out[1] = 0;\n    i = 1;\n    out[i] = 0;\n    break;\n"
      "  default:\n    i = 2;\n    out[i] = 0;\n  }");
  expect_stays("  int i;\n  SET;\n  out[i] = 0;", "#define SET i = 1\n");
  expect_stays("  int i;\n  auto f = [&] { return i; };\n  i = 1;\n  out[f()] = 0;");
}

TEST(DeclareWhereSet, RefusesWhatIsSetToItself) {
  expect_stays("  int i;\n  i = i + 1;\n  out[i] = 0;");
  expect_stays("  int i, j;\n  i = j = 1;\n  out[i + j] = 0;\n  if (n) { int* p = &i; out[*p] = 1; }");
  expect_stays("  volatile int i;\n  i = 1;\n  out[i] = 0;");
}

TEST(CountInFor, WhileLoopsOverElements) {
  expect_counts(
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  while (i < n) {\n    out[i] = in[i];\n"
      "    i += blockDim.x * gridDim.x;\n  }",
      "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {\n"
      "    out[i] = in[i];\n  }");
  // Behind other statements, which cannot change where it starts.
  expect_counts(
      "  int i = threadIdx.x;\n  float sum = 0;\n  while (i < d) {\n    sum += in[i];\n    i = i + 32;\n"
      "  }\n  out[threadIdx.x] = sum;",
      "  float sum = 0;\n  for (int i = threadIdx.x; i < d; i = i + 32) {\n    sum += in[i];\n  }\n"
      "  out[threadIdx.x] = sum;");
}

TEST(CountInFor, ForLoopsWithoutAStart) {
  expect_counts("  int i = threadIdx.x;\n  for (; i < n; i += blockDim.x)\n    out[i] = in[i];",
                "  for (int i = threadIdx.x; i < n; i += blockDim.x)\n    out[i] = in[i];");
}

TEST(CountInFor, RefusesWhatIsNoCount) {
  // Read behind the loop.
  expect_no_count(
      "  int i = 0;\n  while (i < n && in[i] > 0) {\n    out[i] = 1;\n    ++i;\n  }\n  out[i] = 0;");
  // Stepped elsewhere, too.
  expect_no_count("  int i = 0;\n  while (i < n) {\n    if (in[i] > 0) ++i;\n    out[i] = 1;\n    ++i;\n  }");
  // A round that leaves the step out.
  expect_no_count(
      "  int i = 0;\n  while (i < n) {\n    if (in[0] > i) continue;\n    out[i] = 1;\n    ++i;\n  }");
  // A step that the body declares.
  expect_no_count("  int i = 0;\n  while (i < n) {\n    int s = in[i];\n    out[i] = 1;\n    i += s;\n  }");
  // Where it starts may have changed.
  expect_no_count(
      "  int m = n, i = 3;\n  int j = m;\n  m = 0;\n  while (j < d) {\n    out[j] = m + i;\n    ++j;\n  }");
  expect_no_count("  int i = in[0];\n  out[0] = 3;\n  while (i < n) {\n    out[i] = 1;\n    ++i;\n  }");
  // Whose address somebody has.
  expect_no_count("  int i = 0;\n  while (i < n) {\n    int* p = &i;\n    out[*p] = 1;\n    ++i;\n  }");
}

TEST(CountInFor, OtherRulesTakeTheLoop) {
  const Facts facts =
      plain(kernel("  int i = threadIdx.x;\n  while (i < d) {\n"
                   "    out[blockIdx.x * d + i] = in[blockIdx.x * d + i];\n    i += blockDim.x;\n  }"));
  EXPECT_FALSE(apply_rule("vectorize-loop", facts).report.applied);
  const auto both = rewrite(make_candidate(facts), {"count-in-for", "vectorize-loop", "expose-unroll"}, {});
  ASSERT_TRUE(both.ok()) << both.error().sentence();
  EXPECT_TRUE(both->reports[1].applied) << both->reports[1].detail;
  EXPECT_TRUE(both->reports[2].applied) << both->reports[2].detail;
}

} // namespace
} // namespace lathe::refactor::testing
