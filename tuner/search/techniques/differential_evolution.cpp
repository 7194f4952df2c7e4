// Differential evolution (Storn and Price, 1997) over the relaxed coordinates, with repair: a member moves
// towards the best and along the difference of two others, and crosses over with itself.
#include "tuner/search/population.h"
#include "tuner/search/relaxation.h"
#include "tuner/search/technique.h"

namespace lathe::search {

namespace {

constexpr std::size_t population_size = 16;
constexpr double crossover = 0.8;
constexpr int attempts = 16;

class DifferentialEvolution final : public Technique {
public:
  explicit DifferentialEvolution(const Context& context)
      : Technique(context), relaxation_(domain()), population_(population_size) {}

  std::optional<Point> propose() override {
    if (population_.size() < 4 || history().observations().size() < population_size)
      return sample_new();
    for (int attempt = 0; attempt < attempts; ++attempt) {
      const auto member = coordinates(pick(population_.size()));
      const auto best = coordinates(0);
      const auto a = coordinates(pick(population_.size())), b = coordinates(pick(population_.size()));
      const double scale = 0.4 + 0.6 * uniform();
      std::vector<double> trial = member;
      for (std::size_t i = 0; i < trial.size(); ++i)
        if (uniform() < crossover)
          trial[i] += scale * (best[i] - member[i]) + scale * (a[i] - b[i]) + uniform() - 0.5;
      Point point = relaxation_.point(trial, random());
      if (!history().is_taken(point))
        return point;
    }
    return sample_new();
  }

  void observe(const Observation& observation, bool) override { population_.add(observation); }

private:
  std::vector<double> coordinates(std::size_t member) const {
    return relaxation_.coordinates(population_[member].point);
  }

  Relaxation relaxation_;
  Population population_;
};

} // namespace

std::unique_ptr<Technique> make_differential_evolution(const Context& context) {
  return std::make_unique<DifferentialEvolution>(context);
}

} // namespace lathe::search
