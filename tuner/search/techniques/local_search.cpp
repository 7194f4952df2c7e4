// Multi-start local search: first improvement over Hamming neighbours in random order, then a new random
// start.
#include "tuner/search/technique.h"

#include <algorithm>

namespace lathe::search {

namespace {

class LocalSearch final : public Technique {
public:
  using Technique::Technique;

  std::optional<Point> propose() override {
    advance();
    if (!centre_) {
      if (!start_ || history().find(*start_)) // nothing pending as a start
        start_ = sample_new();
      else
        return sample_new();
      return start_;
    }
    for (; next_ < queue_.size(); ++next_)
      if (!history().is_taken(queue_[next_]))
        return queue_[next_++];
    return sample_new(); // the last neighbours are still being evaluated
  }

private:
  // Moves to what is known: from a finished start to its neighbourhood, from a centre to a better neighbour.
  void advance() {
    if (!centre_ && start_) {
      const Observation* seen = history().find(*start_);
      if (!seen)
        return;
      start_.reset();
      if (seen->succeeded)
        settle(*seen);
    }
    while (centre_) {
      const Observation* better = nullptr;
      bool waiting = false;
      for (const Point& point : queue_) {
        const Observation* seen = history().find(point);
        if (!seen)
          waiting = true;
        else if (seen->succeeded && seen->cost < cost_ && (!better || seen->cost < better->cost))
          better = seen;
      }
      if (better)
        settle(*better);
      else if (!waiting)
        centre_.reset(); // a local optimum
      else
        return;
    }
  }

  void settle(const Observation& observation) {
    centre_ = observation.point;
    cost_ = observation.cost;
    queue_ = domain().neighbours(*centre_, Neighbourhood::hamming);
    std::ranges::shuffle(queue_, random());
    next_ = 0;
  }

  std::optional<Point> start_, centre_;
  double cost_ = 0;
  std::vector<Point> queue_;
  std::size_t next_ = 0;
};

} // namespace

std::unique_ptr<Technique> make_local_search(const Context& context) {
  return std::make_unique<LocalSearch>(context);
}

} // namespace lathe::search
