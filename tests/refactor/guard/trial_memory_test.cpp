// What is remembered of a raw kernel's runs is what the same run would give, and nothing else.
#include "refactor/guard/trial_memory.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

class TrialMemoryTest : public testing::Test {
protected:
  void SetUp() override {
    HostCompileOptions options;
    options.sanitize = true;
    auto kernel = HostKernel::compile("__global__ void add_one(float* out, const float* in) {\n"
                                      "  out[threadIdx.x] = in[threadIdx.x] + 1;\n}\n",
                                      "add_one", options);
    ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
    kernel_.emplace(std::move(*kernel));
    workload_.spec = &spec_;
    workload_.buffers = {{"out", "f32", Direction::out, 32, {}}, {"in", "f32", Direction::in, 32, {}}};
    workload_.parameters = {{true, 0, "f32", {}}, {true, 1, "f32", {}}};
    launch_.block = {32, 1, 1};
  }

  Trial trial() { return {&*kernel_, &launch_, &workload_, {}, &memory_}; }

  TuningSpec spec_;
  Workload workload_;
  Launch launch_;
  std::optional<HostKernel> kernel_;
  TrialMemory memory_{1 << 20};
};

TEST_F(TrialMemoryTest, GivesWhatARunGave) {
  const auto first = run_trials({trial()});
  ASSERT_TRUE(first[0].clean) << first[0].problem;
  const auto known = memory_.find(trial());
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->contents, first[0].contents);
  EXPECT_EQ(run_trials({trial()})[0].contents, first[0].contents);
}

TEST_F(TrialMemoryTest, TellsApartWhateverDecidesAResult) {
  run_trials({trial()});
  const auto is_unknown = [&](const auto& change) {
    Trial other = trial();
    Launch launch = launch_;
    Workload workload = workload_;
    other.launch = &launch;
    other.workload = &workload;
    change(other, launch, workload);
    return memory_.find(other) == nullptr;
  };
  EXPECT_FALSE(is_unknown([](Trial&, Launch&, Workload&) {}));
  EXPECT_TRUE(is_unknown([](Trial& other, Launch&, Workload&) { other.settings.seed = 2; }));
  EXPECT_TRUE(is_unknown([](Trial& other, Launch&, Workload&) { other.settings.poison = 1; }));
  EXPECT_TRUE(is_unknown([](Trial& other, Launch&, Workload&) { other.settings.data = Data::nans; }));
  EXPECT_TRUE(is_unknown([](Trial& other, Launch&, Workload&) { other.settings.misaligned_buffers = {0}; }));
  EXPECT_TRUE(is_unknown([](Trial&, Launch& launch, Workload&) { launch.grid[0] = 2; }));
  EXPECT_TRUE(is_unknown([](Trial&, Launch&, Workload& workload) { workload.buffers[1].fill.spread = 2; }));
  EXPECT_TRUE(is_unknown([](Trial&, Launch&, Workload& workload) { workload.buffers[0].count = 64; }));
  EXPECT_TRUE(is_unknown(
      [](Trial&, Launch&, Workload& workload) { workload.parameters[1].value = std::int64_t{1}; }));
}

TEST_F(TrialMemoryTest, NothingIsKeptOfRunsThatFailOrFollowOthers) {
  Trial behind = trial();
  behind.settings.again = true;
  run_trials({trial(), behind});
  EXPECT_EQ(memory_.find(trial()), nullptr);
  EXPECT_EQ(memory_.find(behind), nullptr);
  workload_.buffers[0].count = 16; // the threads write behind it
  EXPECT_FALSE(run_trials({trial()})[0].clean);
  EXPECT_EQ(memory_.find(trial()), nullptr);
}

TEST_F(TrialMemoryTest, TheOldestGoesWhereThereIsTooMuch) {
  TrialMemory small(16000); // each result has some thousand bytes
  Trial numbered = trial();
  numbered.memory = &small;
  constexpr std::uint64_t SEEDS = 40;
  for (numbered.settings.seed = 1; numbered.settings.seed <= SEEDS; ++numbered.settings.seed)
    run_trials({numbered});
  numbered.settings.seed = 1;
  EXPECT_EQ(small.find(numbered), nullptr);
  numbered.settings.seed = SEEDS;
  EXPECT_NE(small.find(numbered), nullptr);
}

} // namespace
} // namespace lathe::refactor
