#include "tuner/measure/compile_queue.h"

#include <deque>
#include <gtest/gtest.h>
#include <set>

namespace lathe {
namespace {

// Finishes what was submitted in the order of submitting; its cubin's hash is the instance.
class CompilerInOrder final : public Compiler {
public:
  std::uint64_t submit(CompileRequest request) override {
    requests.push_back(request);
    for (std::size_t i = 0; i < request.instances.size(); ++i) {
      Finished finished{requests.size(), i, {}};
      finished.outcome.kernel.cubin_hash = request.instances[i];
      outstanding.push_back(finished);
    }
    return requests.size();
  }
  std::optional<Finished> next() override {
    if (outstanding.empty())
      return std::nullopt;
    Finished finished = outstanding.front();
    outstanding.pop_front();
    return finished;
  }
  void cancel() override {
    ++cancelled;
    outstanding.clear();
  }
  std::string nvrtc_version() const override { return "13.0"; }
  Load load() const override { return {}; }

  std::vector<CompileRequest> requests;
  std::deque<Finished> outstanding;
  int cancelled = 0;
};

PlannedConfiguration plan(const std::string& instance, std::vector<std::string> options = {}) {
  PlannedConfiguration planned;
  planned.instance = instance;
  planned.options = std::move(options);
  return planned;
}

class CompileQueueTest : public testing::Test {
protected:
  CompileQueueTest() {
    CompileRequest program;
    program.source = "text";
    program.options = {"-O3"};
    queue_.begin(compiler_, program);
  }
  // The instance that comes next of those wanted, or nothing.
  std::string next_of(const std::set<std::string>& wanted) {
    const auto compiled = queue_.next_of([&](const std::string& code) { return wanted.contains(code); });
    return compiled ? compiled->outcome.kernel.cubin_hash : "";
  }

  CompilerInOrder compiler_;
  CompileQueue queue_;
};

TEST_F(CompileQueueTest, OneProgramForAllThatDifferInTemplateArgumentsAlone) {
  queue_.submit({plan("f<1>"), plan("f<2>"), plan("f<1>", {"-DN=2"})});
  ASSERT_EQ(compiler_.requests.size(), 2);
  EXPECT_EQ(compiler_.requests[0].instances, (std::vector<std::string>{"f<1>", "f<2>"}));
  EXPECT_EQ(compiler_.requests[0].source, "text");
  EXPECT_EQ(compiler_.requests[1].options, (std::vector<std::string>{"-O3", "-DN=2"}));
}

TEST_F(CompileQueueTest, WhatIsUnderWayOrKeptIsNotCompiledAgain) {
  queue_.submit({plan("f<1>"), plan("f<2>")});
  queue_.submit({plan("f<2>"), plan("f<2>")});
  EXPECT_EQ(next_of({"f<2>"}), "f<2>"); // and f<1> is kept
  queue_.submit({plan("f<1>")});
  EXPECT_EQ(compiler_.requests.size(), 1);
  EXPECT_EQ(next_of({"f<1>"}), "f<1>");
}

TEST_F(CompileQueueTest, NothingComesOfWhatWasNotSubmitted) {
  queue_.submit({plan("f<1>")});
  EXPECT_EQ(next_of({"f<2>"}), "");
  EXPECT_EQ(next_of({"f<1>"}), "f<1>");
}

TEST_F(CompileQueueTest, WhatSomebodyElseReceivedIsKept) {
  queue_.submit({plan("f<1>")});
  queue_.hand_over(*compiler_.next());
  EXPECT_EQ(next_of({"f<1>"}), "f<1>");
}

TEST_F(CompileQueueTest, ForeignTicketsAreNothing) {
  queue_.hand_over({17, 0, {}});
  EXPECT_EQ(next_of({"f<1>"}), "");
}

TEST_F(CompileQueueTest, CancellingEndsWhatIsUnderWayAndOnlyThat) {
  queue_.cancel();
  EXPECT_EQ(compiler_.cancelled, 0);
  queue_.submit({plan("f<1>")});
  queue_.cancel();
  EXPECT_EQ(compiler_.cancelled, 1);
  EXPECT_EQ(next_of({"f<1>"}), "");
  queue_.submit({plan("f<1>")});
  EXPECT_EQ(next_of({"f<1>"}), "f<1>");
}

TEST_F(CompileQueueTest, AnotherProblemStartsWithNothing) {
  queue_.submit({plan("f<1>")});
  queue_.hand_over(*compiler_.next());
  queue_.begin(compiler_, {});
  EXPECT_EQ(next_of({"f<1>"}), "");
}

} // namespace
} // namespace lathe
