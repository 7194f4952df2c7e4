// Loops that a kernel leaves to the first thread of its block and that all threads share: which are taken and
// what they look like, what holds others back, and that the default stays the raw kernel's machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const char* const restricted =
    "float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ w, int n, int d";

Facts facts_of(const std::string& body, std::vector<std::string> block = {"256"},
               const std::string& parameters = restricted, const std::string& before = "") {
  return plain(kernel(body, before, parameters), std::move(block));
}

// Every thread leaves something in shared memory, then the first one does the work.
std::string staged(const std::string& work, const std::string& between = "  __syncthreads();\n") {
  return "  __shared__ float s[256];\n  const int base = blockIdx.x * d;\n"
         "  s[threadIdx.x] = in[base + threadIdx.x] * 2;\n" +
         between + work;
}

std::string first(const std::string& loop = "for (int i = 0; i < d; ++i)\n      out[base + i] = s[i];\n",
                  const std::string& condition = "threadIdx.x == 0") {
  return "  if (" + condition + ")\n    " + loop;
}

void same_at_zero_and_another_at_one(const Facts& facts) {
  const Outcome outcome = apply_rule("parallelize-loop", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  ASSERT_NE(outcome.knob("BLOCK_STRIDE"), nullptr);
  const std::string raw = machine_code(facts.text, "k");
  ASSERT_NE(raw.rfind("error", 0), 0u) << raw;
  EXPECT_EQ(raw, machine_code(outcome.candidate.text, "k<0>")) << outcome.candidate.text;
  const std::string shared = machine_code(outcome.candidate.text, "k<1>");
  EXPECT_NE(shared.rfind("error", 0), 0u) << shared << outcome.candidate.text;
  EXPECT_NE(shared, raw) << outcome.candidate.text;
}

TEST(ParallelizeLoop, ItsRoundsAreDealtOutToTheThreadsOfTheBlock) {
  const Outcome outcome = apply_rule("parallelize-loop", facts_of(staged(first())));
  EXPECT_EQ(outcome.candidate.text, R"(template <int BLOCK_STRIDE>
__global__ void k(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ w, int n, int d) {
  __shared__ float s[256];
  const int base = blockIdx.x * d;
  s[threadIdx.x] = in[base + threadIdx.x] * 2;
  __syncthreads();
  if constexpr (BLOCK_STRIDE != 0) {
    for (int i = threadIdx.x; i < d; i += blockDim.x)
      out[base + i] = s[i];
  } else {
  if (threadIdx.x == 0)
    for (int i = 0; i < d; ++i)
      out[base + i] = s[i];
  }

}
)");
  ASSERT_NE(outcome.knob("BLOCK_STRIDE"), nullptr) << outcome.report.detail;
  EXPECT_EQ(outcome.knob("BLOCK_STRIDE")->kind, KnobKind::coarsen);
  EXPECT_EQ(outcome.knob("BLOCK_STRIDE")->default_value.text(), "0");
}

TEST(ParallelizeLoop, WhatElseTheConditionAsksIsStillAsked) {
  const Facts facts = facts_of(staged("  if (blockIdx.x < n && threadIdx.x == 0 && (d > 3 || n > 1)) {\n"
                                      "    const int last = d - 1;\n"
                                      "    for (int i = 1; i < last; i += 2)\n      out[base + i] = s[i];\n"
                                      "  }"));
  same_at_zero_and_another_at_one(facts);
  const Outcome outcome = apply_rule("parallelize-loop", facts);
  EXPECT_TRUE(outcome.has("  if constexpr (BLOCK_STRIDE != 0) {\n"
                          "    if (blockIdx.x < n && (d > 3 || n > 1)) {\n"
                          "    const int last = d - 1;\n"
                          "    for (int i = (1) + (2) * static_cast<int>(threadIdx.x); i < last; "
                          "i += (2) * static_cast<int>(blockDim.x))\n"
                          "      out[base + i] = s[i];\n"
                          "  }\n"
                          "  } else {\n"
                          "  if (blockIdx.x < n && threadIdx.x == 0 && (d > 3 || n > 1)) {\n"))
      << outcome.candidate.text;
}

TEST(ParallelizeLoop, ThreadsOfTwoAxesAreNumberedThroughBoth) {
  const std::string body =
      "  const int base = blockIdx.x * d;\n  const int tid = threadIdx.y * 32 + threadIdx.x;\n"
      "  if (tid == 0) {\n    for (auto i = 0; i < d; i++)\n      out[base + i] = w[i];\n  }";
  const Facts facts = facts_of(body, {"32", "8"});
  same_at_zero_and_another_at_one(facts);
  const Outcome outcome = apply_rule("parallelize-loop", facts);
  EXPECT_TRUE(
      outcome.has("  if constexpr (BLOCK_STRIDE != 0) {\n"
                  "    for (auto i = static_cast<int>((threadIdx.y * blockDim.x + threadIdx.x)); i < d; "
                  "i += (blockDim.x * blockDim.y))\n"
                  "      out[base + i] = w[i];\n"
                  "  } else {\n"))
      << outcome.candidate.text;
}

TEST(ParallelizeLoop, AllThatCanBeSharedHaveOneKnob) {
  const Facts facts =
      facts_of("  __shared__ float s[64];\n" + first("for (int i = 0; i < 64; ++i)\n      s[i] = 0;\n") +
               "  __syncthreads();\n  atomicAdd(&s[threadIdx.x % 64], in[threadIdx.x]);\n"
               "  __syncthreads();\n" +
               first("for (int i = 0; i < 64; ++i)\n      out[blockIdx.x * 64 + i] = s[i];\n"));
  same_at_zero_and_another_at_one(facts);
  const Outcome outcome = apply_rule("parallelize-loop", facts);
  EXPECT_EQ(outcome.report.knobs.size(), 1u);
  EXPECT_TRUE(outcome.has("for (int i = threadIdx.x; i < 64; i += blockDim.x)\n      s[i] = 0;"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("i += blockDim.x)\n      out[blockIdx.x * 64 + i] = s[i];"))
      << outcome.candidate.text;
}

TEST(ParallelizeLoop, LaterRulesReadTheSharedLoop) {
  Facts facts =
      facts_of("  __shared__ float s[256];\n"
               "  for (int i = threadIdx.x; i < d; i += blockDim.x)\n    s[i] = in[blockIdx.x * d + i];\n"
               "  __syncthreads();\n" +
               first("for (int i = 0; i < d; ++i)\n      out[blockIdx.x * d + i] = s[d - 1 - i];\n"));
  const Candidate raw = make_candidate(facts);
  const auto result = rewrite(raw, {}, ParseOptions{});
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  const std::string& text = result->candidate.text;
  EXPECT_NE(text.find("for (int i = threadIdx.x; i < d; i += (BLOCK == 0 ? blockDim.x : BLOCK))\n"
                      "      lathe_store<STORE_CACHE>(s[d - 1 - i], &out["),
            std::string::npos)
      << text;
  EXPECT_EQ(machine_code(with_preconditions(raw.text, result->candidate), "k"),
            machine_code(text, bound_instance(result->candidate, "f32")));
  const std::string shared = machine_code(
      text, bound_instance(result->candidate, "f32", {{"BLOCK_STRIDE", 1}, {"BLOCK", 64}, {"ROWS", 2}}));
  EXPECT_NE(shared.rfind("error", 0), 0u) << shared;
}

TEST(ParallelizeLoop, OnceIsEnough) {
  const auto result = rewrite(make_candidate(facts_of(staged(first()))),
                              {"parallelize-loop", "parallelize-loop"}, ParseOptions{});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->reports[1].applied);
  EXPECT_NE(result->reports[1].detail.find("dealt out already"), std::string::npos);
}

class Parallelize : public ::testing::TestWithParam<Row> {};
TEST_P(Parallelize, TakesOrRefuses) {
  check(GetParam());
  if (!GetParam().knob.empty())
    same_at_zero_and_another_at_one(GetParam().facts);
}

Row takes(const char* name, const Facts& facts) {
  return {name, "parallelize-loop", facts, "BLOCK_STRIDE", ""};
}
Row refuses(const char* name, const Facts& facts, const std::string& reason) {
  return {name, "parallelize-loop", facts, "", reason};
}
const auto by_name = [](const auto& tested) { return std::string(tested.param.name); };

INSTANTIATE_TEST_SUITE_P(
    Conditions, Parallelize,
    ::testing::Values(
        takes("Negation",
              facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];", "!threadIdx.x")))),
        takes("OnTheLeft", facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                                 "0 == threadIdx.x")))),
        takes("BelowOne", facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                                "threadIdx.x < 1")))),
        takes("Alias",
              facts_of("  const int tid = threadIdx.x;\n" +
                       staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];", "tid == 0")))),
        takes("BothAxes", facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = w[i];",
                                                "threadIdx.x == 0 && threadIdx.y == 0")),
                                   {"32", "8"})),
        takes("LinearNumber", facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = w[i];",
                                                    "threadIdx.x + threadIdx.y * blockDim.x == 0")),
                                       {"32", "8"})),
        refuses("AColumnOfThreads", facts_of(staged(first()), {"32", "8"}), "may hold for several threads"),
        refuses("BlockOfUnknownAxes", facts_of(staged(first()), {"256", "n"}),
                "may hold for several threads"),
        refuses("ThirdAxis", facts_of(staged(first()), {"32", "1", "4"}), "third axis"),
        refuses("OneThread", facts_of(staged(first()), {"1"}), "a block has one thread"),
        refuses("OfEachWarp",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                      "threadIdx.x % 32 == 0"))),
                "not that of a block's first thread"),
        refuses("AnotherThread",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                      "threadIdx.x == 1"))),
                "no loop is left to the first thread"),
        refuses("LastThread",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                      "blockDim.x - 1 - threadIdx.x == 0"))),
                "not that of a block's first thread"),
        refuses("OfTheGrid",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                      "blockIdx.x * blockDim.x + threadIdx.x == 0"))),
                "not that of a block's first thread"),
        refuses("Either",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                      "threadIdx.x == 0 || n > 3"))),
                "no loop is left to the first thread"),
        refuses("AndAThreadsOwn",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                      "threadIdx.x == 0 && in[threadIdx.x] > 0"))),
                "not that of a block's first thread"),
        refuses("AndSharedMemory",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i];",
                                      "threadIdx.x == 0 && s[0] > 0"))),
                "not that of a block's first thread"),
        refuses("OtherwiseTheOthers", facts_of(staged(first() + "  else\n    out[n * d + threadIdx.x] = 1;")),
                "chooses between two branches")),
    by_name);

