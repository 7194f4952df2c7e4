// Which strides are made odd, or 0: those that may be, and no others.
#include "refactor/guard/strides.h"
#include "tuner/device/device.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace lathe::refactor {
namespace {

// Parameters of `partial`: x, angles, places, heads, dim, turned.
constexpr int HEADS = 3, DIM = 4;

class StridesOfHeads : public testing::Test {
protected:
  void SetUp() override {
    auto read = read_spec(std::filesystem::path(LATHE_TEST_DATA) / "partial.json");
    ASSERT_TRUE(read.ok()) << read.error().sentence();
    spec_ = std::make_unique<TuningSpec>(std::move(*read));
    const auto preparation = prepare(*spec_, options_, 1);
    ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
    Problem problem;
    problem.dimensions = {{"tokens", 3}, {"heads", 5}, {"dim", 64}, {"turned", 64}};
    auto workload = own_workload(*spec_, problem, {}, preparation->subject->device);
    ASSERT_TRUE(workload.ok()) << workload.error().sentence();
    workload_ = *workload;
    strides_.parameters = {HEADS, DIM};
    strides_.of_pointers[0] = {HEADS, DIM};
  }

  std::int64_t value(const Workload& workload, int parameter) const {
    return std::get<std::int64_t>(workload.parameters[static_cast<std::size_t>(parameter)].value);
  }

  GuardOptions options_;
  std::unique_ptr<TuningSpec> spec_;
  std::shared_ptr<const Workload> workload_;
  Strides strides_;
};

TEST_F(StridesOfHeads, OfOneSizeThatAreOdd) {
  EXPECT_EQ(odd_strides(*workload_, strides_), std::set<int>{HEADS});
}

TEST_F(StridesOfHeads, ThatAreAlwaysEvenStayEven) {
  strides_.odd = {HEADS};
  const auto apart = with_strides_apart(workload_, strides_, true);
  ASSERT_NE(apart, nullptr);
  EXPECT_EQ(value(*apart, HEADS) % 2, 1);
  EXPECT_EQ(value(*apart, DIM) % 2, 0);
  EXPECT_NE(value(*apart, DIM), 64);
}

TEST_F(StridesOfHeads, NoneIsMadeOddWhereNoneMayBe) {
  EXPECT_EQ(with_strides_apart(workload_, strides_, true), nullptr);
  EXPECT_NE(with_strides_apart(workload_, strides_, false), nullptr);
}

TEST_F(StridesOfHeads, OfResultsAreNotMadeZero) {
  EXPECT_EQ(with_rows_repeated(workload_, strides_), nullptr) << "x is written";
}

TEST_F(StridesOfHeads, OfInputsAloneAreMadeZero) {
  strides_.of_pointers = {{0, {DIM}}, {1, {HEADS, DIM}}};
  const auto repeated = with_rows_repeated(workload_, strides_);
  ASSERT_NE(repeated, nullptr);
  EXPECT_EQ(value(*repeated, HEADS), 0);
  EXPECT_EQ(repeated->lookup("heads"), std::optional<Value>(std::int64_t{0}));
  EXPECT_EQ(value(*repeated, DIM), 64) << "x has it too";
  EXPECT_EQ(repeated->buffers, workload_->buffers);
}

} // namespace
} // namespace lathe::refactor
