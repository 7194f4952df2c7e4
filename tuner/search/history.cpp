#include "tuner/search/history.h"

#include <algorithm>
#include <utility>

namespace lathe::search {

const Observation* History::find(const Point& point) const {
  auto entry = entries_.find(point);
  if (entry == entries_.end() || !entry->second.observation)
    return nullptr;
  return &observations_[*entry->second.observation];
}

void History::propose(const Point& point, std::string_view author) {
  if (entries_.try_emplace(point, Entry{author, {}}).second)
    pending_.push_back(point);
}

bool History::observe(const Observation& observation) {
  Entry& entry = entries_.try_emplace(observation.point, Entry{"default", {}}).first->second;
  if (entry.observation) // told twice: the first result stands
    return false;
  std::erase(pending_, observation.point);
  entry.observation = observations_.size();
  observations_.push_back(observation);
  if (!observation.succeeded) {
    ++failures_;
    return false;
  }
  if (best_ && observations_[*best_].cost <= observation.cost)
    return false;
  best_ = observations_.size() - 1;
  return true;
}

void History::observe_counters(const Point& point, std::optional<Counters> counters) {
  if (asked_.insert(point).second && counters)
    profiles_.emplace(point, std::move(*counters));
}

std::string_view History::author(const Point& point) const {
  auto entry = entries_.find(point);
  return entry == entries_.end() ? std::string_view{"default"} : entry->second.author;
}

} // namespace lathe::search
