#include "tests/tuner/app/scripted_backend.h"

#include "tuner/app/certificate.h"
#include "tuner/app/options.h"
#include "tuner/app/progress.h"
#include "tuner/app/selection.h"
#include "tuner/app/tables.h"
#include "tuner/app/tuning_session.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe {
namespace {

TEST(Options, Assignments) {
  const auto pairs = parse_assignments("n=16,d=4096");
  ASSERT_TRUE(pairs.ok());
  ASSERT_EQ(pairs->size(), 2u);
  EXPECT_EQ((*pairs)[1].first, "d");
  EXPECT_EQ((*pairs)[1].second, "4096");
  for (const char* bad : {"", "n", "n=", "=3", "n=1,,d=2"})
    EXPECT_FALSE(parse_assignments(bad).ok()) << bad;
}

TEST(Options, Durations) {
  EXPECT_DOUBLE_EQ(*parse_duration("90s"), 90);
  EXPECT_DOUBLE_EQ(*parse_duration("1.5h"), 5400);
  for (const char* bad : {"", "8", "h", "-3s", "3x", "1e"})
    EXPECT_FALSE(parse_duration(bad).ok()) << bad;
}

TEST(Progress, LineShowsOnlyWhatIsKnown) {
  SessionProgress progress;
  progress.planned = 10;
  EXPECT_EQ(progress_line(progress), "0/10");
  progress.evaluated = progress.fresh = 5;
  progress.seconds = 2;
  progress.best_us = 50;
  progress.raw_us = 100;
  progress.copy_floor_us = 40;
  EXPECT_EQ(progress_line(progress), "5/10  2.5/s  best 50.00 us  2.00x raw  80 % of copy  about 2 s left");
}

TEST(Selection, SearchedProblemsComeFirst) {
  const TuningSpec spec = small_spec();
  const auto workloads = select_workloads(spec, {}, {});
  ASSERT_TRUE(workloads.ok()) << workloads.error().sentence();
  ASSERT_EQ(workloads->size(), 2u);
  EXPECT_EQ((*workloads)[0].problem.dimensions.at("n"), 512);
  EXPECT_EQ((*workloads)[0].types.at("T"), "bf16");
}

TEST(Selection, AllTypesAndGivenProblems) {
  const TuningSpec spec = small_spec();
  WorkloadSelection selection;
  selection.all_types = true;
  selection.problems = {"n=64"};
  const auto workloads = select_workloads(spec, selection, {});
  ASSERT_TRUE(workloads.ok());
  ASSERT_EQ(workloads->size(), 2u);
  EXPECT_EQ((*workloads)[1].types.at("T"), "f32");
}

TEST(Selection, UnknownNamesAreUsageErrorsThatListTheKnown) {
  const TuningSpec spec = small_spec();
  WorkloadSelection selection;
  selection.problems = {"m=64"};
  auto failed = select_workloads(spec, selection, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().failure, Failure::usage);
  selection.problems.clear();
  selection.types = "T=f64";
  failed = select_workloads(spec, selection, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().sentence().find("bf16, f32"), std::string::npos);
}

TEST(Selection, DeviceNamesAreChecked) {
  EXPECT_FALSE(open_backend("fast").ok());
  EXPECT_FALSE(open_backend("-1").ok());
}

TEST(Session, DefaultOutsideTheListJoinsTheSpace) {
  const TuningSpec spec = small_spec();
  const auto workloads = select_workloads(spec, {}, {});
  ASSERT_TRUE(workloads.ok());
  const auto space = workload_space((*workloads)[0], {Value{std::int64_t{128}}});
  ASSERT_TRUE(space.ok()) << space.error().sentence();
  EXPECT_EQ(space->valid_count().value, 3);
  EXPECT_TRUE(space->point_of({Value{std::int64_t{128}}}).has_value());
}

class RequireCertificate : public ::testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("certificate-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    spec_ = small_spec();
    spec_.provenance.certificate = "certificate.json";
  }
  Result<CertificateFacts> require(const std::string& certificate) {
    EXPECT_TRUE(write_file(folder_->path() / "certificate.json", certificate).ok());
    return require_certificate(spec_, folder_->path() / "spec.json");
  }
  TuningSpec spec_;
  std::optional<TemporaryFolder> folder_;
};

