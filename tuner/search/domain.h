// What the techniques see of a space: its points, their neighbours, and near valid points.
//
// A small space (the usual case) is laid out as one table of all valid points, so that surrogates can score
// every one of them and moves are hash look-ups. A larger one is asked point by point.
#pragma once

#include "tuner/space/space.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace lathe::search {

struct PointHash {
  std::size_t operator()(const Point& point) const { return of({point.data(), point.size()}); }
  static std::size_t of(std::span<const std::uint16_t> point);
};

// Every valid point, one row each, with constant-time lookup. Rows keep the order they were given in.
class PointTable {
public:
  // Distinct points of `width` values each, one behind the other.
  PointTable(std::vector<std::uint16_t> values, std::size_t width);

  std::size_t size() const { return size_; }
  std::span<const std::uint16_t> row(std::size_t index) const {
    return {values_.data() + index * width_, width_};
  }
  Point point(std::size_t index) const {
    auto values = row(index);
    return {values.begin(), values.end()};
  }
  std::optional<std::size_t> find(std::span<const std::uint16_t> point) const;

private:
  std::size_t size_ = 0, width_ = 0;
  std::vector<std::uint16_t> values_;
  std::vector<std::uint32_t> slots_; // open addressing; row + 1, 0 is free
};

// Safe to share between threads.
class Domain {
public:
  virtual ~Domain() = default;
  virtual const std::vector<Parameter>& parameters() const = 0;
  // Number of valid points; an estimate for a space that is too large to count.
  virtual double size() const = 0;
  virtual bool contains(const Point& point) const = 0;
  virtual Point sample(Random& random) const = 0;
  virtual std::vector<Point> neighbours(const Point& point, Neighbourhood neighbourhood) const = 0;
  virtual Point repair(const Point& point, Random& random) const = 0;
  // All valid points, or nothing when there are too many to lay out.
  virtual const PointTable* table() const { return nullptr; }
};

// The points of `space`, which must outlive the domain.
std::unique_ptr<Domain> domain_of(const Space& space);
// A space given by the list of its points, as a recorded one is. `points` is not empty and has no duplicates.
std::unique_ptr<Domain> domain_of(std::vector<Parameter> parameters, const std::vector<Point>& points);

} // namespace lathe::search
