#include "tuner/search/seconds_estimate.h"

#include <cmath>

namespace lathe::search {

namespace {

// The variance of a logarithm that the knobs do not explain, over that of a coefficient a priori: a knob may
// well make a factor of e from one end of its values to the other, and a busy machine 1.3.
constexpr double ridge = 0.07;

} // namespace

SecondsEstimate::SecondsEstimate(const std::vector<Parameter>& parameters) : axes_(axes_of(parameters)) {
  for (const Axis& axis : axes_) {
    counts_.push_back(axis.position.size());
    size_ += axis.categorical ? static_cast<Eigen::Index>(axis.position.size()) : 1;
  }
  products_ = ridge * Eigen::MatrixXd::Identity(size_, size_);
  products_(0, 0) = 1e-9; // the level is anybody's guess
  targets_ = Eigen::VectorXd::Zero(size_);
}

Eigen::VectorXd SecondsEstimate::features(const Point& point) const {
  Eigen::VectorXd result = Eigen::VectorXd::Zero(size_);
  result[0] = 1;
  Eigen::Index column = 1;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const std::size_t value = point[axes_[a].parameter];
    if (axes_[a].categorical) {
      result[column + static_cast<Eigen::Index>(value)] = 1;
      column += static_cast<Eigen::Index>(counts_[a]);
    } else {
      result[column++] = axes_[a].position[value] - 0.5;
    }
  }
  return result;
}

void SecondsEstimate::add(const Point& point, double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds))
    return;
  const Eigen::VectorXd row = features(point);
  products_ += row * row.transpose();
  targets_ += std::log(seconds) * row;
  sum_ += seconds;
  ++known_;
  is_outdated_ = true;
}

double SecondsEstimate::relative(const Point& point) {
  if (known_ == 0)
    return 1;
  if (is_outdated_)
    weights_ = products_.ldlt().solve(targets_);
  is_outdated_ = false;
  return std::exp(features(point).dot(weights_)) * known_ / sum_;
}

} // namespace lathe::search
