// `lathe optimize` as a user runs it, on the host executor: to the end, killed at any point, and through an
// evaluation queue.
#include "tests/whole/command.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class OptimizeTest : public CommandTest {
protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("twice.cu", TWICE_KERNEL);
  }
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"optimize",
                                   "twice.cu",
                                   "--problem",
                                   "n=4,d=96",
                                   "--attempts",
                                   "3",
                                   "--evaluations",
                                   "2",
                                   "--guard-configurations",
                                   "1",
                                   "--guard-seconds",
                                   "5",
                                   "--no-final",
                                   "-o",
                                   "run"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Json history() const {
    const auto text = read_file(folder() / "run" / "history.json");
    EXPECT_TRUE(text.ok());
    return text.ok() ? Json::parse(*text, nullptr, false) : Json();
  }
};

TEST_F(OptimizeTest, RunsToItsBudgetAndLeavesACheckedTemplate) {
  const auto done = lathe(command({"--device", "host", "--memory", "memory.json"}));
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const Json json = history();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["Tree"].size(), 4u);
  EXPECT_NE(json["Ended"].get<std::string>().find("budget"), std::string::npos);
  EXPECT_TRUE(json["Host"].get<bool>());
  EXPECT_NE(done.output.find("not GPU times"), std::string::npos);
  for (const Json& node : json["Tree"]) {
    if (node["Id"] == 0 || node["Stage"] != "measured")
      continue;
    // What has a score was accepted by the guard.
    const fs::path certificate = folder() / "run" / "candidates" / node["Candidate"].get<std::string>() /
                                 "templates" / "twice" / "certificate.json";
    EXPECT_TRUE(Json::parse(*read_file(certificate))["Accepted"].get<bool>());
  }
  const auto shown = lathe({"optimize", "--history", "run"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.output.find("why:"), std::string::npos);
  EXPECT_EQ(Json::parse(lathe({"optimize", "--history", "run", "--json"}).output)["Tree"], json["Tree"]);
  const auto listed = lathe({"report", "--history", "run"});
  EXPECT_EQ(listed.exit_code, 0) << listed.errors;
  EXPECT_NE(listed.output.find("- 3. "), std::string::npos) << listed.output;
  EXPECT_NE(listed.output.find("not GPU times"), std::string::npos);
  EXPECT_EQ(lathe({"report", "--history", "run", "--html", "run.html"}).exit_code, 0);
  EXPECT_NE(read_file(folder() / "run.html")->find("How twice was improved"), std::string::npos);
  EXPECT_EQ(Json::parse(lathe({"report", "--history", "run", "--json"}).output)["Attempts"].size(), 3u);
  expect_sentence(lathe({"report", "--history", "nowhere"}), 1, {"nowhere"});
  const auto memory = lathe({"memory", "show", "memory.json"});
  EXPECT_NE(memory.output.find("3 attempts"), std::string::npos) << memory.output;
  EXPECT_NE(lathe({"memory", "export", "memory.json"}).output.find("digraph"), std::string::npos);
  // The same command finds nothing left to do; other settings are refused.
  EXPECT_EQ(lathe(command({"--device", "host", "--memory", "memory.json"})).exit_code, 0);
  EXPECT_EQ(history()["Tree"], json["Tree"]);
  expect_sentence(lathe(command({"--device", "host", "--seed", "9"})), 1, {"other settings"});
}

TEST_F(OptimizeTest, KilledAtAnyPointItLosesAtMostTheAttemptInFlight) {
  std::vector<std::string> words = command({"--device", "host"});
  words.insert(words.begin(), lathe_program());
  Json before = Json::array();
  int kills = 0;
  for (const int milliseconds : {1500, 4000, 7000, 11000}) {
    SubprocessOptions options;
    options.timeout = std::chrono::milliseconds(milliseconds); // then SIGKILL to the whole group
    options.folder = folder();
    const auto run = run_subprocess(words, options);
    ASSERT_TRUE(run.ok());
    kills += run->timed_out;
    if (!fs::exists(folder() / "run" / "history.json"))
      continue;
    const Json now = history();
    ASSERT_TRUE(now.is_object()) << "half written after " << milliseconds << " ms";
    ASSERT_GE(now["Tree"].size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(now["Tree"][i], before[i]) << "attempt " << i << " was lost";
    before = now["Tree"];
  }
  EXPECT_GT(kills, 0);
  EXPECT_EQ(lathe(command({"--device", "host"})).exit_code, 0);
  const Json after = history();
  EXPECT_EQ(after["Tree"].size(), 4u);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(after["Tree"][i], before[i]);
}

TEST_F(OptimizeTest, GoesOnFromTheAnswersOfAQueue) {
  const auto through = command({"--queue", "queue", "--planner", "uniform", "--ahead", "2"});
  auto run = lathe(through);
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.errors.find("2 candidates wait for their scores"), std::string::npos) << run.errors;
  EXPECT_NE(run.output.find("its score is awaited"), std::string::npos) << run.output;
  EXPECT_EQ(history()["Tree"].size(), 3u);
  const auto folders = std::distance(fs::directory_iterator(folder() / "queue" / "requests"), {});
  EXPECT_EQ(folders, 2);
  // Without an answer nothing changes; a foreign one is not taken.
  write("queue/answers/foreign.json", "{\"Schema\": 1, \"Id\": \"0123456789abcdef\"}");
  run = lathe(through);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(history()["Tree"].size(), 3u);
  const auto answered = lathe({"tune", "--queue", "queue", "--device", "host", "--finalists", "1"});
  ASSERT_EQ(answered.exit_code, 0) << answered.errors;
  EXPECT_NE(answered.output.find("foreign.json is not used"), std::string::npos) << answered.output;
  EXPECT_NE(answered.output.find("0 wait"), std::string::npos);
  run = lathe(through);
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(history()["Tree"].size(), 4u);
  for (int id = 1; id <= 2; ++id)
    EXPECT_EQ(history()["Tree"][id]["Stage"], "measured");
}