INSTANTIATE_TEST_SUITE_P(
    Rounds, Parallelize,
    ::testing::Values(
        takes("InnerLoop",
              facts_of(staged(first("for (int i = 0; i < d; ++i) {\n float sum = 0;\n for (int j = 0; j < n; "
                                    "++j)\n sum += s[j] * w[i * n + j];\n out[base + i] = sum;\n }")))),
        takes("PairsOfElements",
              facts_of(staged(first(
                  "for (int i = 0; i < d; ++i) {\n out[2 * i] = s[i];\n out[2 * i + 1] = s[i + 1];\n }")))),
        takes("InPlace", facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] += s[i];")))),
        takes("Backwards",
              facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + d - 1 - i] = s[i];")))),
        takes("TwoLoops", facts_of(staged(first("{ for (int i = 0; i < d; ++i)\n out[i] = s[i];\n for (int j "
                                                "= 0; j < n; ++j)\n other[j] = w[j]; }")),
                                   {"256"},
                                   "float* __restrict__ out, float* __restrict__ other, const float* in, "
                                   "const float* w, int n, int d")),
        takes("UnknownAliasesElementByElement",
              facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i] = w[i];")), {"256"},
                       "float* out, const float* in, const float* w, int n, int d")),
        takes("ReadOnlyBeginning",
              facts_of("  const int begin = w[blockIdx.x];\n" +
                       staged(first("for (int i = 0; i < d; ++i)\n out[i] = s[i] * begin;")))),
        refuses("ElementsOfAnObject",
                facts_of(staged(first("for (int i = 0; i < d; ++i) {\n out[i] = s[i];\n p[0] = s[i];\n }")),
                         {"256"}, "float* out, Buffer p, const float* in, const float* w, int n, int d",
                         "struct Buffer {\n  float* out;\n  __device__ float& operator[](int i) { return "
                         "out[i]; }\n};\n"),
                "not known what memory"),
        refuses("FunctionAtMemoryOfTheFile",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = look(i);")), {"256"},
                         restricted,
                         "__shared__ float t[256];\n__device__ float look(int i) { return t[i]; }\n"),
                "memory that it is not handed"),
        refuses("RunningSum",
                facts_of(
                    staged("  float sum = 0;\n" +
                           first("for (int i = 0; i < d; ++i) {\n sum += s[i];\n out[base + i] = sum;\n }"))),
                "sum at line"),
        refuses(
            "SumThatIsReadBehind",
            facts_of(staged("  float sum = 0;\n" +
                            first("for (int i = 0; i < d; ++i) {\n sum += s[i];\n out[base + i] = 0;\n }") +
                            "  if (threadIdx.x == 0) out[0] = sum;")),
            "sum at line"),
        refuses("OneElement", facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base] = s[i];"))),
                "two rounds may store one element"),
        refuses("StrideThatMayBeZero",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i * n] = s[i];"))),
                "two rounds may store one element"),
        refuses("ElementsThatComeAgain",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i % 4] = s[i];"))),
                "two rounds may store one element"),
        refuses("ElementsByATable",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i + (int)w[i]] = s[i];"))),
                "two rounds may store one element"),
        refuses("IndexOfEightBits",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[(unsigned char)i] = s[i];"))),
                "cut to fewer than 32 bits"),
        refuses("VariableOfEightBits",
                facts_of(staged(first(
                    "for (int i = 0; i < d; ++i) {\n const unsigned char e = i;\n out[e] = s[i];\n }"))),
                "cut to fewer than 32 bits"),
        refuses("InnerCounterInTheIndex",
                facts_of(staged(first(
                    "for (int i = 0; i < d; ++i)\n for (int j = 0; j < n; ++j)\n out[i * 8 + j] = s[i];"))),
                "two rounds may store one element"),
        refuses("TheElementBefore",
                facts_of(staged(first("for (int i = 1; i < d; ++i)\n out[i] = out[i - 1] + s[i];"))),
                "what another one stores"),
        refuses("OverlappingPairs",
                facts_of(
                    staged(first("for (int i = 0; i < d; ++i) {\n out[i] = s[i];\n out[i + 1] = s[i];\n }"))),
                "what another one stores"),
        refuses("MayBeTheSameBuffer",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i] = w[i + 1];")), {"256"},
                         "float* out, const float* in, const float* w, int n, int d"),
                "what another one stores"),
        refuses("OtherElementsOfMaybeTheSameBuffer",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i] = w[i];")), {"256"},
                         "float* out, const float* in, const unsigned short* w, int n, int d"),
                "what another one stores"),
        refuses("LoopsAtTheSameMemory",
                facts_of(staged(first("{ for (int i = 0; i < d; ++i)\n out[i] = s[i];\n for (int j = 0; j < "
                                      "d; ++j)\n out[n + j] = w[j]; }"))),
                "two loops of the branch"),
        refuses("Atomic",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i] = atomicAdd(&out[n], s[i]);"))),
                "a round orders memory"),
        refuses(
            "Fence",
            facts_of(staged(first("for (int i = 0; i < d; ++i) {\n out[i] = s[i];\n __threadfence();\n }"))),
            "a round orders memory"),
        refuses("Shuffle",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i] = __shfl_sync(1, s[i], 0);"))),
                "may depend on the thread"),
        refuses("Break",
                facts_of(staged(
                    first("for (int i = 0; i < d; ++i) {\n if (s[i] < 0) break;\n out[i] = s[i];\n }"))),
                "a round may end the loop"),
        refuses("Continue",
                facts_of(staged(
                    first("for (int i = 0; i < d; ++i) {\n if (s[i] < 0) continue;\n out[i] = s[i];\n }"))),
                "a round may end the loop"),
        refuses("Return",
                facts_of(staged(
                    first("for (int i = 0; i < d; ++i) {\n if (s[i] < 0) return;\n out[i] = s[i];\n }"))),
                "a round may end the loop"),
        refuses("Volatile",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n *(volatile float*)&out[i] = s[i];"))),
                "volatile"),
        refuses("Clock", facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i] = clock();"))),
                "may depend on the thread"),
        refuses("StoresNothing", facts_of(staged(first("for (int i = 0; i < d; ++i)\n s[i];"))),
                "stores nothing"),
        refuses("MoreThanALoop",
                facts_of(staged(first("{ for (int i = 0; i < d; ++i)\n out[i] = s[i];\n out[d] = 1; }"))),
                "does more than loops"),
        refuses("ChangesItsCounter",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[i++] = s[i];"))),
                "does not count up"),
        refuses("BoundOfAThread",
                facts_of(staged("  const int last = in[threadIdx.x];\n" +
                                first("for (int i = 0; i < last; ++i)\n out[i] = s[i];"))),
                "does not count up"),
        refuses("BoundFromSharedMemory",
                facts_of(staged(first("for (int i = 0; i < s[0]; ++i)\n out[i] = s[i];"))),
                "does not count up"),
        refuses("StepThatMayBeZero",
                facts_of(staged(first("for (int i = 0; i < d; i += n)\n out[i] = s[i];"))),
                "does not count up"),
        refuses("NarrowCounter",
                facts_of(staged(first("for (unsigned char i = 0; i < 200; ++i)\n out[i] = s[i];"))),
                "narrower than 32 bits"),
        refuses("BeginsInBraces", facts_of(staged(first("for (int i{0}; i < d; ++i)\n out[i] = s[i];"))),
                "begins in braces")),
    by_name);

