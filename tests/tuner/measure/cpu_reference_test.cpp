#include "tuner/measure/cpu_reference.h"

#include "tuner/base/files.h"
#include "tuner/measure/fill.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace lathe {
namespace {

constexpr std::uint64_t SEED = 5;

// out[i] = scale * in[i], of which the raw kernel's outputs are made here.
class CpuReferenceTest : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("reference-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    spec_.name = "scale";
    spec_.path = folder_->path() / "spec.json";
    spec_.cpu_reference = "reference.cpp";
    spec_.dimensions = {"n"};
    bind(1000);
  }

  void bind(std::int64_t n) {
    spec_.arguments.clear();
    for (const char* name : {"out", "in"}) {
      Argument argument;
      argument.name = name;
      argument.dtype = "f32";
      argument.direction = name == std::string("out") ? Direction::out : Direction::in;
      argument.count = Expression::parse("n").value();
      spec_.arguments.push_back(argument);
    }
    Argument scale;
    scale.name = "scale";
    scale.is_buffer = false;
    scale.dtype = "f32";
    scale.value = Expression::parse("3").value();
    spec_.arguments.push_back(scale);
    Problem problem;
    problem.dimensions = {{"n", n}};
    auto bound = bind_workload(spec_, problem, {}, {});
    ASSERT_TRUE(bound.ok()) << bound.error().sentence();
    workload_ = std::move(*bound);
  }

  void write_reference(const std::string& body) {
    ASSERT_TRUE(
        write_file(
            folder_->path() / "reference.cpp",
            "#include <cstdint>\n#include <cstdlib>\nextern \"C\" void lathe_reference(const std::int64_t* "
            "dimensions, const double* scalars, double* const* buffers) {\n" +
                body + "\n}\n")
            .ok());
  }

  std::vector<std::vector<std::byte>> raw_outputs() const {
    std::vector<std::byte> in(workload_.buffers[1].count * sizeof(float)), out(in.size());
    fill_buffer(plan_fill(workload_.buffers[1], SEED, 1), in);
    for (std::size_t i = 0; i < in.size() / sizeof(float); ++i) {
      float value = 0;
      std::memcpy(&value, in.data() + i * sizeof value, sizeof value);
      value *= 3;
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
    return {out, {}};
  }

  std::optional<TemporaryFolder> folder_;
  TuningSpec spec_;
  Workload workload_;
  CpuReferences references_;
};

constexpr const char* RIGHT =
    "for (std::int64_t i = 0; i < dimensions[0]; ++i) buffers[0][i] = scalars[0] * buffers[1][i];";

TEST_F(CpuReferenceTest, AgreesWithARightKernel) {
  write_reference(RIGHT);
  const auto verdict = references_.check(workload_, SEED, raw_outputs());
  ASSERT_TRUE(verdict.ok()) << verdict.error().sentence();
  EXPECT_EQ(*verdict, "the raw kernel agrees with its CPU reference");
}

TEST_F(CpuReferenceTest, ADifferenceIsAnErrorThatNamesTheElement) {
  write_reference(RIGHT);
  auto outputs = raw_outputs();
  outputs[0][17 * sizeof(float) + 3] ^= std::byte{0x40}; // an exponent bit
  const auto verdict = references_.check(workload_, SEED, outputs);
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().sentence().find("out[17]"), std::string::npos) << verdict.error().sentence();
}

TEST_F(CpuReferenceTest, WhatTheKernelLeavesUnwrittenIsNotCompared) {
  write_reference(RIGHT);
  auto outputs = raw_outputs();
  std::fill_n(outputs[0].begin() + 40, 8, POISONS[0]);
  EXPECT_TRUE(references_.check(workload_, SEED, outputs).ok());
}

TEST_F(CpuReferenceTest, ResultsInNoFixedOrderAreNamedAndNotCompared) {
  write_reference(RIGHT);
  auto outputs = raw_outputs();
  outputs[0].clear();
  const auto nothing = references_.check(workload_, SEED, outputs);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(*nothing, "the CPU reference was not run: it has no say about 'out' (in no fixed order)");
  outputs = raw_outputs();
  workload_.buffers.push_back(workload_.buffers[0]);
  workload_.buffers.back().name = "bins";
  outputs.emplace_back();
  const auto some = references_.check(workload_, SEED, outputs);
  ASSERT_TRUE(some.ok()) << some.error().sentence();
  EXPECT_EQ(
      *some,
      "the raw kernel agrees with its CPU reference, which has no say about 'bins' (in no fixed order)");
}

TEST_F(CpuReferenceTest, AFaultInTheReferenceIsASentence) {
  write_reference("std::abort();");
  const auto crashed = references_.check(workload_, SEED, raw_outputs());
  ASSERT_FALSE(crashed.ok());
  EXPECT_NE(crashed.error().sentence().find("Aborted"), std::string::npos) << crashed.error().sentence();
}

TEST_F(CpuReferenceTest, AFileThatIsNoReferenceIsASentence) {
  ASSERT_TRUE(write_file(folder_->path() / "reference.cpp", "extern \"C\" void other() {}\n").ok());
  const auto other = references_.check(workload_, SEED, raw_outputs());
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().sentence().find("no function lathe_reference"), std::string::npos);
  CpuReferences again;
  ASSERT_TRUE(write_file(folder_->path() / "reference.cpp", "nonsense\n").ok());
  EXPECT_FALSE(again.check(workload_, SEED, raw_outputs()).ok());
}

TEST_F(CpuReferenceTest, SaysWhenNothingWasChecked) {
  spec_.cpu_reference.clear();
  const auto none = references_.check(workload_, SEED, raw_outputs());
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, "the specification names no CPU reference");
  spec_.cpu_reference = "reference.cpp";
  bind(3 << 20);
  EXPECT_FALSE(CpuReferences::is_small_enough(workload_));
  const auto large = references_.check(workload_, SEED, {});
  ASSERT_TRUE(large.ok());
  EXPECT_NE(large->find("too large"), std::string::npos);
}

} // namespace
} // namespace lathe
