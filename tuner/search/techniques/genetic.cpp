// A steady-state genetic algorithm on the valid set: parents by rank, uniform crossover, mutation of about
// one parameter, repair.
#include "tuner/search/population.h"
#include "tuner/search/technique.h"

#include <algorithm>

namespace lathe::search {

namespace {

constexpr std::size_t population_size = 20;
constexpr int attempts = 16;

class Genetic final : public Technique {
public:
  explicit Genetic(const Context& context) : Technique(context), population_(population_size) {}

  std::optional<Point> propose() override {
    if (population_.size() < 2 || history().observations().size() < population_size)
      return sample_new();
    for (int attempt = 0; attempt < attempts; ++attempt) {
      Point child = parent();
      const Point& other = parent();
      for (std::size_t i = 0; i < child.size(); ++i) {
        const std::size_t values = domain().parameters()[i].values.size();
        if (uniform() < 0.5)
          child[i] = other[i];
        if (uniform() < 1.0 / static_cast<double>(child.size()))
          child[i] = static_cast<std::uint16_t>(pick(values));
      }
      child = domain().repair(child, random());
      if (!history().is_taken(child))
        return child;
    }
    return sample_new();
  }

  void observe(const Observation& observation, bool) override { population_.add(observation); }

private:
  // The better of two drawn members.
  const Point& parent() {
    return population_[std::min(pick(population_.size()), pick(population_.size()))].point;
  }

  Population population_;
};

} // namespace

std::unique_ptr<Technique> make_genetic(const Context& context) {
  return std::make_unique<Genetic>(context);
}

} // namespace lathe::search
