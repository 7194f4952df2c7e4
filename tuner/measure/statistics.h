// Medians and their confidence: what a set of timed samples says.
#pragma once

#include "tuner/measure/measure.h"

#include <span>
#include <vector>

namespace lathe {

struct MedianInterval {
  double median = 0, low = 0, high = 0;
};
// The median and its distribution-free 95 % confidence interval by order statistics (the ranks come from the
// binomial distribution with p = 1/2). Below six samples no ranks reach 95 %: the extremes are given.
MedianInterval median_interval(std::span<const double> samples);

Timing timing_of(std::span<const double> samples_us);

// Half width of the interval over the median; infinite for no samples.
double relative_half_width(const MedianInterval& interval);

} // namespace lathe
