// The posterior of a Gaussian process at every point of a candidate pool, extended one training point at a
// time.
#pragma once

#include "tuner/search/candidate_pool.h"
#include "tuner/search/kernel.h"

#include <Eigen/Dense>

#include <optional>
#include <vector>

namespace lathe::search {

// The factor L of the training covariance and L^-1 K(training, pool) depend on places only. Adding the n-th
// training point costs O(n pool), and targets may change freely between calls of `predict`.
class Posterior {
public:
  // Starts without training points. `pool_feature`: empty, or what earlier results predict for each
  // candidate, for the covariance's linear term.
  void reset(const Kernel& kernel, const CandidatePool& pool, Eigen::VectorXf pool_feature);
  // `feature`: what earlier results predict for the point.
  void add(const Point& point, double feature);
  std::size_t size() const { return points_.size(); }
  // Mean at every candidate. A training point without a target is believed to meet its prediction.
  Eigen::VectorXf predict(const std::vector<std::optional<double>>& targets) const;
  // Variance at every candidate, without noise.
  const Eigen::VectorXf& variance() const { return variance_; }

private:
  const Kernel* kernel_ = nullptr;
  const CandidatePool* pool_ = nullptr;
  Eigen::VectorXf pool_feature_, variance_;
  std::vector<Point> points_;
  std::vector<double> features_;
  Eigen::MatrixXd factor_; // lower triangle
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> solved_;
};

} // namespace lathe::search
