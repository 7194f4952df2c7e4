#include "tuner/app/time_shares.h"

#include <algorithm>

namespace lathe {
namespace {

// Of an equal share of the time, what every search gets before shares go by what they may gain.
constexpr double FIRST_SHARE = 0.5;
constexpr double COUNTERS_SHARE = 0.1;
constexpr double ANY_COUNTERS_SHARE = COUNTERS_SHARE / 2;
// Of what is left when the first searches have ended: the rest is for those that go on.
constexpr double CHOOSING_SHARE = 0.2;
// Seconds that are over when the first portion is: a search looks at the clock behind each.
constexpr double ONE_PORTION_S = 1e-3;

} // namespace

bool TimeShares::affords_counters(double spent_s, bool explain) const {
  return counters_s_ <= (explain ? COUNTERS_SHARE : ANY_COUNTERS_SHARE) * spent_s;
}

double TimeShares::choosing(double left_s, std::size_t assessments) const {
  return std::max(0.0, CHOOSING_SHARE * left_s / static_cast<double>(std::max<std::size_t>(1, assessments)));
}

double TimeShares::slice(double left_s, std::size_t searches, std::size_t assessments) const {
  const double finishing = finishing_.or_else(0);
  const double kept_back = finishing * static_cast<double>(searches) +
                           assessing_.or_else(finishing) * static_cast<double>(assessments);
  const double equal =
      std::max(0.0, left_s - kept_back) / static_cast<double>(std::max<std::size_t>(1, searches));
  return std::max({std::min(least_s_, equal), FIRST_SHARE * equal, ONE_PORTION_S});
}

std::size_t TimeShares::able_to_go_on(double left_s) const {
  return static_cast<std::size_t>(std::max(0.0, left_s) /
                                  std::max(least_s_ + finishing_.or_else(0), ONE_PORTION_S));
}

} // namespace lathe
