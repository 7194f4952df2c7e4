#include "tuner/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {

std::size_t plateau_length(double confidence) {
  const double bounded = std::clamp(confidence, 0.0, 0.999999);
  return static_cast<std::size_t>(std::ceil(std::log1p(-bounded) / std::log1p(-plateau_share)));
}

bool has_plateaued(std::span<const Observation> observations, double confidence) {
  const std::size_t length = plateau_length(confidence);
  if (observations.size() <= length)
    return false;
  const auto best_of = [](std::span<const Observation> part) {
    double best = std::numeric_limits<double>::infinity();
    for (const Observation& observation : part)
      if (observation.succeeded)
        best = std::min(best, observation.cost);
    return best;
  };
  const std::size_t before = observations.size() - length;
  const double earlier = best_of(observations.first(before));
  // While nothing has run yet there is no level to stay on.
  return std::isfinite(earlier) && best_of(observations.subspan(before)) > earlier * (1 - plateau_gain);
}

} // namespace lathe
