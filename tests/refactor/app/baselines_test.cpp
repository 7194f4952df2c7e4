// PyTorch's columns in the loop's tables: with numbers, and without.
#include "refactor/app/baselines.h"

#include "refactor/app/ablation_report.h"
#include "refactor/app/history.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;

// Made up: raw takes 4 us everywhere, PyTorch twice and eight times as long, its compiler half as long where
// it was measured.
constexpr const char* MEASURED = R"({"Schema": 1, "Device": "made up", "Baselines": [
  {"Kernel": "k", "Problem": {"n": 1}, "Microseconds": {"Raw": 4, "Eager": 8, "Compile": 2, "Tuned": 3}},
  {"Kernel": "k", "Problem": {"n": 2}, "Microseconds": {"Raw": 4, "Eager": 32}},
  {"Kernel": "broken", "Problem": {"n": 2}, "Microseconds": {}, "NotMeasured": {"all": "nvcc: error"}}]})";

class BaselineFiles : public testing::Test {
protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create("baselines");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
  }
  Result<Baselines> read(const std::string& text) {
    EXPECT_TRUE(write_file(folder_->path() / "baselines.json", text).ok());
    return read_baselines(folder_->path() / "baselines.json");
  }
  std::optional<TemporaryFolder> folder_;
};

TEST_F(BaselineFiles, AreMeansOverWhatWasMeasured) {
  const auto baselines = read(MEASURED);
  ASSERT_TRUE(baselines.ok()) << baselines.error().sentence();
  const BaselineRatio ratio = baseline_of(*baselines, "k", "made up");
  EXPECT_DOUBLE_EQ(ratio.eager.value(), 0.25);
  EXPECT_DOUBLE_EQ(ratio.compiled.value(), 2);
  for (const auto& [kernel, device] : std::map<std::string, std::string>{
           {"broken", "made up"}, {"unknown", "made up"}, {"k", "another GPU"}}) {
    const BaselineRatio none = baseline_of(*baselines, kernel, device);
    EXPECT_FALSE(none.eager || none.compiled) << kernel;
  }
}

TEST_F(BaselineFiles, OfAnotherFormAreRefused) {
  for (const char* text :
       {"", "[]", R"({"Schema": 2, "Device": "d", "Baselines": []})", R"({"Schema": 1, "Baselines": []})",
        R"({"Schema": 1, "Device": "d", "Baselines": [3]})",
        R"({"Schema": 1, "Device": "d", "Baselines": [{"Kernel": "k"}]})",
        R"({"Schema": 1, "Device": "d", "Baselines": [{"Kernel": "k", "Microseconds": {"Raw": 0}}]})",
        R"({"Schema": 1, "Device": "d", "Baselines": [{"Kernel": "k", "Microseconds": {"Raw": "4"}}]})"}) {
    const auto refused = read(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.error().sentence(), HasSubstr("pytorch_baselines.py")) << text;
  }
  EXPECT_FALSE(read_baselines(folder_->path() / "none.json").ok());
}

History one_attempt() {
  History history;
  history.kernel = "kernel";
  history.name = "k";
  history.source = "k.cu";
  history.source_hash = "0";
  history.device = "made up";
  history.tree = agents::SearchTree("raw");
  agents::Node node;
  node.candidate = "made";
  node.score = 0.8;
  node.stage = agents::Stage::measured;
  node.speedups = {1.25};
  history.tree.add(agents::root_node, node);
  return history;
}

TEST_F(BaselineFiles, AHistoryAlwaysHasBothColumns) {
  History history = one_attempt();
  EXPECT_THAT(history_text(history), HasSubstr("                best   PyTorch eager   torch.compile\n"
                                               "raw / time     1.250    not measured    not measured\n"));
  EXPECT_EQ(to_json(history)["Baselines"].dump(), R"({"RawOverEager":null,"RawOverCompile":null})");

  history.baselines = baseline_of(*read(MEASURED), history.name, history.device);
  EXPECT_THAT(history_text(history), HasSubstr("raw / time     1.250           0.250           2.000\n"));
  ASSERT_TRUE(write_history(history, folder_->path()).ok());
  const auto kept = read_history(folder_->path());
  ASSERT_TRUE(kept.ok()) << kept.error().sentence();
  EXPECT_EQ(kept->baselines.eager, 0.25);
  EXPECT_EQ(kept->baselines.compiled, 2);
}

TEST_F(BaselineFiles, TheAblationsTableAlwaysHasBothColumns) {
  agents::AblationResult result;
  result.device = "made up";
  result.kernels = {"k", "other"};
  result.plan.seeds = {1};
  result.plan.attempts = 1;
  agents::ArmResult arm;
  arm.arm.name = "uniform";
  for (const std::string& kernel : result.kernels) {
    agents::ArmRun run;
    run.kernel = kernel;
    run.seed = 1;
    run.best = {1.25};
    run.optimum = 1.25;
    run.reached = 1;
    run.attempts = 1;
    run.calls = 3;
    run.tokens = 400;
    arm.runs.push_back(run);
  }
  result.arms = {arm};
  const std::string head = "| kernel | best recorded | PyTorch eager | torch.compile | attempts, uniform |";
  const std::string without = ablation_markdown(result, {}, "test");
  EXPECT_THAT(without, HasSubstr(head));
  EXPECT_THAT(without, HasSubstr("| k | 1.250 | not measured | not measured | 1 | 1 |\n"));
  EXPECT_THAT(without, HasSubstr("| 3.0 | 400 |")) << "calls and tokens of a run";

  const auto baselines = read(MEASURED);
  const std::string with = ablation_markdown(result, *baselines, "test");
  EXPECT_THAT(with, HasSubstr(head));
  EXPECT_THAT(with, HasSubstr("| k | 1.250 | 0.250 | 2.000 | 1 | 1 |\n"));
  EXPECT_THAT(with, HasSubstr("| other | 1.250 | not measured | not measured | 1 | 1 |\n"));
  const auto json = ablation_json(result, *baselines);
  EXPECT_EQ(json["Baselines"]["k"]["RawOverEager"], 0.25);
  EXPECT_TRUE(json["Baselines"]["other"]["RawOverCompile"].is_null());
  EXPECT_EQ(json["Arms"][0]["Runs"][0]["Tokens"], 400);
}

} // namespace
} // namespace lathe::refactor