TEST_F(RequireCertificate, AcceptedTellsTheIdentity) {
  const auto same = require(R"({"Accepted": true, "Identity": "L0", "Checks": []})");
  ASSERT_TRUE(same.ok()) << same.error().sentence();
  EXPECT_TRUE(same->default_is_raw_code);
  const auto other = require(R"({"Accepted": true, "Identity": "L2", "Checks": []})");
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->default_is_raw_code);
}

TEST_F(RequireCertificate, TellsThatTheRawKernelWantsAlignmentWhileItIsTheSame) {
  spec_.reference.file = folder_->path() / "raw.cu";
  ASSERT_TRUE(write_file(spec_.reference.file, "raw kernel").ok());
  const auto wants_alignment = [&](int served, const std::string& reference) {
    const auto facts = require(R"({"Accepted": true, "RawHash": ")" + content_hash("raw kernel") +
                               R"(", "ReferenceHash": ")" + reference +
                               R"(", "ContractHash": "another", "Checks": [{"Check": "differential",
                "Verdict": "tested", "MisalignedSizes": 7, "MisalignedSizesServed": )" +
                               std::to_string(served) + "}]}");
    EXPECT_TRUE(facts.ok());
    return facts.ok() && facts->raw_wants_alignment;
  };
  const std::string reference = reference_hash(spec_);
  EXPECT_TRUE(wants_alignment(0, reference));
  EXPECT_FALSE(wants_alignment(1, reference));
  EXPECT_FALSE(wants_alignment(0, "another launch"));
  spec_.knobs[0].values.pop_back(); // says nothing of the raw kernel
  EXPECT_TRUE(wants_alignment(0, reference));
  ASSERT_TRUE(write_file(spec_.reference.file, "another raw kernel").ok());
  EXPECT_FALSE(wants_alignment(0, reference));
}

TEST_F(RequireCertificate, TellsWhichResultsTheRawKernelLeavesInAnyOrder) {
  spec_.reference.file = folder_->path() / "raw.cu";
  ASSERT_TRUE(write_file(spec_.reference.file, "raw kernel").ok());
  const auto unordered = [&] {
    const auto facts = require(R"({"Accepted": true, "RawHash": ")" + content_hash("raw kernel") +
                               R"(", "ReferenceHash": ")" + reference_hash(spec_) +
                               R"(", "Checks": [{"Check": "differential", "Verdict": "tested",
                                   "Unordered": ["out", 7, "numbers"]}]})");
    EXPECT_TRUE(facts.ok());
    return facts.ok() ? facts->unordered : std::vector<std::string>();
  };
  EXPECT_EQ(unordered(), (std::vector<std::string>{"out", "numbers"}));
  ASSERT_TRUE(write_file(spec_.reference.file, "another raw kernel").ok());
  EXPECT_TRUE(unordered().empty());
}

TEST_F(RequireCertificate, RefusedNamesTheCheck) {
  const auto refused = require(
      R"({"Accepted": false, "Checks": [{"Check": "bounds", "Verdict": "failed", "Detail": "a guard is gone"}]})");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().sentence().find("bounds: a guard is gone"), std::string::npos);
}

TEST_F(RequireCertificate, UncheckedAndAbsentPassWithAWarning) {
  EXPECT_TRUE(require(R"({"Accepted": false, "Checks": [{"Check": "all", "Verdict": "skipped"}]})").ok());
  std::filesystem::remove(folder_->path() / "certificate.json");
  EXPECT_TRUE(require_certificate(spec_, folder_->path() / "spec.json").ok());
}

TEST_F(RequireCertificate, AnotherTextIsRefusedAndAnotherSpecificationSaysNothingOfTheDefaults) {
  spec_.template_hash = content_hash("template");
  const auto of = [&](const std::string& text, const std::string& contract) {
    return require(R"({"Accepted": true, "Identity": "L0", "Checks": [], "TemplateHash": ")" +
                   content_hash(text) + R"(", "ContractHash": ")" + contract + R"("})");
  };
  const auto same = of("template", contract_hash(spec_));
  ASSERT_TRUE(same.ok()) << same.error().sentence();
  EXPECT_TRUE(same->default_is_raw_code);
  EXPECT_FALSE(of("another", contract_hash(spec_)).ok());
  const std::string judged = contract_hash(spec_);
  spec_.knobs[0].values.pop_back();
  const auto changed = of("template", judged);
  ASSERT_TRUE(changed.ok()) << changed.error().sentence();
  EXPECT_FALSE(changed->default_is_raw_code);
}

