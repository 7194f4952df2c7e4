// A space as a box of real coordinates, for optimisers that know nothing else.
#pragma once

#include "tuner/search/domain.h"

#include <span>
#include <unordered_map>
#include <vector>

namespace lathe::search {

// One coordinate in [0, number of values) for every parameter that has more than one value, along the rising
// order of its numbers (text keeps its order).
class Relaxation {
public:
  explicit Relaxation(const Domain& domain);
  std::size_t dimensions() const { return coordinates_.size(); }
  double upper(std::size_t dimension) const {
    return static_cast<double>(coordinates_[dimension].order.size());
  }
  std::vector<double> coordinates(const Point& point) const; // the middle of each value's interval
  // The valid point at or near the coordinates, which may lie outside the box.
  Point point(std::span<const double> coordinates, Random& random);

private:
  struct Coordinate {
    std::size_t parameter;
    std::vector<std::uint16_t> order, rank; // value at a rank, and its inverse
  };
  const Domain& domain_;
  std::vector<Coordinate> coordinates_;
  std::unordered_map<Point, Point, PointHash> repaired_; // optimisers come back to the same places
};

} // namespace lathe::search
