// The database that all techniques of one search share.
#pragma once

#include "tuner/search/domain.h"
#include "tuner/search/search.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lathe::search {

class History {
public:
  // Proposed, or observed: not to be proposed again.
  bool is_taken(const Point& point) const { return entries_.contains(point); }
  // The observation of a point, or null while it is unknown or still being evaluated.
  const Observation* find(const Point& point) const;

  void propose(const Point& point, std::string_view author); // `author` must outlive the history
  // Returns whether it is a new best. A point that was not proposed gets the author "default".
  bool observe(const Observation& observation);

  const std::vector<Observation>& observations() const { return observations_; }
  std::size_t taken() const { return entries_.size(); }
  // Points proposed and not yet observed, oldest first.
  const std::vector<Point>& pending_points() const { return pending_; }
  std::size_t failures() const { return failures_; }
  const Observation* best() const { return best_ ? &observations_[*best_] : nullptr; }
  std::string_view author(const Point& point) const;

  // Counters of observed points; nothing: they cannot be read of this one.
  void observe_counters(const Point& point, std::optional<Counters> counters);
  bool counters_were_asked(const Point& point) const { return asked_.contains(point); }
  std::size_t counters_asked() const { return asked_.size(); }
  const std::map<Point, Counters>& profiles() const { return profiles_; }

private:
  struct Entry {
    std::string_view author;
    std::optional<std::size_t> observation;
  };
  std::unordered_map<Point, Entry, PointHash> entries_;
  std::vector<Observation> observations_;
  std::optional<std::size_t> best_;
  std::vector<Point> pending_;
  std::size_t failures_ = 0;
  std::map<Point, Counters> profiles_;
  std::unordered_set<Point, PointHash> asked_;
};

} // namespace lathe::search
