// Which knobs matter: functional analysis of variance over a random forest of the measured times.
//
// F. Hutter, H. Hoos and K. Leyton-Brown, "An Efficient Approach for Assessing Hyperparameter Importance",
// ICML 2014: algorithm 2 and equations 4 to 8. A tree splits the space into boxes of constant prediction, so
// that the mean prediction over all other knobs (a marginal) and its variance are sums over the boxes.
#pragma once

#include "tuner/store/store.h"

#include <string>
#include <vector>

namespace lathe::report {

struct KnobEffect {
  std::string name;
  std::vector<Value> values;         // that were tried, ascending
  std::vector<double> relative_time; // of each value: predicted time over the mean, averaged over other knobs
  double share = 0;                  // of the variance of log(time) that the knob alone explains
};

struct PairEffect {
  std::size_t first = 0, second = 0; // indices of the knobs
  double share = 0;                  // of the variance: beyond what the two explain each by itself
};

struct Importance {
  std::vector<KnobEffect> knobs; // in the order of the configurations
  std::vector<PairEffect> pairs; // most important first
  // Of the most important pair: relative time by (first's value, second's value), row after row.
  std::vector<double> grid;
  std::size_t configurations = 0; // that the forest was fitted to
  // Coefficient of determination on configurations that a tree was not fitted to: 1 is a perfect model, 0 is
  // no better than the mean. Shares mean little where it is low.
  double explained = 0;
};

constexpr std::size_t least_configurations = 24;

// Of the evaluations that ran; empty where fewer than `least_configurations` of one set of knobs did, or all
// took the same time. The space is the product of the values tried, each taken as equally likely: conditions
// are not known here, so that forbidden combinations count with what the forest predicts for them. Of more
// than 2048 evaluations a random choice is looked at. Deterministic.
std::optional<Importance> knob_importance(const std::vector<StoredEvaluation>& evaluations);

} // namespace lathe::report
