// Which results of earlier templates guide a search.
#include "tuner/app/transfer.h"
#include "tuner/base/files.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

class TransferTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create("lathe-transfer");
    ASSERT_TRUE(folder.ok()) << folder.error().sentence();
    folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
    auto store = Store::open(folder_->path() / "results.sqlite");
    ASSERT_TRUE(store.ok()) << store.error().sentence();
    store_ = std::move(*store);
  }

  static StoreKey key(const std::string& template_hash, const std::string& workload = "f32 n=512") {
    return {"scale", template_hash, workload, "NVIDIA H200", "580", "13.0"};
  }

  // Twelve results of a template with these knobs, of which the first is the block size.
  void record(const std::string& template_hash, const std::vector<std::string>& names,
              const std::string& workload = "f32 n=512", std::int64_t count = 12) {
    for (std::int64_t i = 0; i < count; ++i) {
      StoredEvaluation evaluation;
      evaluation.knobs.assign(names.size(), Value{std::int64_t{1}});
      evaluation.knobs.front() = Value{32 * (i % 3 + 1)};
      evaluation.measurement.timing.median_us = 10 + static_cast<double>(i % 3);
      ASSERT_TRUE(store_->record(key(template_hash, workload), names, evaluation).ok());
    }
  }

  EarlierResults earlier() {
    const auto integer = [](std::int64_t value) { return Value{value}; };
    auto space = Space::build({{"BLOCK", {integer(32), integer(64), integer(96)}},
                               {"UNROLL", {integer(1), integer(2)}},
                               {"FIXED_N", {integer(0), integer(1)}}},
                              {});
    EXPECT_TRUE(space.ok());
    auto found = earlier_results(*store_, key("new"), *space, {integer(64), integer(2), integer(0)});
    EXPECT_TRUE(found.ok());
    if (!found.ok())
      return {};
    for (const Observation& observation : found->observations)
      values_.push_back(space->values(observation.point));
    return *found;
  }

  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<Store> store_;
  std::vector<KnobValues> values_;
};

TEST_F(TransferTest, KnobThatIsNewCountsAsAtItsDefault) {
  record("old", {"BLOCK", "UNROLL"});
  EXPECT_EQ(earlier().source, "f32 n=512 on NVIDIA H200");
  ASSERT_EQ(values_.size(), 12u);
  for (const KnobValues& values : values_) {
    EXPECT_EQ(values[1], Value{std::int64_t{1}});
    EXPECT_EQ(values[2], Value{std::int64_t{0}});
  }
  EXPECT_EQ(values_[0][0], Value{std::int64_t{32}});
  EXPECT_EQ(values_[2][0], Value{std::int64_t{96}});
}

TEST_F(TransferTest, ResultsWithAKnobThatIsGoneAreLeftOut) {
  record("old", {"BLOCK", "UNROLL", "STAGES"});
  EXPECT_TRUE(earlier().observations.empty());
}

TEST_F(TransferTest, OrderOfTheKnobsDoesNotMatter) {
  record("old", {"BLOCK", "FIXED_N", "UNROLL"});
  earlier();
  ASSERT_EQ(values_.size(), 12u);
  EXPECT_EQ(values_[1],
            (KnobValues{Value{std::int64_t{64}}, Value{std::int64_t{1}}, Value{std::int64_t{1}}}));
}

// The nearest of several problems, not the one with the most results.
TEST_F(TransferTest, TheNearestProblemIsTaken) {
  const std::vector<std::string> names{"BLOCK", "UNROLL"};
  record("new", names, "f32 n=65536", 24);
  record("new", names, "f32 n=1024");
  record("new", names, "f32 n=128", 24);
  record("new", names, "f16 n=1024", 24);
  record("new", names, "f32 n=512,d=2", 24);
  EXPECT_EQ(earlier().source, "f32 n=512,d=2 on NVIDIA H200"); // of one doubling, the most
  record("new", names, "f32 n=640");
  EXPECT_EQ(earlier().source, "f32 n=640 on NVIDIA H200");
}

} // namespace
} // namespace lathe
