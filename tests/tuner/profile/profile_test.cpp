#include "tuner/profile/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace lathe {
namespace {

using Kind = Bottleneck::Kind;

Profile busy() {
  Profile profile;
  profile.duration_us = 100;
  profile.sm_active = 0.97;
  profile.occupancy = 0.5;
  return profile;
}

TEST(Profile, ReadsMetricsByName) {
  const std::vector<std::string> names{
      "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
      "gpu__time_duration.sum",
      "dram__bytes.sum.pct_of_peak_sustained_elapsed",
      "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
      "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
  };
  const Profile profile = profile_of(names, {6, 12500, 71, 200, 50, 2});
  EXPECT_DOUBLE_EQ(profile.duration_us, 12.5);
  EXPECT_DOUBLE_EQ(profile.dram, 0.71);
  EXPECT_DOUBLE_EQ(profile.bank_conflicts, 0.25);
  EXPECT_DOUBLE_EQ(profile.stall.at("long_scoreboard"), 0.75);
  EXPECT_DOUBLE_EQ(profile.stall.at("selected"), 0.25);
  EXPECT_EQ(profile.stall.size(), 2u);
  EXPECT_EQ(profile.l2, 0); // not collected
}

TEST(Profile, IgnoresWhatIsNoNumber) {
  const double nan = std::nan("");
  const Profile profile = profile_of({"dram__bytes.sum.pct_of_peak_sustained_elapsed"}, {nan});
  EXPECT_EQ(profile.dram, 0);
  EXPECT_EQ(profile_of(profile_metrics(), {}), Profile{});
}

TEST(Profile, MetricsAreDistinct) {
  const auto& metrics = profile_metrics();
  EXPECT_EQ(std::set<std::string>(metrics.begin(), metrics.end()).size(), metrics.size());
}

TEST(Profile, RoundTripsThroughJson) {
  Profile profile = busy();
  profile.dram = 1.0 / 3;
  profile.stall = {{"barrier", 0.1}, {"long_scoreboard", 0.7}};
  const auto read = parse_profile_json(profile_json(profile));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, profile);
  for (const char* text : {"", "{", "[]", "{}", R"({"Dram": "much"})"})
    EXPECT_FALSE(parse_profile_json(text)) << text;
}

TEST(Bottleneck, TheUnitNearItsPeakComesFirst) {
  Profile profile = busy();
  profile.dram = 0.85;
  profile.l2 = 0.5;
  profile.stall = {{"long_scoreboard", 0.9}}; // a symptom of the full DRAM
  const Bottleneck found = find_bottleneck(profile);
  EXPECT_EQ(found.kind, Kind::dram_bandwidth);
  EXPECT_DOUBLE_EQ(found.level, 0.85);
  EXPECT_NE(found.words.find("85 %"), std::string::npos) << found.words;
  profile.issue = 0.9;
  EXPECT_EQ(find_bottleneck(profile).kind, Kind::issue_rate);
}

TEST(Bottleneck, ConflictsExplainAFullPipe) {
  Profile profile = busy();
  profile.l1 = 0.9;
  EXPECT_EQ(find_bottleneck(profile).kind, Kind::l1_bandwidth);
  profile.bank_conflicts = 0.8;
  EXPECT_EQ(find_bottleneck(profile).kind, Kind::bank_conflicts);
  profile.l1 = 0.1; // conflicts in a pipe that is idle cost nothing
  EXPECT_NE(find_bottleneck(profile).kind, Kind::bank_conflicts);
}

TEST(Bottleneck, IdleMultiprocessorsComeBeforeStalls) {
  Profile profile = busy();
  profile.sm_active = 0.1;
  profile.stall = {{"long_scoreboard", 0.9}};
  EXPECT_EQ(find_bottleneck(profile).kind, Kind::parallelism);
}

TEST(Bottleneck, TheLargestStallIsNamed) {
  Profile profile = busy();
  profile.dram = 0.3;
  profile.stall = {{"long_scoreboard", 0.5}, {"barrier", 0.3}, {"selected", 0.1}};
  EXPECT_EQ(find_bottleneck(profile).kind, Kind::memory_latency);
  EXPECT_NE(find_bottleneck(profile).words.find("50 % occupancy"), std::string::npos);
  profile.stall["barrier"] = 0.6;
  EXPECT_EQ(find_bottleneck(profile).kind, Kind::synchronisation);
  profile.stall = {{"selected", 0.9}}; // work is no stall
  EXPECT_EQ(find_bottleneck(profile).kind, Kind::other_latency);
}

} // namespace
} // namespace lathe
