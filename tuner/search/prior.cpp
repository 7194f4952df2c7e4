#include "tuner/search/prior.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lathe::search {

namespace {

constexpr std::size_t most_optima = 8;
// Results that the process knows.
constexpr std::size_t fit_size = 192;
// Of these, those that its lengths and variances are fitted to, which takes their cube some sixty times: two
// thirds of them cost a third.
constexpr std::size_t hyperparameter_size = 128;
constexpr int fit_evaluations = 60;
// Odds of three to one that results of the same kernel elsewhere are a guide.
constexpr double related_share = 0.75;
// The logarithm of the odds from which on evidence is called very strong (Kass and Raftery, "Bayes factors",
// 1995): the likeliest of many lengths explain some noise, too.
constexpr double very_strong_evidence = 5;
// What is less likely is not worth an evaluation.
constexpr double least_credibility = 0.01;

} // namespace

Prior::Prior(const std::vector<Parameter>& parameters, const std::vector<Observation>& observations)
    : kernel_(parameters) {
  if (!standardise(observations))
    return;
  find_optima(parameters);
  if (kernel_.axes() > 0)
    fit_process(parameters);
}

bool Prior::is_usable() const {
  return credibility_ >= least_credibility;
}

bool Prior::standardise(const std::vector<Observation>& observations) {
  std::vector<double> logarithms;
  for (const Observation& observation : observations)
    if (observation.succeeded && observation.cost > 0)
      logarithms.push_back(std::log(observation.cost));
  if (logarithms.size() < 2)
    return false;
  std::ranges::sort(logarithms);
  const double least = logarithms.front(), median = logarithms[logarithms.size() / 2];
  const double cap =
      median > least ? std::min(median + 2 * (median - least), logarithms.back()) : logarithms.back();
  span_ = cap - least;
  const std::size_t width = kernel_.width();
  double sum = 0, squares = 0;
  for (const Observation& observation : observations)
    if (observation.point.size() == width)
      known_.insert_or_assign(observation.point, observation.succeeded && observation.cost > 0
                                                     ? std::min(cap, std::log(observation.cost))
                                                     : cap);
  for (const auto& [point, value] : known_)
    sum += value;
  const double n = static_cast<double>(known_.size()), mean = sum / n;
  for (const auto& [point, value] : known_)
    squares += (value - mean) * (value - mean);
  deviation_ = std::sqrt(squares / n);
  for (auto& [point, value] : known_)
    value = (value - mean) / deviation_;
  return deviation_ > 0;
}

