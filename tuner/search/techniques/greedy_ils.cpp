// Greedy iterated local search: descends from the best known point; in a local optimum it jumps a few moves
// away from it, and returns to it when the descent from there ends higher.
#include "tuner/search/technique.h"

#include <algorithm>

namespace lathe::search {

namespace {

class GreedyIteratedLocalSearch final : public Technique {
public:
  using Technique::Technique;

  std::optional<Point> propose() override {
    const Observation* best = history().best();
    if (!best)
      return sample_new();
    if (!centre_ || best->cost < home_cost_) {
      home_ = best->point;
      home_cost_ = best->cost;
      kicks_ = 0;
      settle(*best);
    }
    for (int step = 0; step < 64; ++step) {
      if (auto point = next_neighbour())
        return point;
      if (is_waiting())
        return sample_new();
      if (!kick())
        return next_kick_;
    }
    return sample_new();
  }

private:
  // The next neighbour of the centre that is not taken; moves the centre to better ones on the way.
  std::optional<Point> next_neighbour() {
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const Observation* seen = history().find(queue_[i]);
      if (seen && seen->succeeded && seen->cost < centre_cost_) {
        settle(*seen);
        i = static_cast<std::size_t>(-1);
      }
    }
    for (const Point& point : queue_)
      if (!history().is_taken(point))
        return point;
    return {};
  }

  bool is_waiting() const {
    return std::ranges::any_of(queue_, [&](const Point& point) { return !history().find(point); });
  }

  // Leaves the local optimum. False: the point to go to has to be evaluated first.
  bool kick() {
    const std::size_t moves = 2 + std::min<std::size_t>(kicks_ / 4, domain().parameters().size());
    for (int attempt = 0; attempt < 32; ++attempt) {
      Point point = home_;
      for (std::size_t i = 0; i < moves; ++i) {
        auto neighbours = domain().neighbours(point, Neighbourhood::hamming);
        if (neighbours.empty())
          break;
        point = neighbours[pick(neighbours.size())];
      }
      if (point == home_)
        continue;
      ++kicks_;
      const Observation* seen = history().find(point);
      if (!seen && history().is_taken(point))
        continue;
      if (!seen) {
        next_kick_ = point;
        centre_ = point;
        centre_cost_ = std::numeric_limits<double>::infinity();
        queue_ = {point};
        return false;
      }
      if (seen->succeeded) {
        settle(*seen);
        return true;
      }
    }
    next_kick_ = sample_new();
    return false;
  }

  void settle(const Observation& observation) {
    centre_ = observation.point;
    centre_cost_ = observation.cost;
    queue_ = domain().neighbours(*centre_, Neighbourhood::hamming);
    std::ranges::shuffle(queue_, random());
  }

  Point home_;
  double home_cost_ = 0, centre_cost_ = 0;
  std::optional<Point> centre_, next_kick_;
  std::vector<Point> queue_;
  std::size_t kicks_ = 0;
};

} // namespace

std::unique_ptr<Technique> make_greedy_ils(const Context& context) {
  return std::make_unique<GreedyIteratedLocalSearch>(context);
}

} // namespace lathe::search
