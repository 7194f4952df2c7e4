// Simulated annealing over Hamming neighbours. The temperature is relative: costs are compared by their
// logarithm.
#include "tuner/search/technique.h"

#include <cmath>

namespace lathe::search {

namespace {

constexpr double hot = 0.3, cold = 0.005, cooling = 0.97;

class SimulatedAnnealing final : public Technique {
public:
  using Technique::Technique;

  std::optional<Point> propose() override {
    for (int step = 0; step < 256; ++step) {
      if (candidate_) {
        const Observation* seen = history().find(*candidate_);
        if (!seen)
          return {}; // waits for its point
        consider(*seen);
      }
      candidate_ = next();
      if (!candidate_)
        return {};
      if (!history().is_taken(*candidate_))
        return candidate_;
    }
    candidate_.reset(); // walks among known points only
    current_.reset();
    return sample_new();
  }

private:
  void consider(const Observation& seen) {
    candidate_.reset();
    temperature_ *= cooling;
    if (!seen.succeeded || !(seen.cost > 0))
      return;
    const double logarithm = std::log(seen.cost);
    if (!current_ || logarithm <= level_ || uniform() < std::exp((level_ - logarithm) / temperature_)) {
      current_ = seen.point;
      level_ = logarithm;
    }
  }

  std::optional<Point> next() {
    if (temperature_ < cold) {
      temperature_ = hot;
      current_.reset();
    }
    if (!current_)
      return sample_new();
    const auto neighbours = domain().neighbours(*current_, Neighbourhood::hamming);
    return neighbours.empty() ? sample_new() : neighbours[pick(neighbours.size())];
  }

  std::optional<Point> current_, candidate_;
  double level_ = 0, temperature_ = hot;
};

} // namespace

std::unique_ptr<Technique> make_simulated_annealing(const Context& context) {
  return std::make_unique<SimulatedAnnealing>(context);
}

} // namespace lathe::search
