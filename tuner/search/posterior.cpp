#include "tuner/search/posterior.h"

#include "tuner/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace lathe::search {

namespace {

constexpr double factor_variance = 0.25; // about one
// Candidates that are worked on together: their columns of a few hundred rows fit the second-level cache. The
// same for any number of threads, on which nothing may depend.
constexpr std::size_t run_length = 512;
// Below so many operations for each of them more threads cost more than they bring.
constexpr double worth_a_thread = 4e6;

} // namespace

double transfer_covariance(const Prior& prior, std::span<const std::uint16_t> a,
                           const Prior::Expectation& of_a, std::span<const std::uint16_t> b,
                           const Prior::Expectation& of_b) {
  return offset_variance + factor_variance * of_a.mean * of_b.mean + prior.covariance(a, of_a, b, of_b);
}

template <class Work> void Posterior::in_runs(double operations, Work work) const {
  const std::size_t size = pool_->size();
  const auto jobs =
      static_cast<unsigned>(std::clamp(operations / worth_a_thread, 1.0, static_cast<double>(threads_)));
  parallel((size + run_length - 1) / run_length, jobs,
           [&](std::size_t run) { work(run * run_length, std::min(run_length, size - run * run_length)); });
}

void Posterior::reset(const Kernel& kernel, const CandidatePool& pool, const Prior* prior) {
  kernel_ = &kernel;
  if (pool_ != &pool)
    candidates_.emplace(pool.parameters());
  const bool is_read = pool_ == &pool && pool.is_whole();
  is_expected_ = is_expected_ && is_read && prior == prior_;
  pool_ = &pool;
  prior_ = prior;
  places_.clear();
  if (!is_read)
    candidates_->assign(pool);
  const auto candidates = static_cast<Eigen::Index>(pool.size());
  if (solved_.cols() != candidates)
    solved_.resize(0, candidates);
  variance_.setConstant(candidates, static_cast<float>(kernel.signal_variance()));
  if (!prior)
    return;
  if (!is_expected_)
    expect();
  variance_.array() += static_cast<float>(offset_variance) +
                       static_cast<float>(factor_variance) * expected_.array().square() +
                       expected_variance_.array();
}

// What the prior says of every candidate.
void Posterior::expect() {
  const auto size = static_cast<Eigen::Index>(pool_->size());
  const auto results = static_cast<Eigen::Index>(prior_->size());
  expected_.resize(size);
  expected_variance_.resize(size);
  is_open_.setOnes(size);
  whitened_.resize(results, size);
  const double each = static_cast<double>(results) * static_cast<double>(results);
  in_runs(each * static_cast<double>(size), [&](std::size_t first, std::size_t count) {
    const auto at = static_cast<Eigen::Index>(first), width = static_cast<Eigen::Index>(count);
    RowMatrix whitened(results, width);
    prior_->expect(*candidates_, first, whitened, expected_.segment(at, width),
                   expected_variance_.segment(at, width));
    whitened_.middleCols(at, width) = whitened;
    for (Eigen::Index c = at; c < at + width; ++c)
      if (const std::optional<double> result = prior_->result(pool_->row(static_cast<std::size_t>(c)))) {
        expected_[c] = static_cast<float>(*result);
        expected_variance_[c] = is_open_[c] = 0;
        whitened_.col(c).setZero();
      }
  });
  is_expected_ = true;
}

void Posterior::add(std::span<const Place> places) {
  if (places.empty())
    return;
  const auto before = static_cast<Eigen::Index>(places_.size());
  const Eigen::Index n = before + static_cast<Eigen::Index>(places.size());
  if (factor_.rows() < n || solved_.rows() < n) {
    const Eigen::Index capacity = std::max<Eigen::Index>(64, n + before);
    factor_.conservativeResize(capacity, capacity);
    solved_.conservativeResize(capacity, static_cast<Eigen::Index>(pool_->size()));
  }
  for (const Place& place : places)
    factorise(place);
  const auto results = prior_ ? static_cast<Eigen::Index>(prior_->size()) : 0;
  Added added{before, {}, {}, Eigen::MatrixXf::Zero(results, n - before)};
  for (const Place& place : places) {
    const bool is_open = prior_ && !place.expectation.is_recorded;
    if (is_open)
      added.whitened.col(static_cast<Eigen::Index>(added.own.size())) = place.expectation.whitened;
    added.own.push_back(kernel_->factors(place.point, *candidates_));
    added.process.push_back(is_open ? prior_->kernel().factors(place.point, *candidates_)
                                    : std::vector<float>{});
  }
  const double operations =
      static_cast<double>(n - before) * static_cast<double>(n + results) * static_cast<double>(pool_->size());
  in_runs(operations, [&](std::size_t first, std::size_t count) { cover(first, count, added); });
}

