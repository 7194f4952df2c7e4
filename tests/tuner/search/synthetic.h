// Small spaces with known costs.
#pragma once

#include "tuner/search/recorded_space.h"

#include <cmath>
#include <functional>

namespace lathe {

inline Parameter integers(std::string name, std::vector<std::int64_t> values) {
  Parameter parameter{std::move(name), {}};
  for (std::int64_t value : values)
    parameter.values.emplace_back(value);
  return parameter;
}

// Every point of the product that `valid` admits.
inline std::vector<Point> points_of(const std::vector<Parameter>& parameters,
                                    const std::function<bool(const Point&)>& valid) {
  std::vector<Point> points;
  Point point(parameters.size(), 0);
  for (;;) {
    if (valid(point))
      points.push_back(point);
    std::size_t i = point.size();
    while (i > 0 && ++point[i - 1] == parameters[i - 1].values.size())
      point[--i] = 0;
    if (i == 0)
      return points;
  }
}

// A kernel-like landscape: threads and tiles interact, one corner fails, one flag changes the level.
inline RecordedSpace synthetic_space() {
  RecordedSpace space;
  space.kernel = "synthetic";
  space.device = "none";
  space.objective = "time";
  space.parameters = {integers("block_x", {16, 32, 48, 64, 96, 128, 192, 256}),
                      integers("block_y", {1, 2, 4, 8, 16}), integers("tile", {1, 2, 3, 4, 5, 6, 7, 8}),
                      integers("unroll", {1, 2, 4, 8}), integers("flag", {0, 1})};
  const auto value = [&](const Point& point, std::size_t i) {
    return static_cast<double>(std::get<std::int64_t>(space.parameters[i].values[point[i]]));
  };
  for (const Point& point :
       points_of(space.parameters, [&](const Point& p) { return value(p, 0) * value(p, 1) <= 1024; })) {
    const double threads = value(point, 0) * value(point, 1), work = value(point, 2) * value(point, 3);
    RecordedSpace::Record record{point, threads * work < 8192, 0, 1};
    record.cost = 1 + 0.2 * std::pow(std::log2(threads / 256), 2) + 0.15 * std::pow(std::log2(work / 6), 2) +
                  (point[4] == 0 ? 0.4 : 0) + (static_cast<int>(value(point, 0)) % 32 != 0 ? 0.5 : 0) +
                  0.1 * std::abs(value(point, 2) - 3);
    space.records.push_back(record);
  }
  return space;
}

} // namespace lathe
