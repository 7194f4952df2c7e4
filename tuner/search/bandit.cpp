#include "tuner/search/bandit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lathe::search {

Bandit::Bandit(std::size_t arms, BanditOptions options)
    : options_(options), uses_(arms), pending_(arms), weighted_hits_(arms), hits_(arms) {}

void Bandit::report(std::size_t arm, bool found_new_best) {
  if (pending_[arm] > 0)
    --pending_[arm];
  window_.push_back({arm, found_new_best});
  ++uses_[arm];
  if (found_new_best) {
    weighted_hits_[arm] += static_cast<double>(uses_[arm]);
    hits_[arm] += 1;
  }
  if (window_.size() <= options_.window)
    return;
  // The oldest use leaves: every later use of that arm moves down by one position.
  const Use oldest = window_.front();
  window_.pop_front();
  weighted_hits_[oldest.arm] -= hits_[oldest.arm];
  if (oldest.hit)
    hits_[oldest.arm] -= 1;
  --uses_[oldest.arm];
}

double Bandit::area_under_curve(std::size_t arm) const {
  const double n = static_cast<double>(uses_[arm] + pending_[arm]);
  return n == 0 ? 0 : 2 * weighted_hits_[arm] / (n * (n + 1));
}

double Bandit::score(std::size_t arm) const {
  const std::size_t n = uses_[arm] + pending_[arm];
  if (n == 0)
    return std::numeric_limits<double>::infinity();
  const std::size_t all = window_.size() + std::accumulate(pending_.begin(), pending_.end(), std::size_t{0});
  return area_under_curve(arm) +
         options_.exploration * std::sqrt(2 * std::log2(static_cast<double>(all)) / static_cast<double>(n));
}

std::vector<std::size_t> Bandit::ranking() const {
  std::vector<double> scores;
  for (std::size_t arm = 0; arm < uses_.size(); ++arm)
    scores.push_back(score(arm));
  std::vector<std::size_t> order(uses_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

} // namespace lathe::search
