// inline-helpers: functions that do the kernel's work.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const std::string LOOP = "  for (int i = threadIdx.x; i < d; i += blockDim.x)\n";

// The text afterwards, which compiles to the same machine code.
std::string inlined(const std::string& text) {
  const Outcome outcome = apply_rule("inline-helpers", plain(text));
  EXPECT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(machine_code(text, "k"), machine_code(outcome.candidate.text, "k")) << outcome.candidate.text;
  return outcome.candidate.text;
}

// Refused, for a reason that has these words.
void expect_stays(const std::string& body, const std::string& before, const std::string& reason = "") {
  const Outcome outcome = apply_rule("inline-helpers", plain(kernel(body, before)));
  EXPECT_FALSE(outcome.report.applied) << outcome.candidate.text;
  EXPECT_NE(outcome.report.detail.find(reason), std::string::npos) << outcome.report.detail;
}

TEST(InlineHelpers, TheWholeWorkWithTheKernelsOwnNames) {
  EXPECT_EQ(inlined(kernel("  row(out, in, d);",
                           "__device__ __forceinline__ void row(float* out, const float* in, int d) {\n"
                           "  const float* from = in + blockIdx.x * d;\n" +
                               LOOP + "    out[blockIdx.x * d + i] = 2 * from[i];\n}\n\n")),
            kernel("  const float* from = in + blockIdx.x * d;\n" + LOOP +
                   "    out[blockIdx.x * d + i] = 2 * from[i];"));
}

TEST(InlineHelpers, ParametersOfOtherNamesTypesAndValues) {
  const std::string text = inlined(
      kernel("  const int n_2 = 3;\n  row(in + blockIdx.x * d, out + blockIdx.x * d, d, n + n_2);",
             "__device__ void row(const float* from, float* to, long long n, int times, float by = 2.f) {\n"
             "  #pragma unroll 2\n"
             "  for (long long i = threadIdx.x; i < n; i += blockDim.x) to[i] = by * from[i] * times;\n"
             "}\n"));
  EXPECT_EQ(text, kernel("  const int n_2 = 3;\n"
                         "  const float* from = in + blockIdx.x * d;\n"
                         "  float* to = out + blockIdx.x * d;\n"
                         "  long long n_3 = d;\n"
                         "  int times = n + n_2;\n"
                         "  float by = 2.f;\n"
                         "  #pragma unroll 2\n"
                         "  for (long long i = threadIdx.x; i < n_3; i += blockDim.x) to[i] = by * from[i] * "
                         "times;"));
}

TEST(InlineHelpers, ArgumentsThatChangePlaces) {
  const std::string text =
      inlined(kernel("  row(in, out, d);", "__device__ void row(const float* out, float* in, int d) {\n" +
                                               LOOP + "    in[i] = out[i];\n}\n"));
  EXPECT_EQ(text,
            kernel("  const float* out_2 = in;\n  float* in_2 = out;\n" + LOOP + "    in_2[i] = out_2[i];"));
}

TEST(InlineHelpers, AParameterThatIsChangedIsACopy) {
  const std::string text =
      inlined(kernel("  row(out, in, d);\n  if (threadIdx.x == 0) out[d] = d;",
                     "__device__ void row(float* out, const float* in, int d) {\n  d /= 2;\n" + LOOP +
                         "    out[i] = in[i];\n}\n"));
  EXPECT_NE(text.find("int d_2 = d;\n  d_2 /= 2;\n"), std::string::npos) << text;
  EXPECT_NE(text.find("i < d_2; i += blockDim.x)\n    out[i] = in[i];"), std::string::npos) << text;
}

// One by value, the other the variable itself.
TEST(InlineHelpers, AVariableThatIsPassedTwice) {
  const std::string text =
      inlined(kernel("  row(out, in, d, d);\n  if (threadIdx.x == 0) out[d] = d;",
                     "__device__ void row(float* out, const float* in, int d, int& next) {\n  next = 3;\n" +
                         LOOP + "    out[i] = in[i];\n}\n"));
  EXPECT_NE(text.find("int d_2 = d;\n  int& next = d;\n  next = 3;\n"), std::string::npos) << text;
}

TEST(InlineHelpers, Values) {
  const std::string sum = "__device__ float sum(const float* x, int d) {\n  float total = 0;\n" + LOOP +
                          "    total += x[i];\n  return total;\n}\n";
  EXPECT_EQ(inlined(kernel("  float total = sum(in + blockIdx.x * d, d);\n  atomicAdd(out, total);", sum)),
            kernel("  const float* x = in + blockIdx.x * d;\n  float total_2 = 0;\n" + LOOP +
                   "    total_2 += x[i];\n  float total = total_2;\n  atomicAdd(out, total);"));
  // Assigned, and to what has another type; nvcc reads the thread's number at another place then.
  const Outcome outcome = apply_rule(
      "inline-helpers",
      plain(kernel(
          "  int whole = 0;\n  if (n > 3) {\n    whole = sum(in, d);\n  }\n  out[threadIdx.x] = whole;",
          sum)));
  EXPECT_TRUE(outcome.has("    whole = static_cast<float>(total);\n")) << outcome.candidate.text;
}

