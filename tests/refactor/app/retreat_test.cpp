#include "refactor/app/retreat.h"
#include "refactor/guard/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace lathe::refactor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const auto LATER = std::chrono::steady_clock::now() + std::chrono::hours(1);

// A guard that refuses whatever one of the wrong rules had a part in, and names the knobs of these.
class FakeGuard {
public:
  explicit FakeGuard(std::vector<std::string> wrong) : wrong_(std::move(wrong)) {}

  Result<JudgedTemplate> judge(const std::vector<std::string>& rules) {
    attempts.push_back(rules);
    if (rules.empty())
      return Error{"no knob to expose in k", "", ""};
    JudgedTemplate result;
    std::string configuration;
    for (const std::string& rule : rules) {
      const std::string name = "K_" + rule;
      Knob knob;
      knob.name = name;
      knob.default_value = Expression(Value{std::int64_t{0}});
      result.spec.knobs.push_back(knob);
      result.rewritten.reports.push_back({rule, true, "", {name}});
      if (std::ranges::find(wrong_, rule) != wrong_.end())
        configuration += " " + name + "=2";
      else
        configuration += " " + name + "=0";
    }
    result.certificate.seconds = seconds;
    const bool is_wrong = configuration.find("=2") != std::string::npos;
    for (const char* check : CHECKS)
      if (std::string(check) != "differential")
        result.certificate.checks.push_back({check, Verdict::proved, "", {}, 0});
    result.certificate.checks.push_back({"differential",
                                         is_wrong ? verdict_on_wrong : Verdict::tested,
                                         reason + configuration + ", n=7",
                                         {},
                                         0});
    return result;
  }

  AttemptByRules attempt() {
    return [this](const std::vector<std::string>& rules) { return judge(rules); };
  }

  std::vector<std::vector<std::string>> attempts;
  Verdict verdict_on_wrong = Verdict::failed;
  double seconds = 0; // of each judgement
  std::string reason = "y[0] is 1 where the raw kernel gives 2 at";

private:
  std::vector<std::string> wrong_;
};

std::vector<std::string> applied(const JudgedTemplate& judged) {
  std::vector<std::string> rules;
  for (const RuleReport& report : judged.rewritten.reports)
    if (report.applied)
      rules.push_back(report.rule);
  return rules;
}

// What the compiler leaves out at a size that it knows says nothing against the other knobs of the
// configuration.
TEST(Retreat, OfWhatTheCodeLacksASizeThatIsFixedIsSuspectedFirst) {
  for (const std::string check : {"effects", "differential"}) {
    std::vector<std::vector<std::string>> attempts;
    const auto judge = [&](const std::vector<std::string>& rules) -> Result<JudgedTemplate> {
      attempts.push_back(rules);
      JudgedTemplate result;
      bool is_wrong = false;
      for (const std::string& rule : rules) {
        Knob knob;
        knob.name = "K_" + rule;
        knob.kind = rule == "size" ? KnobKind::size : KnobKind::unroll;
        knob.default_value = Expression(Value{std::int64_t{0}});
        result.rewritten.reports.push_back({rule, true, "", {knob.name}});
        result.spec.knobs.push_back(std::move(knob));
        is_wrong |= rule == "size";
      }
      for (const char* known : CHECKS)
        result.certificate.checks.push_back({known,
                                             is_wrong && known == check ? Verdict::failed : Verdict::proved,
                                             "the template no longer reads 'x' at K_unroll=2 K_size=1, n=1",
                                             {},
                                             0});
      return result;
    };
    const auto refused = judge({"unroll", "size"});
    ASSERT_TRUE(refused.ok());
    const auto smaller = retreat(*refused, judge, LATER);
    ASSERT_TRUE(smaller.ok() && smaller->accepted.has_value()) << check;
    EXPECT_THAT(applied(*smaller->accepted), ElementsAre("unroll"));
    EXPECT_EQ(attempts.size(), check == "effects" ? 2u : 3u);
  }
}

TEST(Retreat, LeavesOutTheRuleWhoseKnobFailed) {
  FakeGuard guard({"c"});
  const auto refused = guard.judge({"a", "b", "c", "d"});
  ASSERT_TRUE(refused.ok());
  const auto smaller = retreat(*refused, guard.attempt(), LATER);
  ASSERT_TRUE(smaller.ok());
  ASSERT_TRUE(smaller->accepted.has_value());
  EXPECT_THAT(applied(*smaller->accepted), ElementsAre("a", "b", "d"));
  EXPECT_EQ(guard.attempts.size(), 2u) << "the rule that the failure names is the first to go";
  const RuleReport& report = smaller->accepted->rewritten.reports.back();
  EXPECT_EQ(report.rule, "c");
  EXPECT_FALSE(report.applied);
  EXPECT_THAT(report.detail, HasSubstr("differential: y[0] is 1 where the raw kernel gives 2"));
}

TEST(Retreat, LeavesOutTwoWhereOneIsNotEnough) {
  FakeGuard guard({"a", "c"});
  const auto refused = guard.judge({"a", "b", "c"});
  ASSERT_TRUE(refused.ok());
  const auto smaller = retreat(*refused, guard.attempt(), LATER);
  ASSERT_TRUE(smaller.ok());
  ASSERT_TRUE(smaller->accepted.has_value());
  EXPECT_THAT(applied(*smaller->accepted), ElementsAre("b"));
}

TEST(Retreat, EndsWhereNothingIsLeft) {
  FakeGuard guard({"a", "b"});
  const auto refused = guard.judge({"a", "b"});
  ASSERT_TRUE(refused.ok());
  const auto smaller = retreat(*refused, guard.attempt(), LATER);
  ASSERT_TRUE(smaller.ok());
  EXPECT_FALSE(smaller->accepted.has_value());
}

