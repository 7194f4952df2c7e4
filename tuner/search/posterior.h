// The posterior of a Gaussian process at every point of a candidate pool, extended by training points as they
// come.
#pragma once

#include "tuner/search/candidate_pool.h"
#include "tuner/search/joint_points.h"
#include "tuner/search/kernel.h"
#include "tuner/search/prior.h"

#include <Eigen/Dense>

#include <optional>
#include <span>
#include <vector>

namespace lathe::search {

// An offset is as uncertain as the costs are.
inline constexpr double offset_variance = 1;
// Earlier results predict the targets up to a factor and an offset that have to be learned, and are uncertain
// themselves where they have no result: the covariance that this adds at two points.
double transfer_covariance(const Prior& prior, std::span<const std::uint16_t> a,
                           const Prior::Expectation& of_a, std::span<const std::uint16_t> b,
                           const Prior::Expectation& of_b);

// The factor L of the training covariance and L^-1 K(training, pool) depend on places only. Adding m training
// points to n costs O(m (n + m + results of the prior) pool), and targets may change freely between calls of
// `predict`.
class Posterior {
public:
  struct Place {
    Point point;
    Prior::Expectation expectation; // of the point, by the prior; without one, as it is made
  };

  // What it computes does not depend on `threads`, among which large steps are divided.
  explicit Posterior(unsigned threads = 1) : threads_(threads) {}

  // Starts without training points. `prior`: null, or earlier results, which must outlive the posterior, as
  // the kernel and the pool must.
  void reset(const Kernel& kernel, const CandidatePool& pool, const Prior* prior);
  void add(std::span<const Place> places);
  std::size_t size() const { return places_.size(); }
  // One target a training point; one without is believed to meet its prediction.
  using Targets = std::vector<std::optional<double>>;
  // For each of the targets, a column: the mean at every candidate of what they add to the prior's mean.
  Eigen::MatrixXf predict(std::span<const Targets> targets) const;
  // Variance at every candidate, without noise.
  const Eigen::VectorXf& variance() const { return variance_; }
  // The prior's mean at every candidate; empty without one.
  const Eigen::VectorXf& expected() const { return expected_; }

private:
  void expect();
  void factorise(const Place& place);
  // Of places that are being added, what all runs of candidates need.
  struct Added {
    Eigen::Index before = 0;                      // places that were there
    std::vector<std::vector<float>> own, process; // Kernel::factors(), of this kernel and of the prior's
    Eigen::MatrixXf whitened;                     // by the prior; zero where it has a result
  };
  void cover(std::size_t first, std::size_t count, const Added& added);
  // Calls work(first, count) for runs of candidates; `operations` are what all of it takes.
  template <class Work> void in_runs(double operations, Work work) const;

  unsigned threads_;
  const Kernel* kernel_ = nullptr;
  const CandidatePool* pool_ = nullptr;
  const Prior* prior_ = nullptr;
  std::optional<JointPoints> candidates_;
  bool is_expected_ = false; // of a pool that stays as it is
  Eigen::VectorXf expected_, expected_variance_, variance_;
  // By the prior, of the candidates without a result of it, which have 1 in `is_open_`; of the others 0.
  RowMatrix whitened_;
  Eigen::VectorXf is_open_;
  std::vector<Place> places_;
  Eigen::MatrixXd factor_; // lower triangle
  RowMatrix solved_;
};

} // namespace lathe::search
