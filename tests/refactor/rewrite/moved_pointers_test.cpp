// name-moved-pointers: parameters that are moved once.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const std::string LOOP = "  for (int i = threadIdx.x; i < d; i += blockDim.x)\n";

void expect_named(const std::string& body, const std::string& result, const std::string& before = "") {
  const Outcome outcome = apply_rule("name-moved-pointers", plain(kernel(body, before)));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.text, kernel(result, before));
  EXPECT_EQ(machine_code(kernel(body, before), "k"), machine_code(outcome.candidate.text, "k"));
}

void expect_stays(const std::string& body, const std::string& before = "") {
  const Outcome outcome = apply_rule("name-moved-pointers", plain(kernel(body, before)));
  EXPECT_FALSE(outcome.report.applied) << outcome.candidate.text;
}

TEST(NameMovedPointers, BothOfARow) {
  expect_named("  const int row = blockIdx.x;\n  in += (long long)row * d;\n  out += row * d;\n" + LOOP +
                   "    out[i] = 2 * in[i];",
               "  const int row = blockIdx.x;\n  const float * in_moved = in + ((long long)row * d);\n"
               "  float * out_moved = out + (row * d);\n" +
                   LOOP + "    out_moved[i] = 2 * in_moved[i];");
}

TEST(NameMovedPointers, InArgumentsOfMacrosAndFunctions) {
  expect_named("  in += blockIdx.x;\n  out[threadIdx.x] = LOAD(&in[threadIdx.x]) + *in + first(in);",
               "  const float * in_moved = in + (blockIdx.x);\n"
               "  out[threadIdx.x] = LOAD(&in_moved[threadIdx.x]) + *in_moved + first(in_moved);",
               "#define LOAD(p) __ldg(p)\n__device__ float first(const float* p) { return *p; }\n");
}

TEST(NameMovedPointers, WhatStays) {
  // Twice, in a loop, under a condition, and where it was used before.
  expect_stays("  in += d;\n  in += n;\n  out[0] = in[0];");
  expect_stays("  for (int i = 0; i < n; ++i) {\n    in += d;\n    out[i] = in[0];\n  }");
  expect_stays("  if (n > 3) in += d;\n  out[0] = in[0];");
  expect_stays("  out[0] = in[0];\n  in += d;\n  out[1] = in[0];");
  // Set by others, and by its own value.
  expect_stays("  in += d;\n  ++in;\n  out[0] = in[0];");
  expect_stays("  in += d;\n  next(in);\n  out[0] = in[0];",
               "__device__ void next(const float*& p) { ++p; }\n");
  expect_stays("  in += d;\n  const float** p = &in;\n  out[0] = **p;");
  expect_stays("  in += d;\n  const float*& p = in;\n  ++p;\n  out[0] = *in;");
  expect_stays("  in += (int)in[0];\n  out[0] = in[0];");
  // Not a pointer, nobody's, and in the hands of a lambda.
  expect_stays("  n += 3;\n  out[0] = in[n];");
  expect_stays("  in += d;\n  out[0] = n;");
  expect_stays("  in += d;\n  auto next = [&] { ++in; };\n  next();\n  out[0] = in[0];");
}

TEST(NameMovedPointers, OtherRulesFollowThem) {
  const std::string text =
      kernel("  in += blockIdx.x * d;\n  out += blockIdx.x * d;\n" + LOOP + "    out[i] = in[i];");
  EXPECT_FALSE(apply_rule("vectorize-loop", plain(text)).report.applied);
  const auto both = rewrite(make_candidate(plain(text)), {"name-moved-pointers", "vectorize-loop"}, {});
  ASSERT_TRUE(both.ok()) << both.error().sentence();
  EXPECT_TRUE(both->reports[1].applied) << both->reports[1].detail;
}

TEST(NameMovedPointers, OfATemplatesType) {
  Facts facts = plain("template <class T> __global__ void k(T* out, const T* in, int n, int d) {\n"
                      "  in += blockIdx.x * d;\n  out[threadIdx.x] = in[threadIdx.x];\n}\n");
  facts.instance = "k<{T}>";
  facts.dtypes = {"f32"};
  const Outcome outcome = apply_rule("name-moved-pointers", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("const T * in_moved = in + (blockIdx.x * d);\n  out[threadIdx.x] = in_moved["));
}

// The block's size as a template argument, which is a knob then.
TEST(VectorsOfABlockThatIsAnArgument, LoopsStepByIt) {
  Facts facts = plain("template <int SIZE> __global__ void k(float* out, const float* in, int n, int d) {\n"
                      "  for (int i = threadIdx.x; i < d; i += SIZE) out[blockIdx.x * d + i] = in[i];\n}\n",
                      {"256"});
  facts.instance = "k<256>";
  const auto both = rewrite(make_candidate(facts), {"adopt-template-parameter", "vectorize-loop"}, {});
  ASSERT_TRUE(both.ok()) << both.error().sentence();
  EXPECT_TRUE(both->reports[0].applied) << both->reports[0].detail;
  EXPECT_TRUE(both->reports[1].applied) << both->reports[1].detail;
  // A step that only happens to be the knob's default.
  facts.text = "template <int SIZE> __global__ void k(float* out, const float* in, int n, int d) {\n"
               "  for (int i = threadIdx.x; i < d; i += SIZE) out[blockIdx.x * d + i] = 1;\n"
               "  for (int i = threadIdx.x; i < d; i += 256) out[blockIdx.x * d + i + d * n] = in[i];\n}\n";
  const auto other = rewrite(make_candidate(facts), {"adopt-template-parameter", "vectorize-loop"}, {});
  ASSERT_TRUE(other.ok()) << other.error().sentence();
  EXPECT_FALSE(other->candidate.text.find("&in[lathe_first]") != std::string::npos) << other->candidate.text;
}

} // namespace
} // namespace lathe::refactor::testing
