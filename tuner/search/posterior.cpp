#include "tuner/search/posterior.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lathe::search {

namespace {

constexpr double factor_variance = 0.25; // about one

} // namespace

double transfer_covariance(const Prior& prior, std::span<const std::uint16_t> a,
                           const Prior::Expectation& of_a, std::span<const std::uint16_t> b,
                           const Prior::Expectation& of_b) {
  return offset_variance + factor_variance * of_a.mean * of_b.mean + prior.covariance(a, of_a, b, of_b);
}

void Posterior::reset(const Kernel& kernel, const CandidatePool& pool, const Prior* prior) {
  kernel_ = &kernel;
  pool_ = &pool;
  is_expected_ = is_expected_ && prior == prior_;
  prior_ = prior;
  points_.clear();
  expectations_.clear();
  variance_.setConstant(static_cast<Eigen::Index>(pool.size()), static_cast<float>(kernel.signal_variance()));
  if (!prior)
    return;
  if (!is_expected_ || !pool.is_whole())
    expect();
  variance_.array() += static_cast<float>(offset_variance) +
                       static_cast<float>(factor_variance) * expected_.array().square() +
                       expected_variance_.array();
}

// What the prior says of every candidate.
void Posterior::expect() {
  const std::size_t size = pool_->size();
  std::vector<Eigen::VectorXf> whitened;
  unrecorded_.clear();
  expected_.resize(static_cast<Eigen::Index>(size));
  expected_variance_.setZero(static_cast<Eigen::Index>(size));
  for (std::size_t c = 0; c < size; ++c) {
    const auto at = static_cast<Eigen::Index>(c);
    Prior::Expectation expectation = (*prior_)(pool_->row(c));
    expected_[at] = static_cast<float>(expectation.mean);
    if (expectation.is_recorded)
      continue;
    expected_variance_[at] =
        static_cast<float>(prior_->covariance(pool_->row(c), expectation, pool_->row(c), expectation));
    unrecorded_.push_back(at);
    whitened.push_back(std::move(expectation.whitened));
  }
  whitened_.resize(whitened.empty() ? 0 : whitened.front().size(),
                   static_cast<Eigen::Index>(whitened.size()));
  for (std::size_t i = 0; i < whitened.size(); ++i)
    whitened_.col(static_cast<Eigen::Index>(i)) = whitened[i];
  is_expected_ = true;
}

void Posterior::add(const Point& point, const Prior::Expectation& expectation) {
  const auto n = static_cast<Eigen::Index>(points_.size());
  const auto candidates = static_cast<Eigen::Index>(pool_->size());
  if (factor_.rows() <= n || solved_.cols() != candidates) {
    const Eigen::Index capacity = std::max<Eigen::Index>(64, 2 * n);
    factor_.conservativeResize(capacity, capacity);
    solved_.conservativeResize(capacity, candidates);
  }
  const auto beside = [&](const Point& other, const Prior::Expectation& of_other) {
    return prior_ ? transfer_covariance(*prior_, point, expectation, other, of_other) : 0;
  };
  Eigen::VectorXd row(n);
  for (Eigen::Index j = 0; j < n; ++j)
    row[j] = (*kernel_)(point, points_[j]) + beside(points_[j], expectations_[j]);
  factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(row);
  const double own = kernel_->signal_variance() + kernel_->noise_variance() + beside(point, expectation);
  const double pivot = std::sqrt(std::max(kernel_->noise_variance(), own - row.squaredNorm()));
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = pivot;

  Eigen::RowVectorXf covariance(candidates);
  for (Eigen::Index c = 0; c < candidates; ++c)
    covariance[c] = static_cast<float>((*kernel_)(point, pool_->row(static_cast<std::size_t>(c))));
  if (prior_)
    covariance.array() +=
        static_cast<float>(factor_variance * expectation.mean) * expected_.transpose().array() +
        static_cast<float>(offset_variance);
  if (prior_ && !expectation.is_recorded) {
    const Eigen::VectorXf explained = whitened_.transpose() * expectation.whitened;
    for (std::size_t i = 0; i < unrecorded_.size(); ++i) {
      const Eigen::Index c = unrecorded_[i];
      covariance[c] += static_cast<float>(prior_->kernel()(point, pool_->row(static_cast<std::size_t>(c)))) -
                       explained[static_cast<Eigen::Index>(i)];
    }
  }
  covariance.noalias() -= row.cast<float>().transpose() * solved_.topRows(n);
  covariance /= static_cast<float>(pivot);
  solved_.row(n) = covariance;
  variance_.array() -= covariance.transpose().array().square();
  points_.push_back(point);
  expectations_.push_back(expectation);
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
