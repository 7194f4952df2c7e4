// Whose winners `lathe bench` measures on a device, and what it keeps of them.
#include "scripted_backend.h"
#include "tuner/app/bench_winners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using testing::HasSubstr;

DeviceInfo gpu(const std::string& name, int major) {
  DeviceInfo device;
  device.name = name;
  device.compute_major = major;
  device.driver_version = "580";
  return device;
}

// A gain at the problem that is searched.
StoredWinner winner_on(const DeviceInfo& device, std::int64_t block) {
  StoredWinner winner;
  winner.key = {"scale", "hash", "n=512", device.name, device.driver_version, "13.0"};
  winner.knobs = {Value{block}};
  winner.knob_names = {"BLOCK"};
  winner.comparison.ratio = winner.comparison.ratio_low = 1.5;
  winner.evaluations = 300;
  winner.seconds = 20;
  winner.architecture = device.architecture();
  winner.problem = small_spec().problems.back();
  winner.types = {{"T", "bf16"}};
  return winner;
}

class BenchWinners : public testing::Test {
protected:
  BenchWinners() { spec_.template_hash = "hash"; }
  BenchedWinners bench(const std::vector<StoredWinner>& winners, ScriptedBackend& backend) {
    auto benched = bench_winners(spec_, winners, backend, {});
    EXPECT_TRUE(benched.ok()) << benched.error().sentence();
    return benched.ok() ? *benched : BenchedWinners{};
  }

  TuningSpec spec_ = small_spec();
  DeviceInfo h200_ = gpu("NVIDIA H200", 9), h100_ = gpu("NVIDIA H100 80GB HBM3", 9),
             a100_ = gpu("NVIDIA A100", 8);
};

TEST_F(BenchWinners, TheDevicesOwnComeFirst) {
  ScriptedBackend backend(h100_);
  const BenchedWinners benched = bench({winner_on(h200_, 64), winner_on(h100_, 256)}, backend);
  ASSERT_EQ(benched.measured.size(), 1u);
  EXPECT_EQ(benched.tuned_on, "");
  EXPECT_EQ(benched.measured[0].knobs, KnobValues{Value{std::int64_t{256}}});
  EXPECT_EQ(benched.measured[0].evaluations, 300);
  EXPECT_DOUBLE_EQ(benched.measured[0].comparison.ratio, 100.0 / 80);
}

TEST_F(BenchWinners, ElseThoseOfTheSameArchitecture) {
  ScriptedBackend backend(h100_);
  const BenchedWinners benched = bench({winner_on(a100_, 64), winner_on(h200_, 256)}, backend);
  ASSERT_EQ(benched.measured.size(), 1u);
  EXPECT_EQ(benched.tuned_on, "NVIDIA H200");
  const StoredWinner& winner = benched.measured[0];
  EXPECT_EQ(winner.key.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(winner.knobs, KnobValues{Value{std::int64_t{256}}});
  EXPECT_EQ(winner.evaluations, 1); // what the search cost was spent on the other device
  EXPECT_FALSE(winner.timestamp.empty());
}

TEST_F(BenchWinners, NoneOfAnotherArchitectureOrTemplateOrOfTheHost) {
  ScriptedBackend backend(h100_);
  StoredWinner stale = winner_on(h200_, 64), host = winner_on(h200_, 64);
  stale.key.template_hash = "older";
  host.is_host = true;
  const BenchedWinners benched = bench({winner_on(a100_, 64), stale, host}, backend);
  EXPECT_TRUE(benched.measured.empty());
  EXPECT_TRUE(benched.failures.empty());
}

TEST_F(BenchWinners, OneThatDoesNotRunIsToldAndTheRestMeasured) {
  ScriptedBackend backend(h100_);
  backend.refused = 64;
  StoredWinner other = winner_on(h200_, 256);
  other.problem = spec_.problems.front();
  const BenchedWinners benched = bench({winner_on(h200_, 64), other}, backend);
  ASSERT_EQ(benched.failures.size(), 1u);
  EXPECT_THAT(benched.failures[0], HasSubstr("n=512"));
  EXPECT_THAT(benched.failures[0], HasSubstr("refused beside the raw kernel"));
  ASSERT_EQ(benched.measured.size(), 1u);
  EXPECT_EQ(benched.measured[0].problem.dimensions.at("n"), 256);
}

} // namespace
} // namespace lathe
