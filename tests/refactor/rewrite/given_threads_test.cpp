// Functions that are given the thread's number and the number of threads: a block size is a knob where every
// call gives the same ones, and the loops of the function deal the work out by them.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

// Through vectors where the address allows it, and through the elements otherwise, as such functions do.
const std::string overloads = R"(
template <int W, typename Pack, typename Single>
__device__ void go_through(const float* p, int count, int first, int step, Pack pack, Single single) {
  if (reinterpret_cast<unsigned long long>(p) % (W * 4) == 0 && count % W == 0) {
    for (int i = first; i < count / W; i += step)
      pack(reinterpret_cast<const float4*>(p)[i]);
    return;
  }
  for (int i = first; i < count; i += step)
    single(p[i]);
}
template <typename Single> struct Each {
  Single single;
  __device__ void operator()(const float4& v) const { single(v.x), single(v.y), single(v.z), single(v.w); }
};
template <int W, typename Single>
__device__ void go_through(const float* p, int count, int first, int step, Single single) {
  go_through<W>(p, count, first, step, Each<Single>{single}, single);
}
)";

Outcome exposed(const std::string& body, const std::string& helpers = overloads) {
  return apply_rule("expose-block-size", plain(kernel(body, helpers), {"256"}));
}

TEST(GivenThreads, AFunctionWithOverloadsDealsOut) {
  const std::string body = "  float sum = 0;\n  auto add = [&](float v) { sum += v; };\n"
                           "  auto add4 = [&](const float4& v) { sum += v.x + v.y + v.z + v.w; };\n"
                           "  go_through<4>(in + blockIdx.x * d, d, threadIdx.x, blockDim.x, add4, add);\n"
                           "  atomicAdd(&out[blockIdx.x], sum);\n";
  const Facts facts = plain(kernel(body, overloads), {"256"});
  const Outcome outcome = apply_rule("expose-block-size", facts);
  ASSERT_NE(outcome.knob("BLOCK"), nullptr) << outcome.report.detail;
  EXPECT_EQ(machine_code(facts.text, "k"), machine_code(outcome.candidate.text, "k<0>"));
}

TEST(GivenThreads, WhatAnOverloadHandsOnIsKnownToo) {
  const Outcome outcome = exposed("  float sum = 0;\n  auto add = [&](float v) { sum += v; };\n"
                                  "  go_through<4>(in + blockIdx.x * d, d, threadIdx.x, blockDim.x, add);\n"
                                  "  go_through<4>(in + n * d, d, threadIdx.x, blockDim.x, add);\n"
                                  "  atomicAdd(&out[blockIdx.x], sum);\n");
  EXPECT_NE(outcome.knob("BLOCK"), nullptr) << outcome.report.detail;
}

const std::string copies =
    "__device__ void copy(float* to, const float* from, int count, int first, int step) {\n"
    "  for (int i = first; i < count; i += step) to[i] = from[i];\n}\n";

TEST(GivenThreads, CallsThatGiveDifferentNumbersRefuse) {
  EXPECT_NE(exposed("  copy(out, in, d, threadIdx.x, blockDim.x);\n"
                    "  copy(out + d, in, d, threadIdx.x, blockDim.x);\n",
                    copies)
                .knob("BLOCK"),
            nullptr);
  const Outcome outcome = exposed("  copy(out, in, d, threadIdx.x, blockDim.x);\n"
                                  "  copy(out + d, in, d, threadIdx.x / 2, blockDim.x / 2);\n",
                                  copies);
  EXPECT_EQ(outcome.knob("BLOCK"), nullptr);
  EXPECT_NE(outcome.report.detail.find("threadIdx.x is used in a way"), std::string::npos)
      << outcome.report.detail;
}

TEST(GivenThreads, WhatTheFunctionMakesOfThemIsLookedAt) {
  const Outcome alone = exposed(
      "  copy(out, in, d, threadIdx.x, blockDim.x);\n  copy(out + d, in, d, threadIdx.x, blockDim.x);\n",
      "__device__ void copy(float* to, const float* from, int count, int first, int step) {\n"
      "  to[first] = from[first];\n}\n");
  EXPECT_EQ(alone.knob("BLOCK"), nullptr);
  EXPECT_NE(alone.report.detail.find("global memory is addressed by threadIdx.x alone"), std::string::npos)
      << alone.report.detail;
  const Outcome moved = exposed(
      "  copy(out, in, d, threadIdx.x, blockDim.x);\n  copy(out + d, in, d, threadIdx.x, blockDim.x);\n",
      "__device__ void copy(float* to, const float* from, int count, int first, int step) {\n"
      "  for (first += 1; first < count; first += step) to[first] = from[first];\n}\n");
  EXPECT_EQ(moved.knob("BLOCK"), nullptr) << "the parameter changes";
}

} // namespace
} // namespace lathe::refactor::testing
