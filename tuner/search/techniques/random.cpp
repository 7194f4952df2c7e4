// Uniform sampling without replacement: the baseline, and what keeps an ensemble from missing a region.
#include "tuner/search/technique.h"

namespace lathe::search {

namespace {

class RandomSampling final : public Technique {
public:
  using Technique::Technique;
  std::optional<Point> propose() override { return sample_new(); }
};

} // namespace

std::unique_ptr<Technique> make_random(const Context& context) {
  return std::make_unique<RandomSampling>(context);
}

} // namespace lathe::search
