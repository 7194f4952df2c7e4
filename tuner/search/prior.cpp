#include "tuner/search/prior.h"

#include "tuner/search/kernel.h"

#include <algorithm>
#include <cmath>

namespace lathe::search {

namespace {

constexpr std::size_t sample_size = 512;
constexpr std::size_t most_optima = 8;
// Results that a Gaussian process is fitted to, as many as a search fits to at most; fitting takes their
// cube.
constexpr std::size_t fit_size = 192;
constexpr int fit_evaluations = 60;
// Fewer results do not tell noise from a space; the search lets go of those that mislead it.
constexpr std::size_t fewest_telling = 48;
// The logarithm of the odds from which on evidence is called strong (Kass and Raftery, "Bayes factors",
// 1995).
constexpr double strong_evidence = 3;

} // namespace

Prior::Prior(const std::vector<Parameter>& parameters, const std::vector<Observation>& observations)
    : axes_(axes_of(parameters)) {
  std::vector<double> logarithms;
  for (const Observation& observation : observations)
    if (observation.succeeded && observation.cost > 0)
      logarithms.push_back(std::log(observation.cost));
  if (logarithms.size() < 2)
    return;
  std::ranges::sort(logarithms);
  // What fails elsewhere is expected to be as bad as the worst there.
  const double worst = logarithms.back();
  double mean = 0, squares = 0;
  for (double x : logarithms)
    mean += x / static_cast<double>(logarithms.size());
  for (double x : logarithms)
    squares += (x - mean) * (x - mean);
  deviation_ = std::sqrt(squares / static_cast<double>(logarithms.size()));
  if (!(deviation_ > 0))
    return;
  const std::size_t stride = std::max<std::size_t>(1, observations.size() / sample_size);
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const Observation& observation = observations[i];
    if (observation.point.size() != parameters.size())
      continue;
    const double logarithm =
        observation.succeeded && observation.cost > 0 ? std::log(observation.cost) : worst;
    const double value = (logarithm - mean) / deviation_;
    known_.insert_or_assign(observation.point, value);
    if (i % stride == 0)
      sample_.emplace_back(observation.point, value);
  }
  find_optima(parameters);
  is_usable_ = depends_on_knobs(parameters);
}

bool Prior::depends_on_knobs(const std::vector<Parameter>& parameters) const {
  std::vector<std::pair<Point, double>> results(known_.begin(), known_.end());
  if (results.size() < fewest_telling)
    return deviation_ > 0;
  std::ranges::sort(results); // the order of a hash table is no one's choice
  // Drawn at random, since every n-th of a listed product has the same values of its last knobs.
  Random random(1);
  std::ranges::shuffle(results, random);
  results.resize(std::min(results.size(), fit_size));
  std::vector<Point> points;
  Eigen::VectorXd targets(static_cast<Eigen::Index>(results.size()));
  for (const auto& [point, value] : results) {
    targets[static_cast<Eigen::Index>(points.size())] = value;
    points.push_back(point);
  }
  targets.array() -= targets.mean();
  const auto n = static_cast<double>(points.size());
  const double deviation = std::sqrt(targets.squaredNorm() / n);
  if (!(deviation > 0))
    return false;
  targets /= deviation;
  Kernel kernel(parameters);
  const double with_knobs = fit(kernel, points, targets, {}, fit_evaluations);
  const double noise_alone = 0.5 * n; // of variance one, up to the constant that the other leaves out, too
  return with_knobs + strong_evidence < noise_alone;
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

double Prior::operator()(std::span<const std::uint16_t> point) const {
  if (auto found = known_.find(Point(point.begin(), point.end())); found != known_.end())
    return found->second;
  double sum = 0, weights = 1e-12;
  for (const auto& [other, value] : sample_) {
    double distance = 0;
    for (const Axis& axis : axes_) {
      const std::size_t a = point[axis.parameter], b = other[axis.parameter];
      distance += axis.categorical ? a != b : std::abs(axis.position[a] - axis.position[b]);
    }
    constexpr double sharpness = 6;
    const double weight = std::exp(-sharpness * distance);
    sum += weight * value;
    weights += weight;
  }
  return sum / weights;
}

} // namespace lathe::search
