// Reductions whose second stage every warp may do: which are taken, which are refused, and that the default
// stays the raw kernel's machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const char* const WARP_SUM = R"(__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
)";

// A row's elements over their sum, which the first warp leaves in shared memory. What stands between can be
// exchanged.
struct Parts {
  std::string before, loop_begin, stage_condition = "warp == 0",
                                  stage = "sum = lane < 8 ? part[lane] : 0.0f;",
                                  reduce = "sum = warp_sum(sum);", store = "part[0] = sum;", between = "",
                                  second_barrier = "__syncthreads();", behind, end;
  std::string text() const {
    return std::string(WARP_SUM) +
           kernel(
               "  __shared__ float part[32];\n  __shared__ float other[256];\n"
               "  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n" +
               before + loop_begin +
               "  float sum = 0.0f;\n  for (int i = threadIdx.x; i < d; i += 256)\n    sum += in[i];\n"
               "  sum = warp_sum(sum);\n  if (lane == 0)\n    part[warp] = sum;\n  __syncthreads();\n  if (" +
               stage_condition + ") {\n    " + stage + "\n    " + reduce + "\n    " + store + "\n  }\n" +
               between + "  " + second_barrier + "\n" + behind +
               "  for (int i = threadIdx.x; i < d; i += 256)\n    out[i] = in[i] / part[0];\n" + end);
  }
};

Outcome every_warp(const std::string& text, std::vector<std::string> block = {"256"}) {
  return apply_rule("reduce-in-every-warp", plain(text, std::move(block)));
}

