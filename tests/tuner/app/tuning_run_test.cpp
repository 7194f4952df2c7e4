// The order and the sharing of work: which problems run where, how often, and what a failure costs.
#include "tuner/app/tuning_run.h"

#include "tests/tuner/app/scripted_backend.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <thread>

namespace lathe {
namespace {

class TuningRunTest : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("run-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    auto store = Store::open(folder_->path() / "results.sqlite");
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
  }

  // A specification with `tune` searched problems and `others` of another role, and as many `blocks` more as
  // are asked for.
  std::string write_spec_file(const std::string& name, int tune, int others, int blocks = 0,
                              ProblemRole other_role = ProblemRole::report) {
    TuningSpec spec = small_spec();
    spec.name = name;
    spec.problems.clear();
    for (int i = 0; i < tune + others; ++i) {
      Problem problem;
      problem.dimensions = {{"n", 512 * (i + 1)}};
      problem.role = i < tune ? ProblemRole::tune : other_role;
      spec.problems.push_back(problem);
    }
    const std::filesystem::path file = folder_->path() / (name + ".json");
    spec.kernel.file = folder_->path() / "kernel.cu";
    spec.kernel.instance = "scale<{BLOCK}>";
    spec.knobs[0].values.insert(spec.knobs[0].values.begin() + 1, Value{std::int64_t{128}});
    for (int i = 0; i < blocks; ++i)
      spec.knobs[0].values.emplace_back(std::int64_t{300 + i});
    if (blocks > 0)
      spec.conditions.clear();
    EXPECT_TRUE(
        write_file(spec.kernel.file, "template <int BLOCK> __global__ void scale(float* out) {}\n").ok());
    spec.template_hash = content_hash(*read_file(spec.kernel.file));
    const Status written = write_spec(spec, file);
    EXPECT_TRUE(written.ok()) << written.error().sentence();
    return file.string();
  }

  static void add(TuningRun& run, const std::string& file) {
    const Status added = run.add(file);
    ASSERT_TRUE(added.ok()) << added.error().sentence();
  }

  std::vector<std::unique_ptr<Backend>> devices(int count) {
    std::vector<std::unique_ptr<Backend>> all;
    for (int i = 0; i < count; ++i)
      all.push_back(std::make_unique<ScriptedBackend>());
    return all;
  }

  RunOptions options() {
    RunOptions result;
    result.session.evaluations = 20;
    result.done = [this](const TunedProblem& problem, bool again) {
      order.push_back(problem.role);
      ++(again ? repeats : firsts)[problem.spec + " " + problem.workload];
    };
    result.failed = [this](const std::string& name, const Error&) { failed.insert(name); };
    return result;
  }

