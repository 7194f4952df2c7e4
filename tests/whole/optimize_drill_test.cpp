// Kills processes of `lathe optimize` at random moments, again and again: every attempt that was recorded
// stays as it was, a helper's death costs its own attempt at most, and the same command ends what it began.
// LATHE_DRILL_KILLS sets how often (./dev drill).
#include "tests/whole/command.h"
#include "tests/whole/processes.h"

#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <csignal>
#include <random>

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr int DEFAULT_KILLS = 6;
constexpr int ATTEMPTS = 5;
constexpr auto LONGEST_WAIT_FOR_A_VICTIM = std::chrono::milliseconds(4000);

class OptimizeDrill : public CommandTest {
protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("twice.cu", TWICE_KERNEL);
  }

  static std::vector<std::string> command() {
    return {"optimize",
            "twice.cu",
            "--problem",
            "n=4,d=96",
            "--device",
            "host",
            "--attempts",
            std::to_string(ATTEMPTS),
            "--evaluations",
            "2",
            "--guard-configurations",
            "1",
            "--guard-seconds",
            "5",
            "--memory",
            "memory.json",
            "--no-final",
            "-o",
            "run"};
  }

  // The nodes of the run as they are on disk; never half written.
  Json recorded() const {
    const auto file = folder() / "run/history.json";
    if (!std::filesystem::exists(file))
      return Json::array();
    const Json json = Json::parse(*read_file(file), nullptr, false);
    EXPECT_TRUE(json.is_object()) << "history.json was left half written";
    return json.is_object() ? json["Tree"] : Json::array();
  }

  // What was recorded is a beginning of what is; but for the children, which later attempts add to.
  static void expect_nothing_lost(Json before, Json after) {
    ASSERT_GE(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(after[i], before[i]) << "attempt " << i;
  }
};

TEST_F(OptimizeDrill, AnyProcessMayDieAtAnyTime) {
  std::mt19937 random(5);
  const auto up_to = [&](auto most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  int of_runs = 0, of_helpers = 0;
  pid_t running = 0;
  Json before = Json::array();
  for (int kills = 0; kills < kills_wanted(DEFAULT_KILLS) && !HasFailure();) {
    if (running == 0)
      running = start_lathe(command(), folder());
    std::this_thread::sleep_for(LONGEST_WAIT_FOR_A_VICTIM * (1 + up_to(100)) / 100);
    int status = 0;
    if (::waitpid(running, &status, WNOHANG) == running) {
      // A helper that dies where there is no attempt yet ends the command, with a sentence.
      const auto errors = read_file(folder() / "errors.txt");
      EXPECT_TRUE(WIFEXITED(status)) << *errors;
      EXPECT_TRUE(WEXITSTATUS(status) == 0 || errors->find("lathe: ") != std::string::npos) << *errors;
      running = 0;
      if (recorded().size() == ATTEMPTS + 1) { // all done: another run, for the kills that are left
        expect_nothing_lost(before, recorded());
        std::filesystem::remove_all(folder() / "run");
        before = Json::array();
        of_helpers = 0;
      }
      continue;
    }
    std::set<pid_t> members = family(running);
    members.erase(running);
    const std::vector<pid_t> helpers(members.begin(), members.end());
    const bool kill_run = helpers.empty() || up_to(3) == 0;
    if (::kill(kill_run ? running : helpers[static_cast<std::size_t>(up_to(helpers.size()))], SIGKILL) != 0)
      continue; // it ended by itself
    ++kills;
    ++(kill_run ? of_runs : of_helpers);
    if (!kill_run)
      continue;
    ::waitpid(running, nullptr, 0);
    running = 0;
    expect_gone({helpers.begin(), helpers.end()});
    const Json after = recorded();
    expect_nothing_lost(before, after);
    before = after;
  }
  if (running != 0) {
    ::kill(running, SIGKILL);
    ::waitpid(running, nullptr, 0);
  }
  const auto finished = lathe(command());
  ASSERT_EQ(finished.exit_code, 0) << finished.errors;
  const Json tree = recorded();
  expect_nothing_lost(before, tree);
  ASSERT_EQ(tree.size(), ATTEMPTS + 1);
  int broken = 0;
  for (const Json& node : tree) {
    const std::string stage = node["Stage"];
    broken += stage != "measured";
    if (node["Id"] == 0 || stage != "measured")
      continue;
    const auto certificate = read_file(folder() / "run/candidates" / node["Candidate"].get<std::string>() /
                                       "templates/twice/certificate.json");
    ASSERT_TRUE(certificate.ok());
    EXPECT_TRUE(Json::parse(*certificate)["Accepted"].get<bool>()) << "what is scored was accepted";
  }
  EXPECT_LE(broken, of_helpers) << "undisturbed, every action of this kernel makes a good template";
  EXPECT_EQ(lathe({"memory", "show", "memory.json"}).exit_code, 0) << "the memory was left whole";
  std::printf("killed %d runs and %d of their helpers, %d attempts lost\n", of_runs, of_helpers, broken);
}

} // namespace
} // namespace lathe
