// The posterior of a Gaussian process at every point of a candidate pool, extended one training point at a
// time.
#pragma once

#include "tuner/search/candidate_pool.h"
#include "tuner/search/kernel.h"
#include "tuner/search/prior.h"

#include <Eigen/Dense>

#include <optional>
#include <vector>

namespace lathe::search {

// An offset is as uncertain as the costs are.
inline constexpr double offset_variance = 1;
// Earlier results predict the targets up to a factor and an offset that have to be learned, and are uncertain
// themselves where they have no result: the covariance that this adds at two points.
double transfer_covariance(const Prior& prior, std::span<const std::uint16_t> a,
                           const Prior::Expectation& of_a, std::span<const std::uint16_t> b,
                           const Prior::Expectation& of_b);

// The factor L of the training covariance and L^-1 K(training, pool) depend on places only. Adding the n-th
// training point costs O(n pool), and targets may change freely between calls of `predict`.
class Posterior {
public:
  // Starts without training points. `prior`: null, or earlier results, which must outlive the posterior, as
  // the kernel and the pool must.
  void reset(const Kernel& kernel, const CandidatePool& pool, const Prior* prior);
  // `expectation`: of the point, by the prior.
  void add(const Point& point, const Prior::Expectation& expectation);
  std::size_t size() const { return points_.size(); }
  // Mean at every candidate of what the targets add to the prior's mean. A training point without a target is
  // believed to meet its prediction.
  Eigen::VectorXf predict(const std::vector<std::optional<double>>& targets) const;
  // Variance at every candidate, without noise.
  const Eigen::VectorXf& variance() const { return variance_; }
  // The prior's mean at every candidate; empty without one.
  const Eigen::VectorXf& expected() const { return expected_; }

private:
  void expect();

  const Kernel* kernel_ = nullptr;
  const CandidatePool* pool_ = nullptr;
  const Prior* prior_ = nullptr;
  bool is_expected_ = false; // of a pool that stays as it is
  Eigen::VectorXf expected_, expected_variance_, variance_;
  Eigen::MatrixXf whitened_; // of the candidates without a result of the prior's, which `unrecorded_` lists
  std::vector<Eigen::Index> unrecorded_;
  std::vector<Point> points_;
  std::vector<Prior::Expectation> expectations_;
  Eigen::MatrixXd factor_; // lower triangle
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> solved_;
};

} // namespace lathe::search
