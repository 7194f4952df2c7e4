#include "tuner/search/exchanges.h"

#include "tuner/search/axes.h"

namespace lathe::search {

namespace {

// The place of `factor` times the value at `index`.
std::optional<std::uint16_t> multiple(const std::vector<Value>& values, std::size_t index, double factor) {
  const std::optional<double> number = number_of(values[index]);
  if (!number || *number == 0)
    return {};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (number_of(values[i]) == *number * factor)
      return static_cast<std::uint16_t>(i);
  return {};
}

} // namespace

Exchanges::Exchanges(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    Steps& steps = steps_.emplace_back();
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
      steps.doubled.push_back(multiple(parameter.values, i, 2));
      steps.halved.push_back(multiple(parameter.values, i, 0.5));
    }
  }
}

std::vector<Point> Exchanges::of(const Point& point) const {
  std::vector<Point> found;
  for (std::size_t up = 0; up < point.size(); ++up) {
    const std::optional<std::uint16_t> doubled = steps_[up].doubled[point[up]];
    for (std::size_t down = 0; doubled && down < point.size(); ++down)
      if (const auto halved = steps_[down].halved[point[down]]; halved && down != up) {
        Point& exchanged = found.emplace_back(point);
        exchanged[up] = *doubled;
        exchanged[down] = *halved;
      }
  }
  return found;
}

} // namespace lathe::search
