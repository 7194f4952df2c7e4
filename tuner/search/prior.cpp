#include "tuner/search/prior.h"

#include <algorithm>
#include <cmath>

namespace lathe::search {

namespace {

constexpr std::size_t sample_size = 512;
constexpr std::size_t most_optima = 8;

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
