// Both kernels on a GPU; where there is none, the host executor's backend takes its place, and runs them as
// the tuner would.
#include "refactor/guard/device_runs.h"
#include "refactor/guard/device_sizes.h"
#include "tests/refactor/guard/corpus.h"
#include "tuner/base/files.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// A specification of the tests with changes made, bound and sampled.
class OnDevice : public testing::Test {
protected:
  void place(const std::string& kernel, std::vector<TextChange> changes) {
    auto folder = TemporaryFolder::create("device-runs");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    const CorpusCase one{kernel, "changed", "", std::move(changes)};
    const auto placed = place_case(one, fs::path(LATHE_TEST_DATA) / (kernel + ".json"), folder_->path());
    ASSERT_TRUE(placed.ok()) << placed.error().sentence();
    auto spec = read_spec(*placed);
    ASSERT_TRUE(spec.ok()) << spec.error().sentence();
    spec_.emplace(std::move(*spec));
    auto preparation = prepare(*spec_, options_, 7);
    ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
    subject_ = std::move(preparation->subject);
    auto backend = make_cuda_backend(0);
    has_gpu_ = backend.ok();
    if (!has_gpu_)
      backend = make_host_backend();
    ASSERT_TRUE(backend.ok()) << backend.error().sentence();
    backend_ = std::move(*backend);
  }

  // As the differential check hands them on: every configuration at a size.
  std::vector<Configuration> at_size(std::int64_t count) {
    std::vector<Configuration> pairs;
    const auto workload =
        own_workload(*spec_, Problem{{{"count", count}}, ProblemRole::tune, ""}, {}, subject_->device);
    EXPECT_TRUE(workload.ok());
    for (const Configuration& sampled : subject_->sampled)
      if (auto bound = bind_configuration(*workload, sampled.knobs); bound.ok())
        pairs.push_back(std::move(*bound));
    return pairs;
  }

  GuardOptions options_;
  std::optional<TemporaryFolder> folder_;
  std::optional<TuningSpec> spec_;
  std::unique_ptr<JudgedPair> subject_;
  std::unique_ptr<Backend> backend_;
  bool has_gpu_ = false;
};

TEST_F(OnDevice, ARightTemplateAgreesAtSmallSizesAndAtProblems) {
  place("activate", {});
  const CheckResult result = check_device(*subject_, at_size(129), *backend_);
  EXPECT_EQ(result.verdict, Verdict::tested) << result.detail;
  // Two knob values beside the default at the small size; all three at the problem.
  EXPECT_EQ(result.runs, 5U) << result.detail;
  EXPECT_EQ(result.identical_runs, 5U);
}

TEST_F(OnDevice, AWrongTemplateFails) {
  place("activate", {{false, "index < count", "index < count - 1"}});
  const CheckResult result = check_device(*subject_, at_size(129), *backend_);
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.detail.find("wrong_result"), std::string::npos) << result.detail;
  EXPECT_NE(result.detail.find("BLOCK="), std::string::npos) << result.detail;
}

TEST_F(OnDevice, OfResultsInNoFixedOrderTheElementsCount) {
  place("activate", {{false, "out[index] =", "out[count - 1 - index] ="}});
  EXPECT_EQ(check_device(*subject_, at_size(129), *backend_).verdict, Verdict::failed);
  const CheckResult result = check_device(*subject_, at_size(129), *backend_, {"out"});
  EXPECT_EQ(result.verdict, Verdict::tested) << result.detail;
  place("activate", {{false, "out[index] =", "out[index == 7 ? 8 : index] ="}});
  const CheckResult wrong = check_device(*subject_, at_size(129), *backend_, {"out"});
  EXPECT_EQ(wrong.verdict, Verdict::failed);
  EXPECT_NE(wrong.detail.find("out holds other elements than the raw kernel's"), std::string::npos)
      << wrong.detail;
}

