// Two kernels as one template: which is what the launcher would take, and each the raw kernel's machine code.
#include "refactor/rewrite/joined_kernels.h"
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gmock/gmock.h>

namespace lathe::refactor::testing {
namespace {

using ::testing::HasSubstr;

// Helpers of one name that are not the same, and a macro in one of them.
const char* const wide = R"(
#include <cuda_fp16.h>
#define PAIRS 2
template <typename T> __device__ float twice(T x) { return PAIRS * static_cast<float>(x); }
template <typename T> __global__ void __launch_bounds__(256) wide(float* out, const T* in, int n, int d) {
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    out[blockIdx.x * d + i] = twice(in[blockIdx.x * d + i]);
}
)";
const char* const narrow = R"(
#include <cuda_fp16.h>
template <typename T> __device__ float twice(T x) { return static_cast<float>(x) + static_cast<float>(x); }
template <typename T> __global__ void narrow(float* out, const T* in, int n, int d) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= n)
    return;
  for (int i = threadIdx.x % 32; i < d; i += 32)
    out[row * d + i] = twice(in[row * d + i]);
}
)";

Facts facts(const char* text, const char* instance, const char* grid) {
  Facts result = plain(text, {"256"}, {grid});
  result.instance = instance;
  result.dtypes = {"f32", "f16"};
  return result;
}

class Joined : public ::testing::Test {
protected:
  Joined()
      : first_(make_candidate(facts(narrow, "narrow<{T}>", "ceil_div(n, 8)"))),
        second_(make_candidate(facts(wide, "wide<{T}>", "n"))) {
    knob_ = {"KERNEL", *Expression::parse("n >= device.multiprocessors * 16"), "which"};
  }

  Candidate first_, second_;
  KernelKnob knob_;
};

TEST_F(Joined, RawSideIsBothKernels) {
  const auto raw = join_raw({&first_, &second_}, knob_);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->instance, "KERNEL == 1 ? kernel_1::narrow<{T}> : kernel_2::wide<{T}>");
  EXPECT_EQ(raw->launch.grid[0].text(), "KERNEL == 1 ? (ceil_div(n, 8)) : (n)");
  EXPECT_EQ(raw->launch.block[0].text(), "256");
  EXPECT_EQ(machine_code(raw->text, "kernel_2::wide<float>"), machine_code(wide, "wide<float>"));
}

TEST_F(Joined, EachForcedChoiceIsThatKernelsMachineCode) {
  const auto joined = join_templates({&first_, &second_}, knob_, "scale_choice", {});
  ASSERT_TRUE(joined.ok()) << joined.error().sentence();
  ASSERT_EQ(joined->knobs.size(), 1u);
  EXPECT_EQ(joined->knobs[0].default_value.text(), "(n >= device.multiprocessors * 16) ? 1 : 2");
  EXPECT_EQ(joined->instance, "scale_choice<{T}, {KERNEL}>");
  for (const char* type : {"float", "__half"}) {
    const std::string of = std::string("<") + type;
    EXPECT_EQ(machine_code(joined->text, "scale_choice" + of + ", 1>"),
              machine_code(narrow, "narrow" + of + ">"));
    EXPECT_EQ(machine_code(joined->text, "scale_choice" + of + ", 2>"),
              machine_code(wide, "wide" + of + ">"));
  }
}

TEST_F(Joined, ASidesKnobsRestWhereTheOtherRuns) {
  const auto bounded = apply_rule("launch-bounds", facts(wide, "wide<{T}>", "n"));
  ASSERT_TRUE(bounded.report.applied) << bounded.report.detail;
  const auto joined = join_templates({&first_, &bounded.candidate}, knob_, "scale_choice", {});
  ASSERT_TRUE(joined.ok()) << joined.error().sentence();
  ASSERT_EQ(joined->knobs.size(), 2u);
  EXPECT_EQ(joined->knobs[1].name, "K2_MIN_BLOCKS");
  std::string conditions;
  for (const Condition& condition : joined->conditions)
    conditions += condition.expression.text() + "\n";
  EXPECT_THAT(conditions, HasSubstr("KERNEL == 2 || K2_MIN_BLOCKS == (0)"));
  EXPECT_THAT(conditions, HasSubstr("KERNEL != 2 || (K2_MIN_BLOCKS <= 1"));
  EXPECT_THAT(joined->text, HasSubstr("lathe_launch_bounds<T, K2_MIN_BLOCKS>::blocks"));
  EXPECT_EQ(machine_code(joined->text, "scale_choice<float, 2, 0>"), machine_code(wide, "wide<float>"));
  EXPECT_EQ(machine_code(joined->text, "scale_choice<float, 1, 0>"), machine_code(narrow, "narrow<float>"));
}

TEST_F(Joined, OtherArgumentsAreRefused) {
  for (Candidate* side : {&first_, &second_}) {
    Argument& size = side->arguments.emplace_back();
    size.name = side == &first_ ? "d" : "columns";
    size.dtype = "i32";
    size.is_buffer = false;
  }
  const auto joined = join_raw({&first_, &second_}, knob_);
  ASSERT_FALSE(joined.ok());
  EXPECT_THAT(joined.error().sentence(), HasSubstr("their arguments are"));
}

TEST_F(Joined, TextsThatNeedTheGlobalNamespaceAreRefused) {
  second_.text.insert(second_.text.find("template"), "constexpr int by = 2;\n");
  second_.text.replace(second_.text.find("PAIRS *"), 5, "::by");
  const auto joined = join_templates({&first_, &second_}, knob_, "scale_choice", {});
  ASSERT_FALSE(joined.ok());
  EXPECT_THAT(joined.error().sentence(), HasSubstr("do not parse in namespaces of their own"));
}

} // namespace
} // namespace lathe::refactor::testing
