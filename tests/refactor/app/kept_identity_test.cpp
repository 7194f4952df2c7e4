// For which knobs the default's code may differ from the raw kernel's.
#include "refactor/app/kept_identity.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

std::vector<Knob> knobs(const std::vector<KnobKind>& kinds) {
  std::vector<Knob> all;
  for (const KnobKind kind : kinds)
    all.emplace_back().kind = kind;
  return all;
}

TEST(KeptIdentity, KnobsThatChangeWhatThreadsDoAreWorthMore) {
  const auto few = knobs({KnobKind::occupancy});
  EXPECT_TRUE(deals_out_more(knobs({KnobKind::occupancy, KnobKind::block}), few));
  EXPECT_TRUE(deals_out_more(knobs({KnobKind::vector, KnobKind::unroll}), few));
  EXPECT_TRUE(deals_out_more(knobs({KnobKind::flag, KnobKind::flag}), knobs({KnobKind::flag})));
}

TEST(KeptIdentity, ThoseThatLeaveItToTheCompilerAreNot) {
  const auto few = knobs({KnobKind::occupancy, KnobKind::block});
  EXPECT_FALSE(deals_out_more(few, few));
  EXPECT_FALSE(deals_out_more(
      knobs({KnobKind::occupancy, KnobKind::block, KnobKind::unroll, KnobKind::cache, KnobKind::size}), few));
  EXPECT_FALSE(deals_out_more({}, few));
}

} // namespace
} // namespace lathe::refactor
