// A store with what a report must show: a search with gains and failures, a problem that was not searched,
// and one whose search has not ended.
#pragma once

#include "tuner/base/files.h"
#include "tuner/report/report.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe {

inline Value integer(std::int64_t value) {
  return Value{value};
}

// The time falls with BLOCK up to 256 and with VEC; UNROLL means nothing.
inline double made_up_time(std::int64_t block, std::int64_t vec) {
  return 10.0 + 512.0 / static_cast<double>(block) + 8.0 / static_cast<double>(vec);
}

class ReportTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("report-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    auto opened = Store::open(folder_->path() / "results.sqlite");
    ASSERT_TRUE(opened.ok());
    store_ = std::move(*opened);
  }

  static StoreKey key(const std::string& workload, bool is_host) {
    return {"scale", std::string(40, 'a'), workload, is_host ? "host executor (a CPU)" : "NVIDIA H200",
            "580",   "CUDA 13.0"};
  }

  void record(const StoreKey& where, std::int64_t block, std::int64_t vec, std::int64_t unroll,
              Outcome outcome = Outcome::ok, const std::string& reason = {}) {
    StoredEvaluation evaluation;
    evaluation.knobs = {integer(block), integer(vec), integer(unroll)};
    evaluation.measurement.outcome = outcome;
    evaluation.measurement.reason = reason;
    if (outcome == Outcome::ok)
      evaluation.measurement.timing.median_us = made_up_time(block, vec);
    evaluation.author = first_ ? "default" : "random";
    first_ = false;
    ASSERT_TRUE(store_->record(where, {"BLOCK", "VEC", "UNROLL"}, evaluation).ok());
  }

  void record_all(const StoreKey& where) {
    first_ = true;
    for (const std::int64_t block : {64, 128, 256, 512})
      for (const std::int64_t vec : {1, 2, 4, 8})
        for (const std::int64_t unroll : {1, 2, 4})
          record(where, block, vec, unroll);
  }

  void record_winner(const StoreKey& where, double ratio, ProblemRole role, std::int64_t n) {
    StoredWinner winner;
    winner.key = where;
    winner.knob_names = {"BLOCK", "VEC", "UNROLL"};
    winner.knobs = {integer(512), integer(8), integer(1)};
    winner.comparison.raw = {20.0, 19.9, 20.1, 20, false, 0, 0, 0};
    winner.comparison.tuned = {20.0 / ratio, 19.9 / ratio, 20.1 / ratio, 20, false, 0, 0, 0};
    winner.comparison.ratio = ratio;
    winner.comparison.ratio_low = ratio - 0.01;
    winner.comparison.ratio_high = ratio + 0.01;
    winner.comparison.noise_band = 0.005;
    winner.copy_floor_us = 9.5;
    winner.evaluations = 48;
    winner.protocol = "a protocol";
    winner.lathe_version = "0.1.0";
    winner.is_host = where.device.starts_with("host executor");
    winner.architecture = "sm_90";
    winner.problem.dimensions = {{"n", n}};
    winner.problem.role = role;
    winner.types = {{"T", "f32"}};
    ASSERT_TRUE(store_->record_winner(winner).ok());
  }

  void fill(bool is_host) {
    const StoreKey searched = key("f32 n=4096", is_host);
    record_all(searched);
    record(searched, 1024, 8, 1, Outcome::resource_limit, "uses 70000 of 65536 registers");
    record(searched, 1024, 4, 1, Outcome::resource_limit, "uses 80000 of 65536 registers");
    record(searched, 64, 16, 1, Outcome::wrong_result, "out[3] is <script>alert(1)</script> & not 2");
    record_winner(searched, 1.5, ProblemRole::tune, 4096);
    record_winner(key("f32 n=777", is_host), 1.001, ProblemRole::report, 777);
    record(key("f32 n=9", is_host), 64, 1, 1);
  }

  // n elements read and written, one operation each.
  static TuningSpec spec() {
    TuningSpec made;
    made.name = "scale";
    made.dimensions = {"n"};
    made.types = {{"T", {"f32"}}};
    made.template_hash = std::string(40, 'a');
    made.cost.bytes = *Expression::parse("2 * n * sizeof_T");
    made.cost.operations = *Expression::parse("n");
    Knob knob;
    knob.name = "BLOCK";
    knob.why = "blockDim.x, line 7";
    made.knobs = {knob};
    return made;
  }

  Report report(bool is_host, bool with_spec = true) {
    fill(is_host);
    auto gathered = gather_report(*store_, {{"scale", with_spec ? std::optional(spec()) : std::nullopt}});
    EXPECT_TRUE(gathered.ok()) << (gathered.ok() ? "" : gathered.error().sentence());
    return gathered.ok() ? *gathered : Report{};
  }

  std::filesystem::path folder() const { return folder_->path(); }
  std::unique_ptr<Store> store_;

private:
  std::optional<TemporaryFolder> folder_;
  bool first_ = true;
};

} // namespace lathe
