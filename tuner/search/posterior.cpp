#include "tuner/search/posterior.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lathe::search {

void Posterior::reset(const Kernel& kernel, const CandidatePool& pool, Eigen::VectorXf pool_feature) {
  kernel_ = &kernel;
  pool_ = &pool;
  pool_feature_ = std::move(pool_feature);
  points_.clear();
  features_.clear();
  variance_.setConstant(static_cast<Eigen::Index>(pool.size()), static_cast<float>(kernel.signal_variance()));
  if (pool_feature_.size() > 0)
    variance_.array() += static_cast<float>(offset_variance) +
                         static_cast<float>(slope_variance) * pool_feature_.array().square();
}

void Posterior::add(const Point& point, double feature) {
  const auto n = static_cast<Eigen::Index>(points_.size());
  const auto candidates = static_cast<Eigen::Index>(pool_->size());
  const bool is_linear = pool_feature_.size() > 0;
  if (factor_.rows() <= n || solved_.cols() != candidates) {
    const Eigen::Index capacity = std::max<Eigen::Index>(64, 2 * n);
    factor_.conservativeResize(capacity, capacity);
    solved_.conservativeResize(capacity, candidates);
  }
  Eigen::VectorXd row(n);
  for (Eigen::Index j = 0; j < n; ++j)
    row[j] = (*kernel_)(point, points_[j]) + (is_linear ? linear_covariance(feature, features_[j]) : 0);
  factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(row);
  const double own = kernel_->signal_variance() + kernel_->noise_variance() +
                     (is_linear ? linear_covariance(feature, feature) : 0);
  const double pivot = std::sqrt(std::max(kernel_->noise_variance(), own - row.squaredNorm()));
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = pivot;

  Eigen::RowVectorXf covariance(candidates);
  for (Eigen::Index c = 0; c < candidates; ++c)
    covariance[c] = static_cast<float>((*kernel_)(point, pool_->row(static_cast<std::size_t>(c))));
  if (is_linear)
    covariance.array() += static_cast<float>(slope_variance * feature) * pool_feature_.transpose().array() +
                          static_cast<float>(offset_variance);
  covariance.noalias() -= row.cast<float>().transpose() * solved_.topRows(n);
  covariance /= static_cast<float>(pivot);
  solved_.row(n) = covariance;
  variance_.array() -= covariance.transpose().array().square();
  points_.push_back(point);
  features_.push_back(feature);
}

Eigen::VectorXf Posterior::predict(const std::vector<std::optional<double>>& targets) const {
  const auto n = static_cast<Eigen::Index>(points_.size());
  if (n == 0)
    return Eigen::VectorXf::Zero(variance_.size());
  Eigen::VectorXd whitened(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double predicted = factor_.row(i).head(i).dot(whitened.head(i));
    whitened[i] = targets[i] ? (*targets[i] - predicted) / factor_(i, i) : 0;
  }
  return solved_.topRows(n).transpose() * whitened.cast<float>();
}

} // namespace lathe::search
