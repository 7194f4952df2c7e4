#include "store_testing.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace lathe {
namespace {

using testing::MatchesRegex;

void expect_equal(const Timing& a, const Timing& b) {
  EXPECT_EQ(a.median_us, b.median_us);
  EXPECT_EQ(a.low_us, b.low_us);
  EXPECT_EQ(a.high_us, b.high_us);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.stopped_early, b.stopped_early);
}

TEST_F(StoreTest, EvaluationsComeBackAsTheyWereRecorded) {
  StoredEvaluation evaluation;
  evaluation.knobs = {Value{true}, Value{std::numeric_limits<std::int64_t>::min()}, Value{0.1}, Value{4.0},
                      Value{std::string("it's \"ünïcode\"\n\\")}};
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  Measurement& measured = evaluation.measurement;
  measured.outcome = Outcome::runtime_error;
  measured.reason = "illegal address; DROP TABLE evaluations";
  measured.timing = {1e-300, std::numeric_limits<double>::infinity(), std::nan(""), 7, true};
  measured.resources = {32, 8, 16, 1024, 352, 512};
  measured.occupancy = 0.75;
  measured.error = 0.125;
  measured.compile_seconds = 1.5;
  measured.run_seconds = 2.25;
  evaluation.author = "bandit";
  evaluation.timestamp = "2025-01-02T03:04:05Z";
  {
    const auto store = open();
    ASSERT_TRUE(store->record(test_key(), names, evaluation).ok());
  }
  const auto store = open();
  const auto stored = store->evaluations(test_key());
  ASSERT_TRUE(stored.ok()) << stored.error().sentence();
  ASSERT_EQ(stored->size(), 1u);
  const StoredEvaluation& back = stored->front();
  EXPECT_EQ(back.knob_names, names);
  EXPECT_EQ(back.knobs, evaluation.knobs); // types, too
  EXPECT_EQ(back.measurement.outcome, measured.outcome);
  EXPECT_EQ(back.measurement.reason, measured.reason);
  EXPECT_EQ(back.measurement.timing.median_us, 1e-300);
  EXPECT_TRUE(std::isinf(back.measurement.timing.low_us));
  EXPECT_TRUE(std::isnan(back.measurement.timing.high_us));
  EXPECT_EQ(back.measurement.timing.samples, 7);
  EXPECT_TRUE(back.measurement.timing.stopped_early);
  const KernelResources& resources = back.measurement.resources;
  EXPECT_EQ(resources.registers, 32);
  EXPECT_EQ(resources.spill_bytes, 8);
  EXPECT_EQ(resources.stack_bytes, 16);
  EXPECT_EQ(resources.static_shared, 1024);
  EXPECT_EQ(resources.constant_bytes, 352);
  EXPECT_EQ(resources.max_threads, 512);
  EXPECT_EQ(back.measurement.occupancy, 0.75);
  EXPECT_EQ(back.measurement.error, 0.125);
  EXPECT_EQ(back.measurement.compile_seconds, 1.5);
  EXPECT_EQ(back.measurement.run_seconds, 2.25);
  EXPECT_EQ(back.author, "bandit");
  EXPECT_EQ(back.timestamp, "2025-01-02T03:04:05Z");
}

TEST_F(StoreTest, EveryOutcomeHasAName) {
  const auto store = open();
  for (const Outcome outcome :
       {Outcome::ok, Outcome::compile_error, Outcome::resource_limit, Outcome::runtime_error,
        Outcome::timeout, Outcome::crashed, Outcome::wrong_result, Outcome::under_floor}) {
    StoredEvaluation evaluation = test_evaluation(1);
    evaluation.measurement.outcome = outcome;
    ASSERT_TRUE(store->record(test_key(), test_names, evaluation).ok());
    const auto stored = store->evaluations(test_key());
    ASSERT_TRUE(stored.ok()) << stored.error().sentence();
    EXPECT_EQ(stored->back().measurement.outcome, outcome);
  }
}