TEST_F(RequireCertificate, DamagedIsAnError) {
  EXPECT_FALSE(require("{").ok());
  EXPECT_FALSE(require("[]").ok());
}

class SessionDecisions : public ::testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("app-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    spec_ = small_spec();
    spec_.template_hash = "1";
  }

  Result<SessionResult> tune(ScriptedBackend& backend, const SessionOptions& options = {}) {
    LATHE_TRY(const std::vector<Workload> workloads, select_workloads(spec_, {}, {}));
    LATHE_TRY(const std::unique_ptr<Store> store, Store::open(folder_->path() / "results.sqlite"));
    const std::atomic<bool> stop{false};
    return tune_workload(workloads[0], backend, *store, options, stop, {});
  }

  TuningSpec spec_;
  std::optional<TemporaryFolder> folder_;
};

TEST_F(SessionDecisions, TheRawKernelAndTheWinnerAreProfiledAndKept) {
  ScriptedBackend backend;
  const auto result = tune(backend);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  ASSERT_TRUE(result->raw_profile && result->winner_profile);
  EXPECT_DOUBLE_EQ(result->raw_profile->dram, 0.7);
  const auto store = Store::open(folder_->path() / "results.sqlite");
  const auto stored = (*store)->profiles(result->winner.key);
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(stored->size(), 2u);
  EXPECT_FALSE((*stored)[0].knobs);
  EXPECT_EQ((*stored)[1].knobs, result->winner.knobs);
  EXPECT_NE(details(*result).find("winner is limited by DRAM bandwidth"), std::string::npos)
      << details(*result);
}

TEST_F(SessionDecisions, CountersThatAreKnownAreNotReadAgain) {
  ScriptedBackend backend;
  const auto first = tune(backend);
  ASSERT_TRUE(first.ok()) << first.error().sentence();
  EXPECT_EQ(backend.profiled, 2);
  // A later run has the template's; the raw kernel may have changed since.
  const auto second = tune(backend);
  ASSERT_TRUE(second.ok()) << second.error().sentence();
  EXPECT_EQ(backend.profiled, 3);
  ASSERT_TRUE(second->winner_profile);
  EXPECT_DOUBLE_EQ(second->winner_profile->dram, 0.9);
  // A later slice of one run has both.
  SessionOptions options;
  options.raw_profile = second->raw_profile;
  const auto third = tune(backend, options);
  ASSERT_TRUE(third.ok()) << third.error().sentence();
  EXPECT_EQ(backend.profiled, 3);
  EXPECT_TRUE(third->raw_profile && third->winner_profile);
}

TEST_F(SessionDecisions, TuningGoesOnWithoutCounters) {
  ScriptedBackend backend;
  backend.counters_denied = true;
  const auto result = tune(backend);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->winner.knobs.empty());
  EXPECT_NE(result->profile_problem.find("administrators"), std::string::npos);
}

TEST_F(SessionDecisions, AFinalistThatFailsBesideTheRawKernelIsNamed) {
  ScriptedBackend plain;
  const auto winner = tune(plain);
  ASSERT_TRUE(winner.ok());
  ScriptedBackend backend;
  backend.refused = std::get<std::int64_t>(winner->winner.knobs[0]);
  const auto result = tune(backend);
  ASSERT_TRUE(result.ok());
  ASSERT_FALSE(result->rejected.empty());
  EXPECT_NE(result->rejected[0].find("refused beside the raw kernel"), std::string::npos);
  EXPECT_NE(result->winner.knobs, winner->winner.knobs);
}

// What is compiled while the raw kernel is prepared is what is measured first.
TEST_F(SessionDecisions, TheFirstConfigurationsAreAnnouncedWithTheProblem) {
  ScriptedBackend backend;
  ASSERT_TRUE(tune(backend).ok());
  ASSERT_FALSE(backend.announced.empty());
  ASSERT_GE(backend.asked_for.size(), backend.announced.size());
  for (std::size_t i = 0; i < backend.announced.size(); ++i)
    EXPECT_EQ(backend.announced[i], backend.asked_for[i]);
}

TEST_F(SessionDecisions, FasterBeyondTheNoiseWins) {
  ScriptedBackend backend;
  const auto result = tune(backend);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  EXPECT_FALSE(result->default_kept);
  EXPECT_NE(std::get<std::int64_t>(result->winner.knobs[0]), 128);
  EXPECT_EQ(backend.evaluated, 3);
}

