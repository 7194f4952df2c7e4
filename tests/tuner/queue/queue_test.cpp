// The evaluation queue: what is asked, what is accepted as an answer, and what is not.
#include "tuner/base/files.h"
#include "tuner/queue/queue.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class Queue : public ::testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("queue-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    const fs::path source = std::getenv("LATHE_SOURCE_DIR");
    auto spec = read_spec(source / "search_spaces" / "store_kv_cache.json", {.check_template = false});
    ASSERT_TRUE(spec.ok()) << spec.error().sentence();
    spec_ = *spec;
    certificate_ = source / "templates" / "store_kv_cache" / "certificate.json";
  }
  EvaluationQueue queue() const { return EvaluationQueue(folder_->path() / "queue"); }
  QueueRequest ask(int evaluations = 20) {
    QueueRequest request;
    request.kernel = "store_kv_cache";
    request.problems = {"length=1,row_bytes=2048"};
    request.evaluations = evaluations;
    auto put = queue().put(request, spec_, certificate_);
    EXPECT_TRUE(put.ok()) << (put.ok() ? "" : put.error().sentence());
    return put.ok() ? *put : request;
  }
  static QueueAnswer answer_to(const QueueRequest& request) {
    QueueAnswer answer;
    answer.id = request.id;
    answer.template_hash = request.template_hash;
    answer.device = "a GPU";
    QueueScore score;
    score.workload = "i64 length=1 row_bytes=2048";
    score.problem = {{"length", 1}, {"row_bytes", 2048}};
    score.raw_us = 10, score.best_us = 5;
    score.ratio = 2, score.ratio_low = 1.9, score.ratio_high = 2.1;
    score.samples = {10, 5};
    score.knobs = {{"BLOCK", "64"}};
    score.raw_counters = {{"Dram", 0.5}};
    answer.scores = {score};
    return answer;
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder_->path() / "queue" / "answers" / name, text).ok());
  }
  // The one refusal, which must mention `words`.
  void expect_refused(const std::string& words) {
    const auto answers = queue().answers();
    ASSERT_TRUE(answers.ok());
    ASSERT_EQ(answers->refused.size(), 1u);
    EXPECT_NE(answers->refused[0].find(words), std::string::npos) << answers->refused[0];
  }

  std::optional<TemporaryFolder> folder_;
  TuningSpec spec_;
  fs::path certificate_;
};

TEST_F(Queue, AskingTwiceIsAskingOnce) {
  const QueueRequest first = ask(), second = ask();
  EXPECT_EQ(first.id, second.id);
  EXPECT_NE(ask(10).id, first.id);
  EXPECT_EQ(queue().requests()->size(), 2u);
}

TEST_F(Queue, CountersAreAskedForAndToldWhereTheyWereRead) {
  QueueRequest request;
  request.kernel = "store_kv_cache";
  request.counters = true;
  const auto put = queue().put(request, spec_, certificate_);
  ASSERT_TRUE(put.ok()) << put.error().sentence();
  EXPECT_TRUE(queue().requests()->front().counters);
  ASSERT_TRUE(queue().answer(answer_to(*put)).ok());
  const auto answers = queue().answers();
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ(answers->accepted.at(put->id).scores[0].raw_counters,
            (std::map<std::string, double>{{"Dram", 0.5}}));
}

TEST_F(Queue, TheCopiedSpecificationStandsAlone) {
  const QueueRequest request = ask();
  const auto spec = read_spec(queue().specification(request));
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  EXPECT_EQ(spec->template_hash, request.template_hash);
  EXPECT_EQ(spec->knobs.size(), spec_.knobs.size());
  EXPECT_EQ(spec->kernel.file.parent_path(), queue().specification(request).parent_path());
}

TEST_F(Queue, AnAnswerComesBackAsItWasGiven) {
  const QueueRequest request = ask();
  ASSERT_EQ(queue().pending()->size(), 1u);
  ASSERT_TRUE(queue().answer(answer_to(request)).ok());
  EXPECT_TRUE(queue().pending()->empty());
  const auto answers = queue().answers();
  ASSERT_TRUE(answers->refused.empty());
  const QueueScore& score = answers->accepted.at(request.id).scores.at(0);
  EXPECT_EQ(score.ratio, 2);
  EXPECT_EQ(score.samples, (std::vector<double>{10, 5}));
  EXPECT_EQ(score.knobs.at("BLOCK"), "64");
  EXPECT_EQ(score.problem.at("row_bytes"), 2048);
}

TEST_F(Queue, ForeignAnswersAreRefused) {
  QueueAnswer foreign = answer_to(ask());
  foreign.id = "0123456789abcdef";
  ASSERT_TRUE(queue().answer(foreign).ok());
  expect_refused("no request of this queue");
  EXPECT_EQ(queue().pending()->size(), 1u);
}

TEST_F(Queue, AnswersAboutAnotherTextAreRefused) {
  QueueAnswer stale = answer_to(ask());
  stale.template_hash = std::string(40, 'a');
  ASSERT_TRUE(queue().answer(stale).ok());
  expect_refused("another text");
}

TEST_F(Queue, TheFirstOfTwoAnswersCounts) {
  const QueueRequest request = ask();
  ASSERT_TRUE(queue().answer(answer_to(request)).ok());
  const std::string text = *read_file(queue().folder() / "answers" / (request.id + ".json"));
  Json other = Json::parse(text);
  other["Scores"][0]["Ratio"] = {9, 9, 9};
  write("zz.json", other.dump());
  expect_refused("answered already");
  EXPECT_EQ(queue().answers()->accepted.at(request.id).scores[0].ratio, 2);
}

TEST_F(Queue, CutAndHandMadeAnswersAreRefused) {
  const QueueRequest request = ask();
  ASSERT_TRUE(queue().answer(answer_to(request)).ok());
  const fs::path file = queue().folder() / "answers" / (request.id + ".json");
  const std::string text = *read_file(file);
  fs::remove(file);
  const auto with = [&](const auto& change) {
    Json json = Json::parse(text);
    change(json);
    write("a.json", json.dump());
  };
  write("a.json", text.substr(0, text.size() / 2));
  expect_refused("no JSON object");
  with([](Json& json) { json["Schema"] = 2; });
  expect_refused("schema 2");
  with([](Json& json) { json["Scores"][0]["BestUs"] = -1; });
  expect_refused("not positive");
  with([](Json& json) { json["Scores"][0]["Ratio"] = "fast"; });
  expect_refused("Ratio");
  with([](Json& json) { json["Scores"] = Json::array(); });
  expect_refused("neither scores nor a failure");
  with([](Json& json) { json.erase("Host"); });
  expect_refused("Host");
  EXPECT_EQ(queue().pending()->size(), 1u) << "nothing of it counted";
}

TEST_F(Queue, AFolderThatIsNoQueueIsSaid) {
  const auto requests = EvaluationQueue(folder_->path()).requests();
  ASSERT_FALSE(requests.ok());
  EXPECT_EQ(requests.error().failure, Failure::usage);
  const QueueRequest request = ask();
  fs::rename(queue().folder() / "requests" / request.id, queue().folder() / "requests" / "elsewhere");
  EXPECT_FALSE(queue().requests().ok());
}

} // namespace
} // namespace lathe
