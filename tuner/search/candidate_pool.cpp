#include "tuner/search/candidate_pool.h"

#include <algorithm>
#include <utility>

namespace lathe::search {

namespace {

constexpr std::size_t elite = 8; // observations whose neighbours are candidates
// The best two count as they are; each further one differs from those before it in this many knobs at least.
// A long search that polishes knobs which hardly matter would else fill the list with one basin's points.
constexpr std::size_t nearest_elite = 2, elite_distance = 3;

std::size_t hamming_distance(const Point& a, const Point& b) {
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differing += a[i] != b[i];
  return differing;
}

// The best observations that are unlike each other, best first.
std::vector<Point> elite_of(const History& history) {
  std::vector<const Observation*> best;
  for (const Observation& observation : history.observations())
    if (observation.succeeded)
      best.push_back(&observation);
  std::ranges::stable_sort(best, {}, &Observation::cost);
  std::vector<Point> chosen;
  for (const Observation* observation : best) {
    if (chosen.size() == elite)
      break;
    const auto is_unlike = [&](const Point& other) {
      return hamming_distance(observation->point, other) >= elite_distance;
    };
    if (chosen.size() < nearest_elite || std::ranges::all_of(chosen, is_unlike))
      chosen.push_back(observation->point);
  }
  return chosen;
}

} // namespace

CandidatePool::CandidatePool(const Domain& domain, std::size_t limit)
    : domain_(domain), limit_(limit), whole_(domain.table() && domain.table()->size() <= limit),
      exchanges_(domain.parameters()) {}

void CandidatePool::refresh(const History& history, const std::vector<Point>& promising, Random& random) {
  if (whole_)
    return;
  points_.clear();
  known_.clear();
  const std::vector<Point> best = elite_of(history);
  const auto neighbours = [&](const Point& centre) {
    return domain_.neighbours(centre, Neighbourhood::hamming);
  };
  // A quarter of the pool at most for exchanges, half of it for neighbours.
  const std::size_t exchanged = std::max<std::size_t>(1, limit_ / 4 / (best.size() + 1));
  const std::size_t share = std::max<std::size_t>(1, limit_ / 2 / (best.size() + promising.size() + 1));
  for (const Point& point : best) {
    std::vector<Point> exchanges = exchanges_.of(point);
    std::erase_if(exchanges, [&](const Point& exchange) { return !domain_.contains(exchange); });
    add_some(std::move(exchanges), exchanged, random);
    add_some(neighbours(point), share, random);
  }
  for (const Point& point : promising) {
    add(point);
    add_some(neighbours(point), share, random);
  }
  for (std::size_t draw = 0; draw < 2 * limit_ && points_.size() < limit_; ++draw) {
    const Point point = domain_.sample(random);
    if (!history.is_taken(point))
      add(point);
  }
}

void CandidatePool::add_some(std::vector<Point> points, std::size_t most, Random& random) {
  if (points.size() > most) {
    std::ranges::shuffle(points, random);
    points.resize(most);
  }
  for (const Point& point : points)
    add(point);
}

void CandidatePool::add(const Point& point) {
  if (points_.size() < limit_ && known_.insert(point).second)
    points_.push_back(point);
}

} // namespace lathe::search