// The next row of the factor.
void Posterior::factorise(const Place& place) {
  const auto n = static_cast<Eigen::Index>(places_.size());
  const auto beside = [&](const Place& other) {
    return prior_
               ? transfer_covariance(*prior_, place.point, place.expectation, other.point, other.expectation)
               : 0;
  };
  Eigen::VectorXd row(n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const Place& other = places_[static_cast<std::size_t>(j)];
    row[j] = (*kernel_)(place.point, other.point) + beside(other);
  }
  for (Eigen::Index j = 0; j < n; ++j)
    row[j] = (row[j] - factor_.row(j).head(j).dot(row.head(j))) / factor_(j, j);
  const double own = kernel_->signal_variance() + kernel_->noise_variance() + beside(place);
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = std::sqrt(std::max(kernel_->noise_variance(), own - row.squaredNorm()));
  places_.push_back(place);
}

// L^-1 K of the added places at `count` candidates.
void Posterior::cover(std::size_t first, std::size_t count, const Added& added) {
  const auto at = static_cast<Eigen::Index>(first), width = static_cast<Eigen::Index>(count),
             rows = static_cast<Eigen::Index>(added.own.size());
  RowMatrix covariance(rows, width);
  Eigen::RowVectorXf of_process(width);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    candidates_->multiply(added.own[row], first, {&covariance(i, 0), count});
    if (!prior_)
      continue;
    const Prior::Expectation& expectation = places_[static_cast<std::size_t>(added.before) + row].expectation;
    covariance.row(i).array() += static_cast<float>(factor_variance * expectation.mean) *
                                     expected_.segment(at, width).transpose().array() +
                                 static_cast<float>(offset_variance);
    if (expectation.is_recorded)
      continue;
    candidates_->multiply(added.process[row], first, {of_process.data(), count});
    covariance.row(i) += of_process.cwiseProduct(is_open_.segment(at, width).transpose());
  }
  if (prior_)
    covariance.noalias() -= added.whitened.transpose() * whitened_.middleCols(at, width);
  const Eigen::Index before = added.before;
  if (before > 0)
    covariance.noalias() -=
        factor_.block(before, 0, rows, before).cast<float>() * solved_.block(0, at, before, width);
  const Eigen::MatrixXf own = factor_.block(before, before, rows, rows).cast<float>();
  own.triangularView<Eigen::Lower>().solveInPlace(covariance);
  solved_.block(before, at, rows, width) = covariance;
  variance_.segment(at, width) -= covariance.colwise().squaredNorm().transpose();
}

Eigen::MatrixXf Posterior::predict(std::span<const Targets> targets) const {
  const auto n = static_cast<Eigen::Index>(places_.size()),
             columns = static_cast<Eigen::Index>(targets.size());
  Eigen::MatrixXf means = Eigen::MatrixXf::Zero(variance_.size(), columns);
  if (n == 0 || columns == 0)
    return means;
  Eigen::MatrixXd whitened(n, columns);
  for (Eigen::Index t = 0; t < columns; ++t)
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::optional<double> target = targets[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)];
      const double predicted = factor_.row(i).head(i).dot(whitened.col(t).head(i));
      whitened(i, t) = target ? (*target - predicted) / factor_(i, i) : 0;
    }
  const Eigen::MatrixXf explained = whitened.cast<float>();
  const double operations = static_cast<double>(n * columns) * static_cast<double>(pool_->size());
  in_runs(operations, [&](std::size_t first, std::size_t count) {
    const auto at = static_cast<Eigen::Index>(first), width = static_cast<Eigen::Index>(count);
    for (Eigen::Index t = 0; t < columns; ++t) // so few columns are products with vectors
      means.col(t).segment(at, width).noalias() =
          solved_.block(0, at, n, width).transpose() * explained.col(t);
  });
  return means;
}

} // namespace lathe::search