// To the best half and a random half where there are many: where the good ones lie, and the shape of the
// rest.
void Prior::fit_process(const std::vector<Parameter>& parameters) {
  std::vector<std::pair<double, Point>> results;
  for (const auto& [point, value] : known_)
    results.emplace_back(value, point);
  std::ranges::sort(results); // the order of a hash table is no one's choice
  if (results.size() > fit_size) {
    Random random(1);
    std::shuffle(results.begin() + fit_size / 2, results.end(), random);
    results.resize(fit_size);
  }
  const auto n = static_cast<Eigen::Index>(results.size());
  Eigen::VectorXd targets(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    targets[i] = results[static_cast<std::size_t>(i)].first;
    points_.push_back(std::move(results[static_cast<std::size_t>(i)].second));
  }
  // Evenly among the good ones and the rest.
  const std::size_t some = std::min(points_.size(), hyperparameter_size);
  std::vector<Point> some_points;
  Eigen::VectorXd some_targets(static_cast<Eigen::Index>(some));
  for (std::size_t i = 0; i < some; ++i) {
    const std::size_t chosen = i * points_.size() / some;
    some_points.push_back(points_[chosen]);
    some_targets[static_cast<Eigen::Index>(i)] = targets[static_cast<Eigen::Index>(chosen)];
  }
  const double with_knobs = fit(kernel_, some_points, some_targets, {}, fit_evaluations);
  // The same without knobs: noise with the mean and the variance that they have.
  const double variance = (some_targets.array() - some_targets.mean()).square().mean();
  const double noise_alone = 0.5 * static_cast<double>(some) * (1 + std::log(variance));
  credibility_ = related_share /
                 (1 + std::exp(std::clamp(with_knobs + very_strong_evidence - noise_alone, -50.0, 50.0)));

  Eigen::MatrixXd covariance(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      covariance(i, j) = kernel_(points_[static_cast<std::size_t>(i)], points_[static_cast<std::size_t>(j)]) +
                         (i == j ? kernel_.noise_variance() : 0);
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  if (factor.info() != Eigen::Success) {
    credibility_ = 0;
    return;
  }
  factor_ = Eigen::MatrixXd(factor.matrixL()).cast<float>();
  solved_ = factor.matrixL().solve(targets).cast<float>();
  const JointPoints layout(parameters);
  for (const Point& point : points_)
    tables_.push_back(kernel_.factors(point, layout));
}

void Prior::find_optima(const std::vector<Parameter>& parameters) {
  std::vector<std::pair<double, Point>> ordered;
  for (const auto& [point, value] : known_)
    ordered.emplace_back(value, point);
  std::ranges::sort(ordered);
  for (auto& [value, point] : ordered) {
    bool is_optimum = true;
    Point neighbour = point;
    for (std::size_t i = 0; i < point.size() && is_optimum; ++i) {
      for (std::size_t other = 0; other < parameters[i].values.size() && is_optimum; ++other) {
        neighbour[i] = static_cast<std::uint16_t>(other);
        const auto found = known_.find(neighbour);
        is_optimum = found == known_.end() || found->second >= value;
      }
      neighbour[i] = point[i];
    }
    if (is_optimum)
      optima_.push_back(point);
    if (optima_.size() >= most_optima)
      return;
  }
}

std::optional<double> Prior::result(std::span<const std::uint16_t> point) const {
  const auto found = known_.find(Point(point.begin(), point.end()));
  return found != known_.end() ? std::optional(found->second) : std::nullopt;
}

void Prior::expect(const JointPoints& points, std::size_t first,
                   Eigen::Ref<RowMatrix, 0, Eigen::OuterStride<>> whitened, Eigen::Ref<Eigen::VectorXf> mean,
                   Eigen::Ref<Eigen::VectorXf> variance) const {
  for (std::size_t i = 0; i < points_.size(); ++i)
    points.multiply(tables_[i], first,
                    {&whitened(static_cast<Eigen::Index>(i), 0), static_cast<std::size_t>(mean.size())});
  factor_.triangularView<Eigen::Lower>().solveInPlace(whitened);
  mean.noalias() = whitened.transpose() * solved_;
  variance =
      static_cast<float>(kernel_.signal_variance()) - whitened.colwise().squaredNorm().transpose().array();
}

Prior::Expectation Prior::operator()(std::span<const std::uint16_t> point) const {
  if (const std::optional<double> known = result(point))
    return {*known, true, {}};
  Expectation expectation{0, false, Eigen::VectorXf(static_cast<Eigen::Index>(points_.size()))};
  for (std::size_t i = 0; i < points_.size(); ++i)
    expectation.whitened[static_cast<Eigen::Index>(i)] = static_cast<float>(kernel_(point, points_[i]));
  factor_.triangularView<Eigen::Lower>().solveInPlace(expectation.whitened);
  expectation.mean = static_cast<double>(expectation.whitened.dot(solved_));
  return expectation;
}

double Prior::covariance(std::span<const std::uint16_t> a, const Expectation& of_a,
                         std::span<const std::uint16_t> b, const Expectation& of_b) const {
  if (of_a.is_recorded || of_b.is_recorded)
    return 0;
  return kernel_(a, b) - static_cast<double>(of_a.whitened.dot(of_b.whitened));
}

} // namespace lathe::search
