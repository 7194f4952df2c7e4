#include "tuner/search/relaxation.h"

#include "tuner/search/axes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::search {

namespace {

constexpr std::size_t most_remembered = 20'000;

} // namespace

Relaxation::Relaxation(const Domain& domain) : domain_(domain) {
  for (const Axis& axis : axes_of(domain.parameters())) {
    if (!coordinates_.empty() && coordinates_.back().parameter == axis.parameter)
      continue; // the first axis of a parameter rises with its numbers
    Coordinate coordinate{axis.parameter, std::vector<std::uint16_t>(axis.position.size()), {}};
    std::iota(coordinate.order.begin(), coordinate.order.end(), std::uint16_t{0});
    std::ranges::stable_sort(coordinate.order, {}, [&](std::uint16_t value) { return axis.position[value]; });
    coordinate.rank.resize(coordinate.order.size());
    for (std::size_t i = 0; i < coordinate.order.size(); ++i)
      coordinate.rank[coordinate.order[i]] = static_cast<std::uint16_t>(i);
    coordinates_.push_back(std::move(coordinate));
  }
}

std::vector<double> Relaxation::coordinates(const Point& point) const {
  std::vector<double> found;
  for (const Coordinate& coordinate : coordinates_)
    found.push_back(coordinate.rank[point[coordinate.parameter]] + 0.5);
  return found;
}

Point Relaxation::point(std::span<const double> coordinates, Random& random) {
  Point point(domain_.parameters().size(), 0);
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const double last = static_cast<double>(coordinates_[i].order.size() - 1);
    const double rank = std::isfinite(coordinates[i]) ? std::clamp(std::floor(coordinates[i]), 0.0, last) : 0;
    point[coordinates_[i].parameter] = coordinates_[i].order[static_cast<std::size_t>(rank)];
  }
  if (domain_.contains(point))
    return point;
  if (repaired_.size() >= most_remembered)
    repaired_.clear();
  const auto [known, is_new] = repaired_.try_emplace(point);
  if (is_new)
    known->second = domain_.repair(point, random);
  return known->second;
}

} // namespace lathe::search
