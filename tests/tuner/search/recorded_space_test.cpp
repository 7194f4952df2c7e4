#include "tuner/search/recorded_space.h"

#include "tuner/base/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <zlib.h>

namespace lathe {
namespace {

const std::string cache = R"({"device_name": "D", "kernel_name": "K", "tune_params_keys": ["b", "a"],
 "tune_params": {"a": [1, 2], "b": ["x", "y", "z"]}, "objective": "time",
 "cache": {"x,1": {"a": 1, "b": "x", "time": 2.5, "compile_time": 1000, "benchmark_time": 500},
           "y,2": {"a": 2, "b": "y", "time": "RuntimeFailedConfig"},
           "z,2": {"a": 2, "b": "z", "time": 1.5}}})";

const std::string t4 = R"({"metadata": {}, "results": [
 {"configuration": {"a": 4, "b": true}, "times": {"compilation": 100, "runtimes": [1, 2]}, "invalidity": "correct",
  "measurements": [{"name": "time", "value": 3.5, "unit": "ms"}], "objectives": ["time"]},
 {"configuration": {"a": 2, "b": false}, "invalidity": "runtime",
  "measurements": [{"name": "time", "value": "RuntimeFailedConfig"}], "objectives": ["time"]},
 {"configuration": {"a": 4, "b": false}, "invalidity": "correct",
  "measurements": [{"name": "time", "value": 1.25}], "objectives": ["time"]}]})";

TEST(RecordedSpace, ReadsKernelTunerCaches) {
  auto space = parse_recorded_space(cache, "c");
  ASSERT_TRUE(space.ok()) << space.error().sentence();
  EXPECT_EQ(space->kernel, "K");
  EXPECT_EQ(space->device, "D");
  ASSERT_EQ(space->parameters.size(), 2u);
  EXPECT_EQ(space->parameters[0].name, "b"); // the order of tune_params_keys
  ASSERT_EQ(space->records.size(), 3u);
  EXPECT_EQ(space->best_cost(), 1.5);
  std::size_t failed = 0;
  for (const auto& record : space->records) {
    failed += !record.succeeded;
    if (record.cost == 2.5) {
      EXPECT_DOUBLE_EQ(record.seconds, 1.5);
    }
  }
  EXPECT_EQ(failed, 1u);
}

// As Python's json module writes them.
TEST(RecordedSpace, WhatIsNoNumberIsAFailure) {
  const auto space = parse_recorded_space(
      R"({"device_name": "NaN \" Infinity", "kernel_name": "k", "tune_params_keys": ["a"],
          "tune_params": {"a": [1, 2, 3, 4]}, "objective": "time",
          "cache": {"1": {"a": 1, "time": 2.5, "GFLOP/s": NaN}, "2": {"a": 2, "time": Infinity},
                    "3": {"a": 3, "time": NaN}, "4": {"a": 4, "time": -Infinity}}})",
      "test");
  ASSERT_TRUE(space.ok()) << space.error().sentence();
  EXPECT_EQ(space->device, "NaN \" Infinity");
  EXPECT_EQ(std::ranges::count_if(space->records, &RecordedSpace::Record::succeeded), 1);
  EXPECT_DOUBLE_EQ(space->best_cost(), 2.5);
}

TEST(RecordedSpace, ReadsCountersButNotTheTimeWhileCounting) {
  const auto space = parse_recorded_space(
      R"({"metadata": {}, "results": [
        {"configuration": {"a": 1}, "invalidity": "correct", "objectives": ["time"],
         "measurements": [{"name": "time", "value": 2}, {"name": "counter:Dram", "value": 0.5},
                          {"name": "counter:DurationMicroseconds", "value": 2000}, {"name": "counter:L2", "value": "x"}]},
        {"configuration": {"a": 2}, "invalidity": "correct", "objectives": ["time"],
         "measurements": [{"name": "time", "value": 3}]}]})",
      "test");
  ASSERT_TRUE(space.ok()) << space.error().sentence();
  ASSERT_TRUE(space->records[0].counters.has_value());
  EXPECT_EQ(*space->records[0].counters, (Counters{{"Dram", 0.5}}));
  EXPECT_FALSE(space->records[1].counters.has_value());
}