TEST(InlineHelpers, FunctionsOfFunctions) {
  const std::string text =
      inlined(kernel("  outer(out, in, d);",
                     "__device__ void inner(float* to, const float* from, int d) {\n" + LOOP +
                         "    to[i] = from[i];\n}\n"
                         "__device__ void outer(float* out, const float* in, int d) {\n"
                         "  const int row = blockIdx.x;\n  inner(out + row * d, in + row * d, d);\n}\n"));
  EXPECT_EQ(text, kernel("  const int row = blockIdx.x;\n  float* to = out + row * d;\n"
                         "  const float* from = in + row * d;\n" +
                         LOOP + "    to[i] = from[i];"));
}

TEST(InlineHelpers, EarlyReturnsAtTheKernelsEnd) {
  const std::string add = "__device__ void add(float* out, const float* in, int n) {\n"
                          "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
                          "  out[i] = in[i] + 1;\n}\n";
  EXPECT_NE(inlined(kernel("  add(out, in, n);", add)).find("if (i >= n) return;"), std::string::npos);
  expect_stays("  add(out, in, n);\n  out[n] = 1;", add);
  expect_stays("  if (d > 3)\n    add(out, in, n);", add);
}

TEST(InlineHelpers, UnderAConditionWithoutBraces) {
  const std::string text = inlined(kernel("  if (n > 3)\n    row(out, in, d);\n  else\n    out[0] = 1;",
                                          "__device__ void row(float* out, const float* in, int d) {\n" +
                                              LOOP + "    out[i] = in[i];\n}\n"));
  EXPECT_NE(text.find("  if (n > 3)\n    {\n      for (int i"), std::string::npos) << text;
}

TEST(InlineHelpers, TemplatesArguments) {
  Facts facts = plain("template <typename T, int VEC>\n"
                      "__device__ void row(T* __restrict__ to, const T* __restrict__ from, int d) {\n"
                      "  for (int i = threadIdx.x * VEC; i < d; i += blockDim.x * VEC)\n"
                      "    for (int j = 0; j < VEC; ++j) to[i + j] = T(from[i + j]);\n}\n"
                      "template <typename scalar_t>\n"
                      "__global__ void k(scalar_t* out, const scalar_t* in, int n, int d) {\n"
                      "  row<scalar_t, 4>(out + blockIdx.x * d, in + blockIdx.x * d, d);\n}\n");
  facts.instance = "k<{scalar_t}>";
  facts.dtypes = {"f32"};
  Outcome outcome = apply_rule("inline-helpers", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.text,
            "template <typename scalar_t>\n"
            "__global__ void k(scalar_t* out, const scalar_t* in, int n, int d) {\n"
            "  constexpr int VEC = 4;\n"
            "  scalar_t* __restrict__ to = out + blockIdx.x * d;\n"
            "  const scalar_t* __restrict__ from = in + blockIdx.x * d;\n"
            "  for (int i = threadIdx.x * VEC; i < d; i += blockDim.x * VEC)\n"
            "    for (int j = 0; j < VEC; ++j) to[i + j] = scalar_t(from[i + j]);\n}\n");
  EXPECT_EQ(machine_code(facts.text, "k<float>"), machine_code(outcome.candidate.text, "k<float>"));
  // Deduced from the arguments.
  facts.text = "template <typename T>\n"
               "__device__ void row(T* out, const T* in, int d) {\n" +
               LOOP +
               "    out[i] = in[i];\n}\n"
               "template <typename scalar_t>\n"
               "__global__ void k(scalar_t* out, const scalar_t* in, int n, int d) {\n"
               "  row(out, in, d);\n}\n";
  outcome = apply_rule("inline-helpers", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("int d) {\n" + LOOP + "    out[i] = in[i];\n}")) << outcome.candidate.text;
}

TEST(InlineHelpers, NumbersThatTheKernelsTemplateHas) {
  Facts facts = plain("template <int N>\n"
                      "__device__ void row(float* out, const float* in, int d) {\n"
                      "  for (int i = threadIdx.x; i < d; i += N) out[i] = in[i];\n}\n"
                      "template <int THREADS>\n"
                      "__global__ void k(float* out, const float* in, int n, int d) {\n"
                      "  row<THREADS>(out, in, d);\n}\n");
  facts.instance = "k<256>";
  const Outcome outcome = apply_rule("inline-helpers", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("i += THREADS)")) << outcome.candidate.text;
}

