// A population of observed points that is filled from every technique's observations.
#pragma once

#include "tuner/search/search.h"

#include <algorithm>
#include <vector>

namespace lathe::search {

// The best of what was observed, at most `capacity` of it; failures never enter.
class Population {
public:
  explicit Population(std::size_t capacity) : capacity_(capacity) {}

  void add(const Observation& observation) {
    if (!observation.succeeded)
      return;
    const auto place = std::ranges::upper_bound(members_, observation.cost, {}, &Observation::cost);
    members_.insert(place, observation);
    if (members_.size() > capacity_)
      members_.pop_back();
  }
  bool is_full() const { return members_.size() >= capacity_; }
  std::size_t size() const { return members_.size(); }
  // By rising cost.
  const Observation& operator[](std::size_t index) const { return members_[index]; }

private:
  std::size_t capacity_;
  std::vector<Observation> members_;
};

} // namespace lathe::search
