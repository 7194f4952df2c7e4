// Choosing what comes next beside measuring: it happens, and changes nothing of what is chosen.
#include "tuner/app/selection.h"
#include "tuner/app/tuning_session.h"

#include "tests/tuner/app/scripted_backend.h"

#include "tuner/base/files.h"

#include <chrono>
#include <thread>

namespace lathe {
namespace {

using namespace std::chrono_literals;

class Overlap : public testing::Test {
protected:
  void SetUp() override {
    spec_ = small_spec();
    spec_.template_hash = "overlap";
    spec_.conditions.clear();
    spec_.knobs[0].values.clear();
    for (std::int64_t block = 64; block <= 64 * 64; block += 64)
      spec_.knobs[0].values.emplace_back(block);
  }

  // What is asked for, in order.
  std::vector<KnobValues> tune(ScriptedBackend& backend) {
    auto folder = TemporaryFolder::create("overlap-test");
    EXPECT_TRUE(folder.ok());
    auto store = Store::open(folder->path() / "results.sqlite");
    EXPECT_TRUE(store.ok());
    backend.by_problem = [](const std::string&, std::int64_t block) {
      return 50 + static_cast<double>((block - 1280) * (block - 1280)) * 1e-5;
    };
    SessionOptions options;
    options.evaluations = 48;
    options.seed = 7;
    const std::atomic<bool> stop{false};
    const auto workloads = select_workloads(spec_, {}, {});
    EXPECT_TRUE(workloads.ok());
    const auto result = tune_workload(workloads->front(), backend, **store, options, stop, {});
    EXPECT_TRUE(result.ok()) << result.error().sentence();
    return backend.asked_for;
  }

  TuningSpec spec_;
};

TEST_F(Overlap, WhatComesNextIsChosenWhileTheDeviceMeasures) {
  ScriptedBackend backend;
  bool was_announced_meanwhile = false;
  int evaluation = 0;
  // Some in the middle wait for the choice, until it has come once: it may be made before one of them looks.
  backend.while_evaluating = [&] {
    if (++evaluation < 3 || was_announced_meanwhile)
      return;
    const int before = backend.announced_later;
    for (int wait = 0; wait < 100 && backend.announced_later == before; ++wait)
      std::this_thread::sleep_for(5ms);
    was_announced_meanwhile = backend.announced_later > before;
  };
  EXPECT_EQ(tune(backend).size(), 48u);
  EXPECT_TRUE(was_announced_meanwhile);
}

TEST_F(Overlap, TheSameIsAskedForHoweverLongMeasuringTakes) {
  ScriptedBackend at_once, slow;
  slow.while_evaluating = [] { std::this_thread::sleep_for(3ms); };
  EXPECT_EQ(tune(at_once), tune(slow));
}

} // namespace
} // namespace lathe
