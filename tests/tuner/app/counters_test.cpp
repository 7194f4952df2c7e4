#include "tests/tuner/app/scripted_backend.h"

#include "tuner/app/counters.h"
#include "tuner/base/files.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

class Counters : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("lathe-counters-test-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    auto opened = Store::open(folder_ / "results.sqlite");
    ASSERT_TRUE(opened.ok()) << opened.error().sentence();
    store_ = std::move(*opened);
    for (std::int64_t block : {32, 64, 128, 256, 512})
      configurations_.push_back({Value{block}});
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  CounterReading read(Backend& backend, double seconds = 1e9) {
    const auto reading =
        record_counters(backend, *store_, key_, {"BLOCK"}, configurations_, seconds, 1, stop_);
    EXPECT_TRUE(reading.ok());
    return reading.ok() ? *reading : CounterReading{};
  }

  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  StoreKey key_{"scale", "hash", "n=512", "device", "driver", "toolkit"};
  std::vector<KnobValues> configurations_;
  std::atomic<bool> stop_{false};
};

TEST_F(Counters, AreReadOnceOfEachConfiguration) {
  ScriptedBackend backend;
  EXPECT_EQ(read(backend).read, 5);
  EXPECT_EQ(store_->profiles(key_)->size(), 5u);
  EXPECT_EQ(read(backend).read, 0); // the store has them
}

TEST_F(Counters, DeniedOnesAreNotAskedForWithoutEnd) {
  ScriptedBackend backend;
  backend.counters_denied = true;
  const CounterReading reading = read(backend);
  EXPECT_EQ(reading.read, 0);
  EXPECT_LT(reading.failed, 5);
  EXPECT_NE(reading.problem.find("administrators"), std::string::npos);
}

TEST_F(Counters, EndWithTheTimeAndWithTheStop) {
  ScriptedBackend backend;
  EXPECT_EQ(read(backend, 0).read, 0);
  stop_ = true;
  EXPECT_EQ(read(backend).read, 0);
}

class WantedCounters : public Counters {
protected:
  // What a profile-guided search of five configurations gets.
  CounterReading guide(Backend& backend) {
    const auto space =
        Space::build({{"BLOCK",
                       {Value{std::int64_t{32}}, Value{std::int64_t{64}}, Value{std::int64_t{128}},
                        Value{std::int64_t{256}}, Value{std::int64_t{512}}}}},
                     {}, {});
    SearchOptions options;
    options.technique = "profile_guided";
    const auto search = make_search(*space, options);
    CounterReading reading;
    double cost = 10;
    for (const Point& point : (*search)->ask(5)) {
      (*search)->tell({point, true, --cost});
      EXPECT_TRUE(
          tell_wanted_counters(**search, *space, backend, *store_, key_, {"BLOCK"}, reading, stop_).ok());
    }
    return reading;
  }
};

TEST_F(WantedCounters, AreReadToldAndRecorded) {
  ScriptedBackend backend;
  EXPECT_EQ(guide(backend).read, 5);
  EXPECT_EQ(store_->profiles(key_)->size(), 5u);
}

TEST_F(WantedCounters, DeniedOnesLetTheSearchGoOn) {
  ScriptedBackend backend;
  backend.counters_denied = true;
  const CounterReading reading = guide(backend);
  EXPECT_EQ(reading.read, 0);
  EXPECT_EQ(reading.failed, 3);
  EXPECT_NE(reading.problem.find("administrators"), std::string::npos);
}

TEST_F(WantedCounters, EndWithTheStop) {
  ScriptedBackend backend;
  stop_ = true;
  EXPECT_EQ(guide(backend).read, 0);
}

} // namespace
} // namespace lathe