TEST(Retreat, ManyWrongRulesEndAfterSomeAttempts) {
  FakeGuard guard({"a", "b", "c", "d", "e", "f", "g", "h"});
  const auto refused = guard.judge({"a", "b", "c", "d", "e", "f", "g", "h", "i"});
  ASSERT_TRUE(refused.ok());
  const auto smaller = retreat(*refused, guard.attempt(), LATER);
  ASSERT_TRUE(smaller.ok());
  EXPECT_FALSE(smaller->accepted.has_value());
  EXPECT_LE(guard.attempts.size(), 8u);
}

// Each alone changes nothing where several are wrong, and attempts are few.
TEST(Retreat, WhatLeavesTheWorkAsItIsComesLast) {
  const std::vector<std::string> rules{"expose-tile", "expose-block-size", "rows-per-block",
                                       "pack-stores", "expose-unroll",     "cache-hints"};
  FakeGuard guard({"expose-tile", "expose-block-size", "rows-per-block", "pack-stores"});
  const auto refused = guard.judge(rules);
  ASSERT_TRUE(refused.ok());
  const auto smaller = retreat(*refused, guard.attempt(), LATER);
  ASSERT_TRUE(smaller.ok());
  ASSERT_TRUE(smaller->accepted.has_value());
  EXPECT_THAT(applied(*smaller->accepted), ElementsAre("expose-unroll", "cache-hints"));
  EXPECT_EQ(smaller->accepted->rewritten.reports.size(), 6u) << "the others are said to be left out";
  EXPECT_LE(guard.attempts.size(), 8u);
  // Time for it is kept.
  FakeGuard slow({"expose-tile", "expose-block-size"});
  slow.seconds = 60;
  const auto again = slow.judge(rules);
  ASSERT_TRUE(again.ok());
  const auto now = std::chrono::steady_clock::now();
  const auto found = retreat(*again, slow.attempt(), now + std::chrono::seconds(100));
  ASSERT_TRUE(found.ok() && found->accepted.has_value());
  EXPECT_EQ(slow.attempts.size(), 2u);
  // Nor is it taken where the guard refuses it.
  FakeGuard strict({"expose-tile", "rows-per-block", "cache-hints"});
  const auto none = strict.judge({"expose-tile", "rows-per-block", "cache-hints"});
  ASSERT_TRUE(none.ok());
  const auto nothing = retreat(*none, strict.attempt(), LATER);
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->accepted.has_value());
}

TEST(Retreat, KnobsAtWhichNothingCanBeRunAreLeftOut) {
  for (const char* reason : {NOT_ADMITTED, NEVER_RAN}) {
    FakeGuard guard({"b"});
    guard.verdict_on_wrong = Verdict::undecided;
    guard.reason = reason;
    const auto refused = guard.judge({"a", "b", "c"});
    ASSERT_TRUE(refused.ok());
    const auto smaller = retreat(*refused, guard.attempt(), LATER);
    ASSERT_TRUE(smaller.ok());
    ASSERT_TRUE(smaller->accepted.has_value());
    EXPECT_THAT(applied(*smaller->accepted), ElementsAre("a", "c"));
  }
}

// Nothing is begun that would end too late by what a judgement took before.
TEST(Retreat, EndsInTime) {
  FakeGuard guard({"a", "c"});
  guard.seconds = 60;
  const auto refused = guard.judge({"a", "b", "c"});
  ASSERT_TRUE(refused.ok());
  const auto now = std::chrono::steady_clock::now();
  const auto none = retreat(*refused, guard.attempt(), now + std::chrono::seconds(50));
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->accepted.has_value());
  EXPECT_TRUE(none->is_out_of_time);
  EXPECT_EQ(guard.attempts.size(), 1u);
  const auto found = retreat(*refused, guard.attempt(), now + std::chrono::seconds(600));
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->accepted.has_value());
  EXPECT_FALSE(found->is_out_of_time);
}

// What is undecided for the raw kernel's sake would be so with fewer knobs too.
TEST(Retreat, WhatIsUndecidedIsNoRulesFault) {
  FakeGuard guard({});
  auto refused = guard.judge({"a", "b"});
  ASSERT_TRUE(refused.ok());
  refused->certificate.checks.back().verdict = Verdict::undecided;
  const auto smaller = retreat(*refused, guard.attempt(), LATER);
  ASSERT_TRUE(smaller.ok());
  EXPECT_FALSE(smaller->accepted.has_value());
  EXPECT_EQ(guard.attempts.size(), 1u);
}

// A line in a helper that a rule has written speaks of that rule, although it names no knob.
TEST(Retreat, AHelpersLineThatNeverRanIsItsRules) {
  FakeGuard guard({"pack-stores"});
  guard.verdict_on_wrong = Verdict::undecided;
  guard.reason = std::string(NEVER_RAN) + "line 3 ('for (unsigned i = 0; i < COUNT; ++i)') ";
  auto refused = guard.judge({"expose-unroll", "launch-bounds", "pack-stores"});
  ASSERT_TRUE(refused.ok());
  refused->rewritten.candidate.text = "#include <x>\ntemplate <class T> void lathe_store_packed(T* to) {\n"
                                      "  for (unsigned i = 0; i < COUNT; ++i) {\n";
  for (CheckResult& check : refused->certificate.checks)
    if (check.check == "differential")
      check.detail = guard.reason; // no knob
  guard.attempts.clear();
  const auto found = retreat(*refused, guard.attempt(), LATER);
  ASSERT_TRUE(found.ok()) << found.error().sentence();
  ASSERT_TRUE(found->accepted);
  EXPECT_THAT(guard.attempts, ElementsAre(ElementsAre("expose-unroll", "launch-bounds")));
}

} // namespace
} // namespace lathe::refactor