TEST(InlineHelpers, WhatStays) {
  const std::string row =
      "__device__ void row(float* out, const float* in, int d) {\n" + LOOP + "    out[i] = in[i];\n}\n";
  // Twice; by address; as a part of an expression.
  expect_stays("  if (n > 3) { row(out, in, d); } else { row(out, in, d - 1); }", row);
  expect_stays("  void (*f)(float*, const float*, int) = row;\n  f(out, in, d);", row);
  expect_stays("  out[0] = 1 + sum(in, d);",
               "__device__ float sum(const float* x, int d) {\n  float s = 0;\n" + LOOP +
                   "    s += x[i];\n  return s;\n}\n");
  // Nothing that rules look for, and a block's own memory.
  expect_stays("  put(out, 1);", "__device__ void put(float* to, float x) { *to = x; }\n");
  expect_stays("  __shared__ float s[32];\n  fill(s);\n  out[0] = s[n];",
               "__device__ void fill(float* s) { if (threadIdx.x < 32) s[threadIdx.x] = 1; }\n");
  // It asks not to be, it calls itself, it has variables that stay.
  expect_stays("  row(out, in, d);", "__noinline__ " + row);
  expect_stays("  down(out, in, d);", "__device__ void down(float* out, const float* in, int d) {\n" + LOOP +
                                          "    out[i] = in[i];\n  if (d > 1) down(out, in, d - 1);\n}\n");
  // Specialised.
  expect_stays(
      "  row<1>(out, in, d);",
      "template <int N> __device__ void row(float* out, const float* in, int d) {\n" + LOOP +
          "    out[i] = in[i];\n}\n"
          "template <> __device__ void row<1>(float* out, const float* in, int d) { out[d] = in[d]; }\n");
  // For some of the kernel's instances, and for another one than the kernel calls.
  const std::string general =
      "template <int N> __device__ void row(float* out, const float* in, int d) {\n" + LOOP +
      "    out[i] = in[i] * N;\n}\n"
      "template <> __device__ void row<2>(float* out, const float*, int) { *out = 2; }\n";
  expect_stays("  row<3>(out, in, d);", general);
  EXPECT_FALSE(
      apply_rule("inline-helpers", plain(general + "template <int N> __global__ void k(float* out, const "
                                                   "float* in, int n, int d) {\n  row<N>(out, in, d);\n}\n"))
          .report.applied);
}

TEST(InlineHelpers, NamesThatMeanSomethingElse) {
  expect_stays("  const int scale = 3;\n  row(out, in, d);\n  out[0] = scale;",
               "__device__ const int scale = 2;\n"
               "__device__ void row(float* out, const float* in, int d) {\n" +
                   LOOP + "    out[i] = in[i] * scale;\n}\n",
               "scale is something else");
  // A macro would go on naming what is called otherwise.
  expect_stays("  int at = 1;\n  row(out, in, d);\n  out[at] = 1;",
               "#define AT out[at]\n__device__ void row(float* out, const float* in, int d) {\n"
               "  int at = threadIdx.x;\n  if (at < d) AT = in[at];\n}\n",
               "a macro names at");
}

TEST(InlineHelpers, NamespacesThatTheKernelIsNotIn) {
  Facts facts = plain("namespace a { __device__ int two() { return 2; }\n"
                      "__device__ void row(float* out, const float* in, int d) {\n" +
                      LOOP +
                      "    out[i] = in[i] * two();\n} }\n"
                      "__global__ void k(float* out, const float* in, int n, int d) {\n"
                      "  a::row(out, in, d);\n}\n");
  EXPECT_FALSE(apply_rule("inline-helpers", facts).report.applied);
}

TEST(InlineHelpers, OtherRulesReadTheWork) {
  const std::string text =
      kernel("  row(out + blockIdx.x * d, in + blockIdx.x * d, d);",
             "__device__ void row(float* to, const float* from, int count) {\n"
             "  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = 2 * from[i];\n}\n");
  const std::vector<std::string> rules{"vectorize-loop", "split-block"};
  const auto before = rewrite(make_candidate(plain(text)), rules, {});
  const auto after =
      rewrite(make_candidate(plain(text)), {"inline-helpers", "vectorize-loop", "split-block"}, {});
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_FALSE(before->reports[0].applied);
  EXPECT_TRUE(after->reports[1].applied) << after->reports[1].detail;
  EXPECT_TRUE(after->reports[2].applied) << after->reports[2].detail;
}

} // namespace
} // namespace lathe::refactor::testing