TEST(EveryWarp, StageOfTheKernelItself) {
  const std::string text = Parts().text();
  const Outcome outcome = every_warp(text);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("float lathe_total = float(0);\n  if (EVERY_WARP == 1 || (warp == 0)) {"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("(EVERY_WARP == 1 ? lathe_total : part[0]) = sum;"));
  EXPECT_TRUE(outcome.has("if constexpr (EVERY_WARP == 0)\n    __syncthreads();"));
  EXPECT_TRUE(outcome.has("out[i] = in[i] / (EVERY_WARP == 1 ? lathe_total : part[0]);"));
  EXPECT_TRUE(outcome.has("part[warp] = sum;\n  __syncthreads();")) << "the first barrier stays";
  EXPECT_TRUE(outcome.has_condition("EVERY_WARP == 0 || (256) % 32 == 0") ||
              outcome.has_condition("EVERY_WARP == 0"));
  EXPECT_EQ(machine_code(text, "k"),
            machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")));
  const std::string other =
      machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32", {{"EVERY_WARP", 1}}));
  EXPECT_NE(other.rfind("error", 0), 0u) << other;
}

TEST(EveryWarp, StoreOfTheFirstLane) {
  Parts parts;
  parts.store = "if (lane == 0)\n      part[0] = sum * 2.0f;";
  const Outcome outcome = every_warp(parts.text());
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(
      outcome.has("if constexpr (EVERY_WARP == 1)\n      lathe_total = sum * 2.0f;\n    if (lane == 0)"))
      << outcome.candidate.text;
}

// A helper returns what the first warp has; the first thread leaves what follows from it.
std::string with_helper(const std::string& store = "mean = total / d;", const std::string& behind = "",
                        const std::string& stage = "v = lane < 8 ? part[lane] : 0.0f;") {
  return std::string(WARP_SUM) +
         "__device__ float block_sum(float v) {\n  __shared__ float part[32];\n"
         "  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n  v = warp_sum(v);\n  if (lane == "
         "0)\n"
         "    part[warp] = v;\n  __syncthreads();\n  if (warp == 0) {\n    " +
         stage + "\n    v = warp_sum(v);\n  }\n  return v;\n}\n" +
         kernel("  float sum = 0.0f;\n  for (int i = threadIdx.x; i < d; i += 256)\n    sum += in[i];\n"
                "  const float total = block_sum(sum);\n  __shared__ float mean;\n  if (threadIdx.x == 0) "
                "{\n    " +
                store + "\n    out[d] = mean;\n  }\n  __syncthreads();\n" + behind +
                "  for (int i = threadIdx.x; i < d; i += 256)\n    out[i] = in[i] - mean;");
}

TEST(EveryWarp, StageOfAHelper) {
  // `out` is stored before the barrier and behind it, never loaded.
  std::string text = with_helper();
  text.replace(text.find("out[d] = mean;"), 14, "in_mean[0] = mean;");
  text.replace(text.find("float* out, const float* in"), 27, "float* out, float* in_mean, const float* in");
  const Outcome outcome = every_warp(text);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("template <int EVERY_WARP> __device__ float block_sum(float v)") ||
              outcome.has("template <int EVERY_WARP>\n__device__ float block_sum(float v)"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("block_sum<EVERY_WARP>(sum)"));
  EXPECT_TRUE(
      outcome.has("if constexpr (EVERY_WARP == 1)\n    lathe_total = total / d;\n  if (threadIdx.x == 0) {"));
  EXPECT_EQ(machine_code(text, "k"),
            machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")));
}

struct Refused {
  const char* name;
  std::string text, reason;
  std::vector<std::string> block{"256"};
};

std::string changed(void (*change)(Parts&)) {
  Parts parts;
  change(parts);
  return parts.text();
}

class EveryWarpRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(EveryWarpRefuses, AndSaysWhy) {
  const Outcome outcome = every_warp(GetParam().text, GetParam().block);
  EXPECT_FALSE(outcome.report.applied) << outcome.candidate.text;
  EXPECT_NE(outcome.report.detail.find(GetParam().reason), std::string::npos) << outcome.report.detail;
}

INSTANTIATE_TEST_SUITE_P(
    Table, EveryWarpRefuses,
    ::testing::Values(
        Refused{"NoReduction", kernel("  out[threadIdx.x] = in[threadIdx.x];"), "no warp reduces"},
        Refused{"OwnSumGoesOn", changed([](Parts& p) { p.stage = "sum += lane < 8 ? part[lane] : 0.0f;"; }),
                "no warp reduces"},
        Refused{"SumEndsInOneLane", changed([](Parts& p) {
                  p.reduce = "for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);";
                }),
                ""},
        Refused{"ElementOfTheThread",
                changed([](Parts& p) { p.stage = "sum = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;"; }),
                "is not a lane's"},
        Refused{"DependsOnTheWarp", changed([](Parts& p) { p.reduce = "sum = warp_sum(sum) + warp;"; }),
                "depends on warp"},
        Refused{"ConditionOnData", changed([](Parts& p) { p.stage_condition = "warp == 0 && d > 7"; }), ""},
        Refused{"WrittenBehind", changed([](Parts& p) { p.behind = "  part[warp + 8] = in[warp];\n"; }),
                "used elsewhere"},
        Refused{"ResultWrittenAgain",
                changed([](Parts& p) { p.behind = "  if (lane == 3) part[0] = in[warp];\n"; }),
                "written again"},
        Refused{"OtherWrittenBehind",
                changed([](Parts& p) { p.behind = "  other[threadIdx.x] = in[warp];\n"; }),
                "written behind the barrier"},
        Refused{"WrittenThroughAPointer", changed([](Parts& p) {
                  p.before = "  float* own = part + 8;\n";
                  p.behind = "  own[warp] = in[warp];\n";
                }),
                "written behind the barrier"},
        Refused{"OtherReadElsewhere", changed([](Parts& p) { p.behind = "  out[d] = part[1];\n"; }),
                "used elsewhere"},
        Refused{"AnotherReductionBehind", changed([](Parts& p) {
                  p.behind = "  if (lane == 0) part[warp] = 1.0f;\n  __syncthreads();\n";
                }),
                "used elsewhere"},
        Refused{"LoopWithoutABarrierAtItsEnd", changed([](Parts& p) {
                  p.loop_begin = "  for (int row = 0; row < n; ++row) {\n";
                  p.end = "  }\n";
                }),
                "no barrier at its end"},
        Refused{"StatementBetween", changed([](Parts& p) { p.between = "  other[threadIdx.x] = sum;\n"; }),
                "no barrier follows"},
        Refused{"NoSecondBarrier", changed([](Parts& p) { p.second_barrier = ";"; }), "no barrier follows"},
        Refused{"OutIsLoadedBehind", with_helper("mean = total / d;", "  if (out[d] > 1.0f) return;\n"),
                "used behind it"},
        Refused{"StoreOfWhatOneThreadHas", with_helper("mean = total / d + in[0];"),
                "not every thread's own"},
        Refused{"StoreOfTheThread", with_helper("mean = total / d + threadIdx.x;"), "not every thread's own"},
        Refused{"HelperWithTheThreadsElement",
                with_helper("mean = total / d;", "", "v = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;"),
                "is not a lane's"}),
    [](const auto& tested) { return std::string(tested.param.name); });

} // namespace
} // namespace lathe::refactor::testing
