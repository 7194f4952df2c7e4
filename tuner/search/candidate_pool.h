// The points that a surrogate model scores: all of them where they are few, else a changing selection.
#pragma once

#include "tuner/search/domain.h"
#include "tuner/search/exchanges.h"
#include "tuner/search/history.h"

#include <span>
#include <unordered_set>
#include <vector>

namespace lathe::search {

class CandidatePool {
public:
  CandidatePool(const Domain& domain, std::size_t limit);

  // Makes the selection anew: neighbours and exchanges of the best observations that are unlike each other,
  // neighbours of the `promising` points, those points themselves, and random ones up to the limit. A pool
  // that holds the whole space stays as it is.
  void refresh(const History& history, const std::vector<Point>& promising, Random& random);
  // Fewer candidates from the next refresh on.
  void shrink(std::size_t limit) {
    limit_ = limit;
    whole_ = whole_ && domain_.table()->size() <= limit;
  }
  const std::vector<Parameter>& parameters() const { return domain_.parameters(); }
  bool is_whole() const { return whole_; }
  std::size_t size() const { return whole_ ? domain_.table()->size() : points_.size(); }
  std::span<const std::uint16_t> row(std::size_t index) const {
    return whole_ ? domain_.table()->row(index) : std::span<const std::uint16_t>(points_[index]);
  }
  Point point(std::size_t index) const {
    const auto values = row(index);
    return {values.begin(), values.end()};
  }

private:
  void add_some(std::vector<Point> points, std::size_t most, Random& random);
  void add(const Point& point);

  const Domain& domain_;
  std::size_t limit_;
  bool whole_;
  Exchanges exchanges_;
  std::vector<Point> points_;
  std::unordered_set<Point, PointHash> known_;
};

} // namespace lathe::search