TEST(RecordedSpace, ReadsT4Results) {
  auto space = parse_recorded_space(t4, "t");
  ASSERT_TRUE(space.ok()) << space.error().sentence();
  ASSERT_EQ(space->parameters.size(), 2u);
  EXPECT_EQ(space->parameters[0].values,
            (std::vector<Value>{Value{std::int64_t{2}}, Value{std::int64_t{4}}}));
  EXPECT_EQ(space->records.size(), 3u);
  EXPECT_EQ(space->best_cost(), 1.25);
  EXPECT_FALSE(space->records[1].succeeded);
}

TEST(RecordedSpace, AnObjectiveToMaximiseIsInverted) {
  auto text = cache;
  text.insert(1, "\"objective_higher_is_better\": true, ");
  auto space = parse_recorded_space(text, "c");
  ASSERT_TRUE(space.ok());
  EXPECT_DOUBLE_EQ(space->best_cost(), 1 / 2.5);
}

TEST(RecordedSpace, BadInputIsASentence) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {cache.substr(0, cache.size() / 2), "ends early"},
      {"time,a\n1,2\n", "not JSON"},
      {"", "not JSON"},
      {"[1, 2]", "neither"},
      {R"({"cache": {}})", "missing"},
      {R"({"cache": [], "tune_params_keys": [], "tune_params": {}})", "missing"},
      {R"({"cache": {"1": {"a": 3, "time": 1}}, "tune_params_keys": ["a"], "tune_params": {"a": [1]}})",
       "does not list"},
      {R"({"cache": {"1": {"a": 1, "time": "failed"}}, "tune_params_keys": ["a"], "tune_params": {"a": [1]}})",
       "succeeded"},
      {R"({"cache": {"1": 5}, "tune_params_keys": ["a"], "tune_params": {"a": [1]}})", "not an object"},
      {R"({"cache": {}, "tune_params_keys": ["a"], "tune_params": {"a": [1]}})", "no recorded configuration"},
      {R"({"results": []})", "no \"results\""},
      {R"({"results": [{"configuration": {"a": 1}}, {"configuration": {"b": 1}}]})",
       "no value for the parameter"},
      {R"({"results": [{"configuration": {"a": [1]}}]})", "no value for the parameter"}};
  for (const auto& [text, expected] : cases) {
    auto space = parse_recorded_space(text, "bad.json");
    ASSERT_FALSE(space.ok()) << text;
    EXPECT_EQ(space.error().failure, Failure::usage);
    const std::string sentence = space.error().sentence();
    EXPECT_NE(sentence.find(expected), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("bad.json"), std::string::npos) << sentence;
  }
}

TEST(RecordedSpace, GzipIsRecognisedAndDamageReported) {
  auto folder = TemporaryFolder::create("search");
  ASSERT_TRUE(folder.ok());
  const auto path = folder->path() / "c.json.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, cache.data(), static_cast<unsigned>(cache.size())), static_cast<int>(cache.size()));
  gzclose(file);
  auto space = read_recorded_space(path);
  ASSERT_TRUE(space.ok()) << space.error().sentence();
  EXPECT_EQ(space->records.size(), 3u);

  auto content = read_file(path);
  ASSERT_TRUE(content.ok());
  ASSERT_TRUE(write_file(path, content->substr(0, content->size() / 2)).ok());
  auto damaged = read_recorded_space(path);
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.error().sentence().find("ends early"), std::string::npos);
  EXPECT_FALSE(read_recorded_space(folder->path() / "missing").ok());
}

TEST(RecordedSpace, PriorsAreMatchedByNameAndValue) {
  auto space = parse_recorded_space(cache, "c");
  ASSERT_TRUE(space.ok());
  const std::vector<Parameter> target{{"a", {Value{std::int64_t{2}}, Value{std::int64_t{9}}}},
                                      {"b", {Value{std::string("z")}, Value{std::string("y")}}}};
  auto prior = prior_from(*space, target);
  ASSERT_TRUE(prior.ok());
  EXPECT_EQ(prior->size(), 2u); // a = 1 is not in the target
  for (const Observation& observation : *prior)
    EXPECT_EQ(observation.succeeded, observation.point == (Point{0, 0}));
  EXPECT_FALSE(prior_from(*space, {target[0]}).ok());
  EXPECT_FALSE(prior_from(*space, {target[0], {"c", target[1].values}}).ok());
}

} // namespace
} // namespace lathe
