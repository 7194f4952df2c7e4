#include "tuner/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {

MedianInterval median_interval(std::span<const double> samples) {
  if (samples.empty())
    return {};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  MedianInterval result;
  result.median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  // The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %: then the k-th smallest and k-th largest enclose the
  // median.
  double term = std::exp2(-static_cast<double>(n)), below = 0;
  std::size_t k = 0;
  while (k < n / 2 && below + term <= 0.025) {
    below += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  const std::size_t rank = k == 0 ? 0 : k - 1;
  result.low = sorted[rank];
  result.high = sorted[n - 1 - rank];
  return result;
}

double relative_half_width(const MedianInterval& interval) {
  return interval.median > 0 ? (interval.high - interval.low) / 2 / interval.median
                             : std::numeric_limits<double>::infinity();
}

Timing timing_of(std::span<const double> samples_us) {
  const MedianInterval interval = median_interval(samples_us);
  Timing timing;
  timing.median_us = interval.median;
  timing.low_us = interval.low;
  timing.high_us = interval.high;
  timing.samples = static_cast<int>(samples_us.size());
  return timing;
}

} // namespace lathe
