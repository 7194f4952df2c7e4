#include "tuner/search/axes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace lathe::search {

namespace {

// Maps to [0, 1]; false when all values coincide.
bool normalise(std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  if (!(high > low) || !std::isfinite(high - low))
    return false;
  for (double& value : values)
    value = (value - low) / (high - low);
  return true;
}

std::vector<double> logarithmic(std::vector<double> numbers) {
  const double low = *std::ranges::min_element(numbers);
  if (low >= 0)
    for (double& x : numbers)
      x = std::log2(x + (low > 0 ? 0 : 1));
  return numbers;
}

// Exponents of the powers of two that divide the values; empty unless all are positive integers.
std::vector<double> alignments(const std::vector<double>& numbers) {
  std::vector<double> exponents;
  for (double x : numbers) {
    if (x != std::floor(x) || x < 1 || x > 1e15)
      return {};
    exponents.push_back(std::countr_zero(static_cast<std::uint64_t>(x)));
  }
  return exponents;
}

} // namespace

std::optional<double> number_of(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value))
    return *truth ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value); real && std::isfinite(*real))
    return *real;
  return {};
}

std::vector<Axis> axes_of(const std::vector<Parameter>& parameters) {
  std::vector<Axis> axes;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::vector<Value>& values = parameters[p].values;
    if (values.size() < 2)
      continue;
    std::vector<double> numbers;
    for (const Value& value : values)
      if (auto n = number_of(value))
        numbers.push_back(*n);
    Axis main{p, false, {}};
    if (numbers.size() == values.size())
      main.position = logarithmic(numbers);
    if (main.position.empty() || !normalise(main.position)) {
      main.categorical = true;
      main.position.resize(values.size());
      std::iota(main.position.begin(), main.position.end(), 0.0);
      axes.push_back(std::move(main));
      continue;
    }
    axes.push_back(std::move(main));
    std::vector<double> exponents = alignments(numbers);
    bool powers_of_two = true;
    for (std::size_t i = 0; i < exponents.size(); ++i)
      powers_of_two &= std::exp2(exponents[i]) == numbers[i];
    if (!powers_of_two && normalise(exponents))
      axes.push_back({p, false, std::move(exponents)});
  }
  return axes;
}

} // namespace lathe::search
