// How long evaluating a configuration will take, from how long others took.
#pragma once

#include "tuner/search/axes.h"

#include <Eigen/Dense>

#include <vector>

namespace lathe::search {

// Ridge regression of the logarithm of the seconds on the knobs' coordinates, since what makes a compilation
// long (unrolled steps, tiles) multiplies. While little is known it says that all take the same.
class SecondsEstimate {
public:
  explicit SecondsEstimate(const std::vector<Parameter>& parameters);
  // What is not positive is not known, and left out.
  void add(const Point& point, double seconds);
  // Expected seconds over the mean of what was added; 1 where nothing was.
  double relative(const Point& point);

private:
  Eigen::VectorXd features(const Point& point) const;

  std::vector<Axis> axes_;
  std::vector<std::size_t> counts_; // of values, by axis
  Eigen::Index size_ = 1;
  Eigen::MatrixXd products_; // X'X + ridge
  Eigen::VectorXd targets_;  // X'y
  Eigen::VectorXd weights_;  // of what was added until it was last asked
  double sum_ = 0, known_ = 0;
  bool is_outdated_ = false;
};

} // namespace lathe::search