// Right at every size that the host executor tried, wrong at the specification's own.
TEST_F(OnDevice, WhatOnlyProblemsShowIsSeen) {
  place("activate", {{false, "index < count", "index < 500"}});
  EXPECT_EQ(check_device(*subject_, at_size(129), *backend_).verdict, Verdict::failed);
}

TEST_F(OnDevice, ATemplateThatDoesNotCompileThereFails) {
  place("activate", {{false, "Function(in[index])", "Function(in[index]) + no_such_name"}});
  const CheckResult result = check_device(*subject_, at_size(129), *backend_);
  EXPECT_EQ(result.verdict, Verdict::failed);
  EXPECT_NE(result.detail.find("compile_error"), std::string::npos) << result.detail;
}

TEST_F(OnDevice, WhereTheRawKernelDoesNotRunNothingIsDecided) {
  place("activate", {});
  spec_->reference.instance = "no_such_kernel";
  const CheckResult result = check_device(*subject_, at_size(129), *backend_);
  EXPECT_EQ(result.verdict, Verdict::undecided) << result.detail;
}

TEST_F(OnDevice, SizesAreGroupedAndProblemsComeSmallestFirst) {
  place("activate", {});
  std::vector<Configuration> ran = at_size(129);
  for (Configuration& pair : at_size(64))
    ran.push_back(std::move(pair));
  const auto small = boundary_sizes(*subject_, ran, backend_->device());
  ASSERT_EQ(small.size(), 2U);
  EXPECT_EQ(small[0].configurations.size(), subject_->sampled.size());
  spec_->problems.push_back(Problem{{{"count", 10}}, ProblemRole::tune, ""});
  const auto problems = problem_sizes(*subject_, backend_->device());
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_LT(problems[0].workload->buffers[0].count, problems[1].workload->buffers[0].count);
}

// compute-sanitizer watches a GPU alone.
class UnderSanitizer : public OnDevice {
protected:
  // What the tool says of the template with "out[index] = ..." replaced.
  CheckResult watch(const std::string& tool, const std::string& statement) {
    place("activate", {{false, "out[index] = Function(in[index]);", statement}});
    backend_.reset();
    return check_sanitizer(*subject_, at_size(129), 0, {tool});
  }
  void SetUp() override {
    if (!make_cuda_backend(0).ok())
      GTEST_SKIP() << "no GPU";
  }
};

TEST_F(UnderSanitizer, NothingIsFoundInARightTemplate) {
  for (const char* tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
    const CheckResult result = watch(tool, "out[index] = Function(in[index]);");
    EXPECT_EQ(result.verdict, Verdict::tested) << result.detail;
    EXPECT_EQ(result.runs, 2U) << result.detail;
  }
}

TEST_F(UnderSanitizer, ARaceInSharedMemoryIsNamed) {
  const CheckResult result = watch(
      "racecheck", "{\n    __shared__ float staged[BLOCK];\n    staged[threadIdx.x] = Function(in[index]);\n"
                   "    out[index] = staged[(threadIdx.x + 32) % BLOCK];\n  }");
  EXPECT_EQ(result.verdict, Verdict::failed) << result.detail;
  EXPECT_NE(result.detail.find("Race reported"), std::string::npos) << result.detail;
  EXPECT_NE(result.detail.find("activate_kernel"), std::string::npos) << result.detail;
}

TEST_F(UnderSanitizer, AWriteBehindASharedArrayIsNamed) {
  const CheckResult result = watch(
      "memcheck", "{\n    __shared__ float staged[BLOCK];\n    staged[threadIdx.x + count] = in[index];\n"
                  "    __syncwarp();\n    out[index] = staged[threadIdx.x];\n  }");
  EXPECT_EQ(result.verdict, Verdict::failed) << result.detail;
  EXPECT_NE(result.detail.find("Invalid __shared__ write"), std::string::npos) << result.detail;
}

TEST_F(UnderSanitizer, AnUnknownToolDecidesNothing) {
  EXPECT_EQ(watch("nosuchcheck", "out[index] = Function(in[index]);").verdict, Verdict::undecided);
}

} // namespace
} // namespace lathe::refactor