INSTANTIATE_TEST_SUITE_P(
    Values, Parallelize,
    ::testing::Values(
        takes("OfTheBlock",
              facts_of(staged("  const float scale = 2.0f / d;\n" +
                              first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;")))),
        takes("ReadOnlyMemory",
              facts_of(staged("  const float scale = w[blockIdx.x];\n" +
                              first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;")))),
        takes("CounterOfTheRowsAround",
              facts_of("  __shared__ float s[256];\n  for (int row = blockIdx.x; row < n; row += gridDim.x) "
                       "{\n    const int base = row * d;\n    s[threadIdx.x] = in[base + threadIdx.x];\n    "
                       "__syncthreads();\n" +
                       first() + "    __syncthreads();\n  }")),
        refuses("FunctionOfSharedMemory",
                facts_of(staged("  const float scale = total();\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;")),
                         {"256"}, restricted,
                         "__shared__ float t;\n__device__ float total() { return t; }\n"),
                "scale at line"),
        refuses("BehindAPointerInAnArgument",
                facts_of(staged("  const float scale = p->scale;\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;")),
                         {"256"}, "float* out, Numbers* p, const float* in, int n, int d",
                         "struct Numbers { float scale; };\n"),
                "scale at line"),
        refuses("AThreadsOwn",
                facts_of(staged("  const float scale = in[threadIdx.x];\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;"))),
                "scale at line"),
        refuses("ThreadsNumber",
                facts_of(staged(first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] + threadIdx.x;"))),
                "names threadIdx.x"),
        refuses("AliasOfTheNumber",
                facts_of(staged("  const int tid = threadIdx.x;\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i + tid] = s[i];"))),
                "tid at line"),
        refuses("SetUnderACondition",
                facts_of(staged("  float scale = 1;\n  if (threadIdx.x == 0)\n    scale = 2;\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;"))),
                "scale at line"),
        refuses("ReadFromSharedMemoryBefore",
                facts_of(staged("  const float scale = s[0];\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;"))),
                "scale at line"),
        refuses("MemoryThatMayChange",
                facts_of(staged("  const float scale = w[0];\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;")),
                         {"256"}, "float* out, const float* in, const float* w, int n, int d"),
                "scale at line"),
        refuses("NeverSet",
                facts_of(staged("  float scale;\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] * scale;"))),
                "scale at line"),
        refuses("LocalArray",
                facts_of(staged("  float own[8] = {in[threadIdx.x]};\n" +
                                first("for (int i = 0; i < 8; ++i)\n out[base + i] = own[i];"))),
                "own is each thread's own"),
        refuses("PointerOfAThread",
                facts_of(staged("  float* row = out + threadIdx.x * d;\n" +
                                first("for (int i = 0; i < d; ++i)\n row[i] = s[i];"))),
                "row at line"),
        refuses("ResultOfACall",
                facts_of(staged("  const int lane = number();\n" +
                                first("for (int i = 0; i < d; ++i)\n out[base + i] = s[i] + lane;")),
                         {"256"}, restricted, "__device__ int number() { return threadIdx.x % 32; }\n"),
                "lane at line")),
    by_name);