TEST_F(StoreTest, AnEmptyTimestampBecomesTheTimeInUtc) {
  setenv("TZ", "Asia/Tokyo", 1);
  tzset();
  const auto store = open();
  const std::time_t before = std::time(nullptr);
  ASSERT_TRUE(store->record(test_key(), test_names, test_evaluation(1)).ok());
  const std::time_t after = std::time(nullptr);
  unsetenv("TZ");
  tzset();
  const std::string timestamp = store->evaluations(test_key())->front().timestamp;
  EXPECT_THAT(timestamp, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
  std::tm parts{};
  ASSERT_NE(strptime(timestamp.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
  EXPECT_GE(timegm(&parts), before);
  EXPECT_LE(timegm(&parts), after);
}

// Every part of the key separates results: above all a changed template never sees the old template's.
TEST_F(StoreTest, KeysSeparateResults) {
  const auto store = open();
  std::vector<StoreKey> keys(7, test_key());
  keys[1].template_hash = "other";
  keys[2].workload = "other";
  keys[3].device = "other";
  keys[4].driver = "other";
  keys[5].toolkit = "other";
  keys[6].kernel = "other";
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t times = 0; times <= i; ++times)
      ASSERT_TRUE(store->record(keys[i], test_names, test_evaluation(static_cast<std::int64_t>(times))).ok());
  for (std::size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(store->evaluations(keys[i])->size(), i + 1);
  const auto known = store->keys("silu_and_mul");
  ASSERT_TRUE(known.ok());
  ASSERT_EQ(known->size(), 6u);
  EXPECT_EQ(known->at(1).template_hash, "other");
  EXPECT_EQ(known->at(5).toolkit, "other");
  EXPECT_TRUE(store->keys("unknown")->empty());
  EXPECT_TRUE(store->evaluations(test_key("unknown"))->empty());
}

TEST_F(StoreTest, EvaluationsKeepTheirOrder) {
  const auto store = open();
  for (std::int64_t i = 0; i < 20; ++i)
    ASSERT_TRUE(store->record(test_key(i % 2 ? "odd" : "even"), test_names, test_evaluation(i)).ok());
  const auto odd = store->evaluations(test_key("odd"));
  ASSERT_EQ(odd->size(), 10u);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(odd->at(i).knobs[0], Value{static_cast<std::int64_t>(2 * i + 1)});
}

StoredWinner winner(double ratio) {
  StoredWinner winner;
  winner.key = test_key();
  winner.knobs = {Value{std::int64_t{256}}, Value{std::int64_t{8}}};
  winner.knob_names = test_names;
  winner.comparison.raw = {10, 9.5, 10.5, 50, false};
  winner.comparison.tuned = {5, 4.5, 5.5, 51, true};
  winner.comparison.ratio = ratio;
  winner.comparison.ratio_low = 1.75;
  winner.comparison.ratio_high = 2.25;
  winner.comparison.noise_band = 0.01;
  winner.copy_floor_us = 3.5;
  winner.evaluations = 200;
  winner.seconds = 61.5;
  winner.protocol = "events, L2 flushed";
  winner.timestamp = "2025-01-02T03:04:05Z";
  winner.lathe_version = "0.1.0";
  winner.is_host = true;
  winner.problem = {{{"d", 4096}, {"n", 1}}, ProblemRole::select, "one row"};
  winner.types = {{"T", "bf16"}};
  winner.architecture = "sm_90";
  return winner;
}

TEST_F(StoreTest, AWinnerReplacesTheOneBefore) {
  const auto store = open();
  ASSERT_TRUE(store->record_winner(winner(1.5)).ok());
  ASSERT_TRUE(store->record_winner(winner(2.0)).ok());
  StoredWinner other = winner(3.0);
  other.key.device = "another GPU";
  ASSERT_TRUE(store->record_winner(other).ok());
  const auto winners = store->winners("silu_and_mul");
  ASSERT_TRUE(winners.ok()) << winners.error().sentence();
  ASSERT_EQ(winners->size(), 2u);
  const StoredWinner& back = winners->front();
  EXPECT_EQ(back.comparison.ratio, 2.0);
  EXPECT_EQ(winners->back().key.device, "another GPU");
  const StoredWinner expected = winner(2.0);
  EXPECT_EQ(back.key.workload, expected.key.workload);
  EXPECT_EQ(back.key.toolkit, expected.key.toolkit);
  EXPECT_EQ(back.knobs, expected.knobs);
  EXPECT_EQ(back.knob_names, expected.knob_names);
  expect_equal(back.comparison.raw, expected.comparison.raw);
  expect_equal(back.comparison.tuned, expected.comparison.tuned);
  EXPECT_EQ(back.comparison.ratio_low, 1.75);
  EXPECT_EQ(back.comparison.ratio_high, 2.25);
  EXPECT_EQ(back.comparison.noise_band, 0.01);
  EXPECT_EQ(back.copy_floor_us, 3.5);
  EXPECT_EQ(back.evaluations, 200);
  EXPECT_EQ(back.seconds, 61.5);
  EXPECT_EQ(back.protocol, expected.protocol);
  EXPECT_EQ(back.timestamp, expected.timestamp);
  EXPECT_EQ(back.lathe_version, "0.1.0");
  EXPECT_TRUE(back.is_host);
  EXPECT_EQ(back.problem.dimensions, expected.problem.dimensions);
  EXPECT_EQ(back.problem.role, ProblemRole::select);
  EXPECT_EQ(back.problem.label, "one row");
  EXPECT_EQ(back.types, expected.types);
  EXPECT_EQ(back.architecture, "sm_90");
}

TEST_F(StoreTest, ProfilesComeBackAsTheyWereRecorded) {
  const auto store = open();
  StoredProfile of_raw, of_configuration;
  of_raw.profile.dram = 0.75;
  of_raw.profile.stall = {{"barrier", 0.25}};
  of_configuration.knobs = {Value{std::int64_t{128}}};
  of_configuration.knob_names = {"BLOCK"};
  of_configuration.timestamp = "2025-01-02T03:04:05Z";
  ASSERT_TRUE(store->record_profile(test_key(), of_raw).ok());
  ASSERT_TRUE(store->record_profile(test_key(), of_configuration).ok());
  const auto profiles = store->profiles(test_key());
  ASSERT_TRUE(profiles.ok()) << profiles.error().sentence();
  ASSERT_EQ(profiles->size(), 2u);
  EXPECT_FALSE((*profiles)[0].knobs);
  EXPECT_EQ((*profiles)[0].profile, of_raw.profile);
  EXPECT_FALSE((*profiles)[0].timestamp.empty());
  EXPECT_EQ((*profiles)[1].knobs, of_configuration.knobs);
  EXPECT_EQ((*profiles)[1].knob_names, of_configuration.knob_names);
  EXPECT_EQ((*profiles)[1].timestamp, of_configuration.timestamp);
}

TEST(KnobsInOrder, FollowsNamesAndRefusesOtherKnobs) {
  StoredEvaluation evaluation = test_evaluation(128);
  evaluation.knob_names = test_names;
  EXPECT_EQ(knobs_in_order(evaluation, {"BLOCK", "VEC"}), evaluation.knobs);
  EXPECT_EQ(knobs_in_order(evaluation, {"VEC", "BLOCK"}),
            (KnobValues{evaluation.knobs[1], evaluation.knobs[0]}));
  EXPECT_EQ(knobs_in_order(evaluation, {"VEC"}), std::nullopt);
  EXPECT_EQ(knobs_in_order(evaluation, {"VEC", "UNROLL"}), std::nullopt);
}

TEST(DefaultStorePath, IsTheVariableOrAFolderHere) {
  unsetenv("LATHE_RESULTS");
  EXPECT_EQ(default_store_path(), "lathe-results/results.sqlite");
  setenv("LATHE_RESULTS", "/somewhere/else.sqlite", 1);
  EXPECT_EQ(default_store_path(), "/somewhere/else.sqlite");
  unsetenv("LATHE_RESULTS");
}

} // namespace
} // namespace lathe