// A stand-in for a small language model: the last of the actions that it is asked about is the likeliest.
constexpr const char* POLICY_COMMAND =
    "command:n=$(sed 's/.*\"continuations\":\\[//' | grep -o '\" ' | wc -l); "
    "echo \"{\\\"log_probabilities\\\": [$(seq -s, -- -$n -1)]}\"";

TEST_F(OptimizeTest, ALanguageModelWeighsTheActionsWithinTheRunsBudget) {
  const auto words = [&](const std::string& calls) {
    return command({"--queue", "queue", "--policy", POLICY_COMMAND, "--policy-calls", calls});
  };
  auto run = lathe(words("2"));
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  Json json = history();
  ASSERT_EQ(json["Tree"].size(), 3u);
  EXPECT_EQ(json["Settings"]["Planner"], "policy");
  EXPECT_EQ(json["Ledger"]["PolicyCalls"], 2);
  EXPECT_GT(json["Ledger"]["PolicyTokens"], 100);
  for (int id = 1; id <= 2; ++id)
    EXPECT_NE(json["Tree"][id]["Reason"].get<std::string>().find("by the language model as policy"),
              std::string::npos)
        << json["Tree"][id]["Reason"];
  EXPECT_NE(run.output.find("policy: 2 calls"), std::string::npos) << run.output;
  const Json transcript = Json::parse(*read_file(folder() / "run" / "policy-1.json"));
  ASSERT_EQ(transcript["Turns"].size(), 2u);
  EXPECT_FALSE(transcript["Turns"][0]["Continuations"].empty());
  // The budget is the run's: the same command asks nothing more, a larger one goes on from what was spent.
  ASSERT_EQ(lathe(words("2")).exit_code, 0);
  EXPECT_EQ(history()["Tree"], json["Tree"]);
  EXPECT_EQ(lathe(words("3")).exit_code, 0);
  EXPECT_EQ(history()["Tree"].size(), 4u);
  EXPECT_EQ(history()["Ledger"]["PolicyCalls"], 3);
  // Without an answer another planner takes the attempt, and the history says so.
  auto silent = command({"--queue", "other", "--policy", "command:exit 3", "-o", "silent"});
  silent.erase(std::find(silent.begin(), silent.end(), "-o"),
               std::find(silent.begin(), silent.end(), "-o") + 2);
  run = lathe(silent);
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(
      run.output.find("in place of the language model as policy: no answer from command:exit 3: exit code 3"),
      std::string::npos)
      << run.output;
}

TEST_F(OptimizeTest, WrongUseIsSaid) {
  expect_sentence(lathe({"optimize", "twice.cu", "--policy", "openai:tiny"}), 2, {"openai:MODEL@URL"});
  expect_sentence(lathe({"optimize", "twice.cu", "--policy-calls", "3"}), 2,
                  {"--policy-calls", "no language model"});
  expect_sentence(lathe({"optimize", "twice.cu", "--policy", "command:x", "--planner", "uniform"}), 2,
                  {"planner is uniform"});
  expect_sentence(lathe({"optimize", "twice.cu", "--policy", "command:x", "--policy-temperature", "0"}), 2,
                  {"--policy-temperature"});
  expect_sentence(lathe({"optimize", "twice.cu", "--planner", "policy"}), 2, {"--policy"});
  expect_sentence(lathe({"optimize", "twice.cu", "--coder", "model"}), 2, {"--model"});
  expect_sentence(lathe({"optimize", "twice.cu", "--attempts", "0"}), 2, {"--attempts"});
  expect_sentence(lathe({"optimize", "--history", "nowhere"}), 1, {"nowhere"});
  write("memory.json", "{\"Format\": \"lathe transition memory\", \"Schema\": 7}");
  expect_sentence(lathe(command({"--device", "host", "--memory", "memory.json"})), 1, {"another version"});
  write("policy.json", "{\"Format\": \"lathe policy\", \"Schema\": 1, \"Weights\": {\"old rule\": 1}}");
  expect_sentence(lathe(command({"--device", "host", "--policy", "policy.json"})), 1, {"other actions"});
  expect_sentence(lathe({"tune", "--queue", "nowhere"}), 2, {"nowhere", "requests"});
  write("plan.json", "{\"Trees\": \"none\", \"Arms\": [{\"Name\": \"x\", \"Planner\": \"oracle\"}]}");
  expect_sentence(lathe({"ablate", "plan.json"}), 2, {"oracle"});
  expect_sentence(lathe({"memory", "merge", "memory.json"}), 2, {"merge"});
}

} // namespace
} // namespace lathe
