#include "tuner/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {

RemainingGap estimate_remaining_gap(std::span<const Observation> observations, double valid_points) {
  RemainingGap gap;
  if (observations.empty())
    return gap;
  const auto evaluated = static_cast<double>(observations.size());
  if (evaluated >= valid_points)
    return {0, 0};
  gap.better_share = 1 - std::pow(0.05, 1 / evaluated);

  constexpr std::size_t fewest = 10, spaced = 5, start = 24;
  constexpr double rate = 20; // what is left of the distance falls like 20 / evaluations, as a power
  double best_of_first_half = std::numeric_limits<double>::infinity();
  std::vector<double> costs, first_costs;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    if (!observations[i].succeeded)
      continue;
    costs.push_back(observations[i].cost);
    if (i < start)
      first_costs.push_back(observations[i].cost);
    if (i < observations.size() / 2)
      best_of_first_half = std::min(best_of_first_half, observations[i].cost);
  }
  if (costs.size() < fewest)
    return gap;
  std::ranges::partial_sort(costs, costs.begin() + spaced);
  const double best = costs.front();
  if (!(best > 0) || !std::isfinite(best_of_first_half))
    return gap;
  const double gained = (best_of_first_half - best) / best_of_first_half;
  const double spacing = (costs[spaced - 1] - best) / (spaced - 1) / best;
  double left = 0;
  if (!first_costs.empty()) {
    const auto middle = first_costs.begin() + static_cast<std::ptrdiff_t>(first_costs.size() / 2);
    std::nth_element(first_costs.begin(), middle, first_costs.end());
    left = 1 - std::pow(best / *middle, rate / evaluated);
  }
  gap.fraction = std::clamp(std::max(2 * std::max(gained, spacing), left), 0.0, 1.0);
  return gap;
}

} // namespace lathe
