// Kills processes of a tuning at random moments, again and again: nothing recorded is lost or doubled,
// nothing is left running, and the same command ends what it began. LATHE_DRILL_KILLS sets how often (./dev
// drill).
#include "tests/whole/command.h"
#include "tests/whole/processes.h"
#include "tuner/expression/expression.h"
#include "tuner/store/store.h"

#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <thread>

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr int DEFAULT_KILLS = 10;
constexpr auto LONGEST_WAIT_FOR_A_VICTIM = std::chrono::milliseconds(1500);
class FaultDrill : public CommandTest {
protected:
  using Recorded = std::map<std::string, std::multiset<std::string>>; // by key

  void SetUp() override {
    CommandTest::SetUp();
    const auto source = source_folder() / "sglang_kernels/silu_and_mul.cu";
    const auto made = lathe({"templatize", source.string(), "--name", "silu_and_mul", "--no-check"});
    ASSERT_EQ(made.exit_code, 0) << made.errors;
  }

  std::string messages() const {
    auto text = read_file(folder() / "errors.txt");
    return text.ok() ? *text : text.error().sentence();
  }

  // The row length makes another problem, so that the drill never runs out of work.
  std::vector<std::string> command(int row_length) const {
    return {"tune",          "search_spaces/silu_and_mul.json",
            "--device",      "host",
            "--evaluations", std::to_string(EVALUATIONS),
            "--problem",     "num_tokens=2,d=" + std::to_string(row_length),
            "--results",     "results.sqlite",
            "--json"};
  }

  pid_t start(int row_length) { return start_lathe(command(row_length), folder()); }

  Recorded recorded() {
    Recorded found;
    if (!std::filesystem::exists(folder() / "results.sqlite"))
      return found;
    auto store = Store::open(folder() / "results.sqlite");
    EXPECT_TRUE(store.ok()) << store.error().sentence();
    if (!store.ok())
      return found;
    auto keys = (*store)->keys("silu_and_mul");
    EXPECT_TRUE(keys.ok()) << keys.error().sentence();
    for (const StoreKey& key : keys.ok() ? *keys : std::vector<StoreKey>{}) {
      auto evaluations = (*store)->evaluations(key);
      EXPECT_TRUE(evaluations.ok()) << evaluations.error().sentence();
      std::multiset<std::string>& of_key = found[key.workload];
      for (const StoredEvaluation& evaluation :
           evaluations.ok() ? *evaluations : std::vector<StoredEvaluation>{}) {
        std::string text;
        for (const auto& value : evaluation.knobs)
          text += to_string(value) + " ";
        of_key.insert(text);
      }
    }
    return found;
  }

  static void expect_nothing_lost_or_doubled(const Recorded& before, const Recorded& after) {
    for (const auto& [key, configurations] : after)
      for (const std::string& configuration : configurations)
        EXPECT_EQ(configurations.count(configuration), 1U) << key << ": " << configuration;
    for (const auto& [key, configurations] : before) {
      ASSERT_TRUE(after.contains(key)) << key;
      EXPECT_TRUE(std::includes(after.at(key).begin(), after.at(key).end(), configurations.begin(),
                                configurations.end()))
          << key;
    }
  }

  static constexpr int EVALUATIONS = 40;
};

TEST_F(FaultDrill, AnyProcessMayDieAtAnyTime) {
  std::mt19937 random(7);
  const auto up_to = [&](auto most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  int row_length = 256;
  int of_tunings = 0, of_others = 0;
  pid_t tuning = 0;
  Recorded before;
  for (int kills = 0; kills < kills_wanted(DEFAULT_KILLS) && !HasFailure();) {
    if (tuning == 0)
      tuning = start(row_length);
    std::this_thread::sleep_for(LONGEST_WAIT_FOR_A_VICTIM * (1 + up_to(100)) / 100);
    int status = 0;
    if (::waitpid(tuning, &status, WNOHANG) == tuning) { // on to another problem
      // A compiler of the raw kernel that is killed twice ends the tuning, with a sentence.
      EXPECT_TRUE(WIFEXITED(status)) << messages();
      EXPECT_TRUE(WEXITSTATUS(status) == 0 || messages().find("Killed") != std::string::npos) << messages();
      tuning = 0;
      row_length += 256;
      continue;
    }
    const std::set<pid_t> members = family(tuning);
    std::vector<pid_t> others(members.begin(), members.end());
    std::erase(others, tuning);
    const bool kill_tuning = others.empty() || up_to(3) == 0;
    if (::kill(kill_tuning ? tuning : others[static_cast<std::size_t>(up_to(others.size()))], SIGKILL) != 0)
      continue; // it ended by itself
    ++kills;
    ++(kill_tuning ? of_tunings : of_others);
    if (!kill_tuning)
      continue;
    ::waitpid(tuning, &status, 0);
    tuning = 0;
    expect_gone({others.begin(), others.end()});
    const Recorded after = recorded();
    expect_nothing_lost_or_doubled(before, after);
    before = after;
  }
  if (tuning != 0) {
    ::kill(tuning, SIGKILL);
    ::waitpid(tuning, nullptr, 0);
  }
  const auto finished = lathe(command(row_length));
  ASSERT_EQ(finished.exit_code, 0) << finished.errors;
  EXPECT_EQ(Json::parse(finished.output)["Results"][0]["Evaluations"], EVALUATIONS);
  expect_nothing_lost_or_doubled(before, recorded());
  std::printf("killed %d tunings and %d of their helpers\n", of_tunings, of_others);
}

} // namespace
} // namespace lathe