  std::optional<TemporaryFolder> folder_;
  std::unique_ptr<Store> store_;
  std::atomic<bool> stop_{false};
  std::vector<ProblemRole> order;
  std::map<std::string, int> firsts, repeats;
  std::set<std::string> failed;
};

TEST_F(TuningRunTest, EveryProblemRunsOnceWhateverTheNumberOfDevices) {
  for (const int count : {1, 2, 5}) {
    order.clear();
    firsts.clear();
    TuningRun run(devices(count), *store_, options(), stop_);
    add(run, write_spec_file("first", 3, 2));
    add(run, write_spec_file("second", 4, 0));
    run.run();
    EXPECT_EQ(firsts.size(), 9u) << count;
    for (const auto& [name, times] : firsts)
      EXPECT_EQ(times, 1) << name;
    EXPECT_TRUE(repeats.empty()); // there is no time budget to share
    ASSERT_EQ(run.results().size(), 9u);
    EXPECT_EQ(run.results().front()->role, ProblemRole::tune);
    EXPECT_EQ(run.results().back()->role, ProblemRole::report);
  }
}

TEST_F(TuningRunTest, OtherProblemsWaitForTheWinnersOfTheirSpecification) {
  TuningRun run(devices(3), *store_, options(), stop_);
  add(run, write_spec_file("first", 3, 3));
  run.run();
  ASSERT_EQ(order.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(order[i], ProblemRole::tune);
  for (const TunedProblem* one : run.results())
    EXPECT_FALSE(one->result.winner.knobs.empty()) << one->workload;
}

TEST_F(TuningRunTest, AProblemThatFailsCostsNoOther) {
  auto backends = devices(1);
  static_cast<ScriptedBackend&>(*backends[0]).unprepared = "n=1024";
  TuningRun run(std::move(backends), *store_, options(), stop_);
  add(run, write_spec_file("first", 3, 1));
  run.run();
  EXPECT_EQ(run.results().size(), 3u);
  ASSERT_EQ(run.failures().size(), 1u);
  EXPECT_EQ(failed.size(), 1u);
  EXPECT_NE(failed.begin()->find("n=1024"), std::string::npos);
}

// 64 is best at 512, 256 at 1024: of the size that is searched, and of the other while it was.
TEST_F(TuningRunTest, AProblemThatIsNotSearchedKeepsWhatServedItBefore) {
  const auto run_with = [&](int tune, int report) {
    auto all = devices(1);
    static_cast<ScriptedBackend&>(*all.front()).by_problem = [](const std::string& problem,
                                                                std::int64_t block) -> double {
      const bool is_small = problem.find("n=512") != std::string::npos;
      return block == 128 ? 90 : (block == 64) == is_small ? 50 : 200;
    };
    TuningRun run(std::move(all), *store_, options(), stop_);
    add(run, write_spec_file("first", tune, report));
    run.run();
    const auto results = run.results();
    EXPECT_EQ(results.size(), 2u);
    return results.back()->result.winner.knobs;
  };
  const KnobValues best{Value{std::int64_t{256}}};
  EXPECT_EQ(run_with(2, 0), best);
  EXPECT_EQ(run_with(1, 1), best);
}

TEST_F(TuningRunTest, TimeThatIsLeftGoesToSearchesWithAGap) {
  RunOptions wanted = options();
  wanted.seconds = 0.6;
  wanted.least_slice_s = 0.02;
  wanted.session.evaluations = 1 << 30;
  TuningRun run(devices(2), *store_, wanted, stop_);
  add(run, write_spec_file("first", 3, 0));
  const auto start = std::chrono::steady_clock::now();
  run.run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // The scripted space is exhausted at once: nothing is left to gain, and nobody waits for the time to pass.
  EXPECT_LT(seconds, 5);
  EXPECT_EQ(firsts.size(), 3u);
  EXPECT_TRUE(repeats.empty());
}

// What is left does not suffice to finish every search once more: those that go on do try something.
TEST_F(TuningRunTest, ASearchThatGoesOnTriesMore) {
  RunOptions wanted = options();
  wanted.seconds = 3;
  wanted.least_slice_s = 0.1;
  wanted.session.evaluations = 1 << 30;
  wanted.session.technique = "random";
  wanted.session.transfer = false;
  std::map<std::string, int> evaluated;
  wanted.done = [&](const TunedProblem& problem, bool again) {
    int& before = evaluated[problem.workload];
    if (again) {
      EXPECT_GT(problem.result.progress.evaluated, before) << problem.workload;
    }
    before = problem.result.progress.evaluated;
  };
  auto backends = devices(1);
  auto& backend = static_cast<ScriptedBackend&>(*backends[0]);
  backend.while_evaluating = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  backend.by_problem = [](const std::string&, std::int64_t block) {
    return 90 - 0.01 * static_cast<double>(block);
  };
  backend.comparing = std::chrono::milliseconds(30);
  TuningRun run(std::move(backends), *store_, std::move(wanted), stop_);
  add(run, write_spec_file("wide", 6, 0, 2000));
  run.run();
  EXPECT_FALSE(evaluated.empty()); // a busy machine reaches fewer
}

TEST_F(TuningRunTest, CountersDoNotTakeTheTimeOfABudget) {
  for (const bool has_budget : {true, false}) {
    auto backends = devices(1);
    auto& backend = static_cast<ScriptedBackend&>(*backends[0]);
    backend.profiling = std::chrono::milliseconds(30);
    RunOptions wanted = options();
    if (has_budget)
      wanted.seconds = 20;
    TuningRun run(std::move(backends), *store_, std::move(wanted), stop_);
    add(run, write_spec_file("first", 6, 0));
    run.run();
    ASSERT_EQ(run.results().size(), 6u);
    EXPECT_EQ(backend.profiled < 6, has_budget) << backend.profiled;
    EXPECT_EQ(run.without_counters() > 0, has_budget);
  }
}

// What came second at the searched size is the best at the other: that is chosen for a select problem, and a
// report problem shows what the winner does.
TEST_F(TuningRunTest, ASelectProblemIsTriedWithWhatCameNextToWinning) {
  const auto chosen = [&](ProblemRole role) {
    auto all = devices(1);
    static_cast<ScriptedBackend&>(*all.front()).by_problem = [](const std::string& problem,
                                                                std::int64_t block) -> double {
      const bool is_small = problem.find("n=512") != std::string::npos;
      return block == 128 ? 90 : block == 64 ? (is_small ? 50 : 80) : (is_small ? 60 : 40);
    };
    TuningRun run(std::move(all), *store_, options(), stop_);
    add(run, write_spec_file(role == ProblemRole::select ? "selected" : "reported", 1, 1, 0, role));
    run.run();
    return run.results().back()->result.winner.knobs;
  };
  EXPECT_EQ(chosen(ProblemRole::select), KnobValues{Value{std::int64_t{256}}});
  EXPECT_EQ(chosen(ProblemRole::report), KnobValues{Value{std::int64_t{64}}});
}

// Searches that go on find other winners: the problems that are not searched are tried with these in the end.
TEST_F(TuningRunTest, WinnersThatAreFoundLaterAreTriedOnTheOtherProblems) {
  RunOptions wanted = options();
  wanted.seconds = 3;
  wanted.least_slice_s = 0.05;
  wanted.session.evaluations = 1 << 30;
  wanted.session.technique = "random";
  wanted.session.transfer = false;
  auto backends = devices(1);
  auto& backend = static_cast<ScriptedBackend&>(*backends[0]);
  backend.while_evaluating = [] { std::this_thread::sleep_for(std::chrono::milliseconds(9)); };
  backend.by_problem = [](const std::string&, std::int64_t block) {
    return 90 - 0.01 * static_cast<double>(block);
  };
  TuningRun run(std::move(backends), *store_, std::move(wanted), stop_);
  add(run, write_spec_file("wide", 2, 1, 2000));
  run.run();
  const auto results = run.results();
  ASSERT_EQ(results.size(), 3u);
  if (results[0]->result.exhausted && results[1]->result.exhausted) { // a busy machine has no time for it
    EXPECT_EQ(results[2]->result.winner.knobs, KnobValues{Value{std::int64_t{2299}}});
  }
}

// Seen at another size alone: a search of ten does not meet it.
TEST_F(TuningRunTest, WhatIsFasterElsewhereReplacesAWinner) {
  const auto run_with = [&](int tune, int evaluations) {
    RunOptions wanted = options();
    wanted.general = true;
    wanted.session.evaluations = evaluations;
    wanted.session.technique = "random";
    wanted.session.transfer = false;
    auto all = devices(1);
    static_cast<ScriptedBackend&>(*all.front()).by_problem = [](const std::string&, std::int64_t block) {
      return 90 - 0.01 * static_cast<double>(block);
    };
    TuningRun run(std::move(all), *store_, std::move(wanted), stop_);
    add(run, write_spec_file("wide", tune, 0, 2000));
    run.run();
    EXPECT_TRUE(run.failures().empty());
    std::vector<KnobValues> winners;
    for (const TunedProblem* one : run.results())
      winners.push_back(one->result.winner.knobs);
    return winners;
  };
  const KnobValues best = run_with(1, 1 << 30).front();
  EXPECT_EQ(best, KnobValues{Value{std::int64_t{2299}}});
  repeats.clear();
  EXPECT_EQ(run_with(2, 10), (std::vector<KnobValues>{best, best}));
  EXPECT_EQ(repeats.size(), 1u);
}

TEST_F(TuningRunTest, StoppingEndsTheRun) {
  stop_ = true;
  TuningRun run(devices(2), *store_, options(), stop_);
  add(run, write_spec_file("first", 3, 1));
  run.run();
  EXPECT_TRUE(run.results().empty());
}

TEST_F(TuningRunTest, NothingBeginsWhenTheTimeIsOver) {
  RunOptions wanted = options();
  wanted.seconds = 0;
  TuningRun run(devices(2), *store_, std::move(wanted), stop_);
  add(run, write_spec_file("first", 3, 2));
  run.run();
  EXPECT_TRUE(run.results().empty());
  EXPECT_EQ(run.unreached(), 5);
  EXPECT_TRUE(run.failures().empty());
}

// A budget that ended too early: the same command begins where it ended, and not at the first problem again.
TEST_F(TuningRunTest, WhatAnEarlierRunDidNotReachComesFirst) {
  const auto reached_by = [&](int first_only) {
    std::vector<std::string> reached;
    std::atomic<bool> stop = false;
    RunOptions wanted = options();
    wanted.seconds = 60;
    wanted.done = [&](const TunedProblem& problem, bool) {
      reached.push_back(problem.workload);
      stop = stop || std::ssize(reached) == first_only;
    };
    TuningRun run(devices(1), *store_, std::move(wanted), stop);
    add(run, write_spec_file("first", 4, 0));
    run.run();
    return reached;
  };
  const std::vector<std::string> first = reached_by(2), second = reached_by(4);
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 4u);
  for (const std::string& workload : first) {
    EXPECT_NE(second[0], workload);
    EXPECT_NE(second[1], workload);
  }
}

// 64 is best at 512, 256 at 1024, and 128 good at both.
TEST_F(TuningRunTest, OneConfigurationForAllIsTheBestTogether) {
  const auto time = [](const std::string& problem, std::int64_t block) -> double {
    const bool is_small = problem.find("n=512") != std::string::npos;
    return block == 128 ? (is_small ? 70 : 60) : (block == 64) == is_small ? 50 : 200;
  };
  auto all = devices(1);
  static_cast<ScriptedBackend&>(*all.front()).by_problem = time;
  RunOptions wanted = options();
  wanted.general = true;
  TuningRun run(std::move(all), *store_, std::move(wanted), stop_);
  add(run, write_spec_file("first", 2, 1));
  add(run, write_spec_file("single", 1, 0)); // nothing to generalise
  run.run();
  ASSERT_EQ(run.general().size(), 1u);
  const GeneralConfiguration& general = run.general().front();
  EXPECT_EQ(general.spec, "first");
  EXPECT_EQ(general.problems, 2);
  EXPECT_EQ(general.knobs, KnobValues{Value{std::int64_t{128}}});
  EXPECT_NEAR(general.ratio, 100 / std::sqrt(70.0 * 60.0), 1e-9);
  EXPECT_NEAR(general.worst, 100.0 / 70, 1e-9);
  EXPECT_TRUE(run.failures().empty());
}

} // namespace
} // namespace lathe
