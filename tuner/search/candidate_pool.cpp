#include "tuner/search/candidate_pool.h"

#include <algorithm>

namespace lathe::search {

namespace {

constexpr std::size_t elite = 8; // observations whose neighbours are candidates

} // namespace

CandidatePool::CandidatePool(const Domain& domain, std::size_t limit)
    : domain_(domain), limit_(limit), whole_(domain.table() && domain.table()->size() <= limit) {}

void CandidatePool::refresh(const History& history, const std::vector<Point>& promising, Random& random) {
  if (whole_)
    return;
  points_.clear();
  known_.clear();
  std::vector<const Observation*> best;
  for (const Observation& observation : history.observations())
    if (observation.succeeded)
      best.push_back(&observation);
  const std::size_t kept = std::min(elite, best.size());
  std::ranges::partial_sort(best, best.begin() + static_cast<std::ptrdiff_t>(kept), {}, &Observation::cost);
  const std::size_t share = std::max<std::size_t>(1, limit_ / 2 / (kept + promising.size() + 1));
  for (std::size_t i = 0; i < kept; ++i)
    add_around(best[i]->point, share, random);
  for (const Point& point : promising) {
    add(point);
    add_around(point, share, random);
  }
  for (std::size_t draw = 0; draw < 2 * limit_ && points_.size() < limit_; ++draw) {
    const Point point = domain_.sample(random);
    if (!history.is_taken(point))
      add(point);
  }
}

void CandidatePool::add_around(const Point& centre, std::size_t most, Random& random) {
  std::vector<Point> neighbours = domain_.neighbours(centre, Neighbourhood::hamming);
  if (neighbours.size() > most) {
    std::ranges::shuffle(neighbours, random);
    neighbours.resize(most);
  }
  for (const Point& point : neighbours)
    add(point);
}

void CandidatePool::add(const Point& point) {
  if (points_.size() < limit_ && known_.insert(point).second)
    points_.push_back(point);
}

} // namespace lathe::search