TEST_F(SessionDecisions, GainInsideTheNoiseKeepsTheDefault) {
  ScriptedBackend backend;
  backend.fast = 99;
  backend.noise = 0.02;
  const auto result = tune(backend);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->default_kept);
  EXPECT_EQ(std::get<std::int64_t>(result->winner.knobs[0]), 128);
}

TEST_F(SessionDecisions, WhatEqualCodeDiffersByIsNoise) {
  ScriptedBackend backend;
  backend.fast = 98;
  backend.default_ratio = 1.03;
  SessionOptions options;
  options.finalists = 2;
  options.default_is_raw_code = true;
  const auto result = tune(backend, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->default_kept);
  EXPECT_NEAR(result->winner.comparison.noise_band, 0.03, 1e-9);
}

TEST_F(SessionDecisions, AGainMustBeSeenTwice) {
  ScriptedBackend backend;
  backend.once = true;
  SessionOptions options;
  options.finalists = 2;
  const auto result = tune(backend, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->default_kept);
}

TEST_F(SessionDecisions, WinnersThatAProblemDoesNotAdmitAreTriedAsTheNearestThatItDoes) {
  // 64 divides every size here and 256 does not: the size that is not searched is 320.
  spec_.problems[0].dimensions = {{"n", 320}};
  const auto store = Store::open(":memory:");
  ASSERT_TRUE(store.ok());
  const auto workloads = select_workloads(spec_, {}, {});
  ASSERT_TRUE(workloads.ok());
  const auto unsearched = std::ranges::find_if(
      *workloads, [](const Workload& workload) { return workload.problem.role != ProblemRole::tune; });
  ASSERT_NE(unsearched, workloads->end());
  ScriptedBackend backend;
  const std::atomic<bool> stop{false};
  const auto result =
      assess_workload(*unsearched, backend, **store, {{KnobValues{Value{std::int64_t{256}}}}, {}}, {}, stop);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  EXPECT_EQ(result->winner.knobs, KnobValues{Value{std::int64_t{64}}});
}

TEST_F(SessionDecisions, WrongResultsNeverWinAndAreCounted) {
  ScriptedBackend backend;
  backend.wrong = 64;
  const auto result = tune(backend);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(std::get<std::int64_t>(result->winner.knobs[0]), 256);
  EXPECT_EQ(result->failures.at(Outcome::wrong_result), 1);
}

TEST_F(SessionDecisions, StoredEvaluationsAreNotRepeated) {
  ScriptedBackend first, second;
  ASSERT_TRUE(tune(first).ok());
  const auto result = tune(second);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(second.evaluated, 0);
  EXPECT_EQ(result->progress.evaluated, 3);
}

// A search that goes on compares again only where it found what may win.
TEST_F(SessionDecisions, WhatStandsIsComparedAgainOnlyWithContenders) {
  for (const bool finds_better : {false, true}) {
    SetUp();
    const auto time = [&](const std::string&, std::int64_t block) -> double {
      return block == 128 ? 100 : block == 64 ? 80 : finds_better ? 60 : 120;
    };
    ScriptedBackend first, second;
    first.by_problem = second.by_problem = time;
    SessionOptions options;
    options.evaluations = 2;
    spec_.knobs[0].values.pop_back(); // 256 comes later
    const auto earlier = tune(first, options);
    ASSERT_TRUE(earlier.ok());
    EXPECT_EQ(std::get<std::int64_t>(earlier->winner.knobs[0]), 64);
    spec_.knobs[0].values.emplace_back(std::int64_t{256});
    options.evaluations = 3;
    options.standing = {earlier->winner, earlier->default_kept};
    const auto result = tune(second, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(second.evaluated, 1);
    EXPECT_EQ(second.compared > 0, finds_better);
    EXPECT_EQ(std::get<std::int64_t>(result->winner.knobs[0]), finds_better ? 256 : 64);
    EXPECT_EQ(result->winner.evaluations, 3);
  }
}

TEST_F(SessionDecisions, AChangedTemplateStartsAnew) {
  ScriptedBackend first, second;
  ASSERT_TRUE(tune(first).ok());
  spec_.template_hash = "2";
  ASSERT_TRUE(tune(second).ok());
  EXPECT_EQ(second.evaluated, 3);
}

} // namespace
} // namespace lathe
