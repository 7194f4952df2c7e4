// What was asked for and has no result yet, in the order in which results are waited for.
#pragma once

#include "tuner/search/search.h"
#include "tuner/search/seconds_estimate.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lathe {

// The order of asking, but for what is expected to take longer than the rest: that is put back by as many
// places as others will have their results in the meantime, and waited for then. The order depends on what
// was told alone, so that the same results lead to the same search, however many compile or measure at a
// time.
class UnderWay {
public:
  explicit UnderWay(const std::vector<Parameter>& parameters) : estimate_(parameters) {}

  void add(Point point) {
    // Of n under way, n / mean get their results in a second.
    const double places = static_cast<double>(size() + 1);
    const double late = std::clamp(estimate_.relative(point) - 1, 0.0, most_late);
    const std::uint64_t number = asked_++;
    queue_.emplace(std::pair(static_cast<double>(number) + places * late, number), std::move(point));
  }
  // Of a result. Configurations that took no time, as where a cache has them, say nothing.
  void tell(const Point& point, double seconds) { estimate_.add(point, seconds); }

  std::size_t size() const { return queue_.size(); }
  bool empty() const { return queue_.empty(); }
  // The next `count`, which are under way no longer.
  std::vector<Point> take(std::size_t count) {
    std::vector<Point> next;
    while (next.size() < count && !queue_.empty())
      next.push_back(std::move(queue_.extract(queue_.begin()).mapped()));
    return next;
  }

private:
  // An estimate is no measurement: nothing is put back further than this many times all that is under way.
  static constexpr double most_late = 8;

  search::SecondsEstimate estimate_;
  std::map<std::pair<double, std::uint64_t>, Point> queue_; // by the place in which it is due
  std::uint64_t asked_ = 0;
};

} // namespace lathe