INSTANTIATE_TEST_SUITE_P(
    Arrival, Parallelize,
    ::testing::Values(
        takes("ReturnOfTheBlock", facts_of("  if (blockIdx.x >= n)\n    return;\n" + staged(first()))),
        takes("UniformBranch", facts_of(staged("  if (n > 3) {\n" + first() + "  }"))),
        refuses("SomeHaveReturned", facts_of("  if (threadIdx.x >= 32)\n    return;\n" + staged(first())),
                "threads may have left at line 3"),
        refuses("SomeHaveReturnedFromABlocksBranch",
                facts_of("  if (n > 3) {\n    if (threadIdx.x >= 32)\n      return;\n  }\n" +
                         staged(first())),
                "threads may have left"),
        refuses("SomeHaveReturnedFromALoop",
                facts_of("  for (int i = threadIdx.x; i < n; i += 32)\n    if (in[i] < 0)\n      return;\n" +
                         staged(first())),
                "threads may have left"),
        refuses("InABranchOfSome", facts_of(staged("  if (in[threadIdx.x] > 0) {\n" + first() + "  }")),
                "not every thread"),
        refuses("InALoopOfAThread",
                facts_of(staged("  for (int r = threadIdx.x; r < n; r += 8) {\n    __syncthreads();\n" +
                                first() + "    __syncthreads();\n  }")),
                "not every thread"),
        refuses("InAWhile",
                facts_of(staged("  int r = 0;\n  while (r < n) {\n    ++r;\n    __syncthreads();\n" +
                                first() + "    __syncthreads();\n  }")),
                "not every thread"),
        refuses("SomeLeaveTheLoopBehind",
                facts_of(staged("  for (int r = 0; r < n; ++r) {\n    __syncthreads();\n" + first() +
                                "    __syncthreads();\n    if (in[threadIdx.x] > r)\n      break;\n  }")),
                "threads may have left"),
        refuses("SomeTrap", facts_of("  if (threadIdx.x >= n)\n    __trap();\n" + staged(first())),
                "threads may have left"),
        refuses("SomeExit",
                facts_of("  if (threadIdx.x >= n)\n    asm volatile(\"exit;\");\n" + staged(first())),
                "threads may have left"),
        refuses("Labels", facts_of(staged("again:\n" + first())), "labels")),
    by_name);

INSTANTIATE_TEST_SUITE_P(
    Barriers, Parallelize,
    ::testing::Values(
        takes("FromTheKernelsBeginning",
              facts_of("  const int base = blockIdx.x * d;\n" +
                       first("for (int i = 0; i < d; ++i)\n out[base + i] = w[i];"))),
        takes("OtherMemoryMeanwhile", facts_of(staged("  t[threadIdx.x] = in[threadIdx.x];\n" + first() +
                                                      "  other[threadIdx.x] = t[threadIdx.x];"),
                                               {"256"},
                                               "float* __restrict__ out, float* __restrict__ other, const "
                                               "float* in, float* __restrict__ t, int n, int d")),
        takes("BarrierAroundABranch", facts_of(staged("  if (n > 3) {\n" + first() +
                                                      "  }\n  __syncthreads();\n  s[threadIdx.x] = 1;"))),
        refuses("NoBarrierBehindTheOthersStores", facts_of(staged(first(), "")), "s is used at line"),
        refuses("BarrierOfAWarpAlone", facts_of(staged(first(), "  __syncwarp();\n")),
                "a call may change memory"),
        refuses("BarrierUnderACondition", facts_of(staged(first(), "  if (n > 3)\n    __syncthreads();\n")),
                "a call may change memory"),
        refuses("ItsOwnStoresBefore", facts_of(staged("  if (threadIdx.x == 0)\n    s[0] = 1;\n" + first())),
                "s is used at line"),
        refuses("ItsOwnStoresToGlobalMemoryBefore",
                facts_of(staged("  if (threadIdx.x == 0)\n    out[base] = 1;\n" + first())),
                "out is used at line"),
        refuses("OverwrittenBehind", facts_of(staged(first() + "  s[threadIdx.x] = 1;")),
                "s is used at line"),
        refuses("ReadBehind", facts_of(staged(first() + "  if (threadIdx.x == 0)\n    s[0] = out[base];")),
                "is used at line"),
        refuses("OverwrittenInTheNextRound",
                facts_of("  __shared__ float s[256];\n  for (int r = 0; r < n; ++r) {\n    s[threadIdx.x] = "
                         "in[r];\n    __syncthreads();\n" +
                         first("for (int i = 0; i < d; ++i)\n out[r * d + i] = s[i];") + "  }"),
                "not between two barriers of the loop"),
        refuses("TwoNamesOfOneMemory",
                facts_of("  extern __shared__ float a[];\n  extern __shared__ int b[];\n  a[threadIdx.x] = "
                         "in[threadIdx.x];\n  __syncthreads();\n" +
                         first("for (int i = 0; i < d; ++i)\n out[i] = a[i];") + "  b[threadIdx.x] = 1;"),
                "b is used at line"),
        refuses("ReferenceToItsMemory",
                facts_of(staged("  __syncthreads();\n" + first() + "  r = 1;",
                                "  float& r = s[threadIdx.x];\n")),
                "what memory r is"),
        refuses(
            "FlagBehind",
            facts_of(staged(first() +
                            "  if (threadIdx.x == 0) {\n    __threadfence();\n    atomicExch(flag, 1);\n  }"),
                     {"256"},
                     "float* __restrict__ out, int* __restrict__ flag, const float* in, const float* w, int "
                     "n, int d"),
            "memory is ordered"),
        refuses("VolatileFlagBefore",
                facts_of(staged("  while (*flag == 0) {\n  }\n" + first()), {"256"},
                         "float* __restrict__ out, volatile int* __restrict__ flag, const float* in, const "
                         "float* w, int n, int d"),
                "volatile"),
        refuses("CallBehind",
                facts_of(staged(first() + "  clear(s);"), {"256"}, restricted,
                         "__device__ void clear(float* p) { p[threadIdx.x] = 0; }\n"),
                "is used at line"),
        refuses("LeavesTheLoopBeforeTheBarrier",
                facts_of(staged(
                    "  for (int r = 0; r < n; ++r) {\n    __syncthreads();\n" + first() +
                    "    if (r == 3)\n      break;\n    __syncthreads();\n  }\n  s[threadIdx.x] = 1;")),
                "leave before its threads wait"),
        refuses("GoesOnBeforeTheBarrier",
                facts_of(staged("  for (int r = 0; r < n; ++r) {\n    __syncthreads();\n" + first() +
                                "    if (r == 3)\n      continue;\n    __syncthreads();\n  }")),
                "leave before its threads wait"),
        refuses("CallAtSharedMemoryOfTheFile",
                facts_of(staged(first() + "  clear();"), {"256"}, restricted,
                         "__shared__ float t[256];\n__device__ void clear() { t[threadIdx.x] = 0; }\n"),
                "memory that it is not handed"),
        refuses(
            "CallAtTheDynamicMemory",
            facts_of(
                "  extern __shared__ float s[];\n  s[threadIdx.x] = in[threadIdx.x];\n  __syncthreads();\n" +
                    first("for (int i = 0; i < d; ++i)\n out[i] = s[i];") + "  clear();",
                {"256"}, restricted,
                "__device__ void clear() { extern __shared__ float s[]; s[threadIdx.x] = 0; }\n"),
            "memory that it is not handed"),
        refuses("TableOfPointers",
                facts_of(staged(first() + "  all[n][threadIdx.x] = 1;"), {"256"},
                         "float* __restrict__ out, float** __restrict__ all, const float* in, const float* "
                         "w, int n, int d"),
                "not known what memory"),
        refuses("ArrowInAnArgument",
                facts_of(staged(first() + "  p.one->out = threadIdx.x;"), {"256"},
                         "float* out, Buffers p, const float* in, const float* w, int n, int d",
                         "struct One { float out; };\nstruct Buffers { One* one; };\n"),
                "not known what memory"),
        refuses("ElementOfAnObject",
                facts_of(staged(first() + "  p[threadIdx.x] = 1;"), {"256"},
                         "float* out, Buffer p, const float* in, const float* w, int n, int d",
                         "struct Buffer {\n  float* out;\n  __device__ float& operator[](int i) { return "
                         "out[i]; }\n};\n"),
                "not known what memory"),
        refuses("PointerInAnArgument",
                facts_of(staged(first() + "  p.out[threadIdx.x] = 1;"), {"256"},
                         "float* out, Buffers p, const float* in, const float* w, int n, int d",
                         "struct Buffers { float* out; };\n"),
                "not known what memory"),
        takes("ReturnsBehind",
              facts_of(staged("  if (n > 3) {\n" + first() + "    return;\n  }\n  s[threadIdx.x] = 1;"))),
        refuses("CallThatWaits",
                facts_of(staged(first(), "  meet();\n"), {"256"}, restricted,
                         "__device__ void meet() { __syncthreads(); }\n"),
                "a call may change memory")),
    by_name);

} // namespace
} // namespace lathe::refactor::testing
