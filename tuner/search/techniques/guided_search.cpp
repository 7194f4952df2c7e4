// A search that earlier results guide as far as they prove to be a guide: a Gaussian process that believes
// them and one that does not know of them share the proposals by their posterior odds.
#include "tuner/search/techniques/gaussian_process.h"

#include <cmath>

namespace lathe::search {

namespace {

// Less likely than this, earlier results are let go for good.
constexpr double least_probability = 0.01;
// Observations without progress after which the search that does not know of them has every other proposal at
// least: what both models take for granted may be wrong.
constexpr std::size_t patience = 16;

class GuidedSearch final : public Technique {
public:
  explicit GuidedSearch(Context context) // whose stream it divides
      : Technique(Context{context.domain, context.history, context.prior, Random(context.random()),
                          context.effort_weight, context.threads}),
        // With a quarter of the proposals, a blind start of its own would last for 24 evaluations.
        cold_(Context{context.domain, context.history, nullptr, Random(context.random()),
                      context.effort_weight, context.threads},
              false),
        guided_(context) {}

  std::optional<Point> propose() override {
    const double share = std::min(probability(), since_best_ >= patience ? 0.5 : 1.0);
    if (share < least_probability)
      is_let_go_ = true;
    if (is_let_go_)
      return cold_.propose();
    credit_ += share;
    if (credit_ < 1)
      return cold_.propose();
    credit_ -= 1;
    return guided_.propose();
  }

  void observe(const Observation&, bool is_new_best) override {
    since_best_ = is_new_best ? 0 : since_best_ + 1;
  }

private:
  // That the earlier results are a guide, after what was observed.
  double probability() {
    if (is_let_go_)
      return 0;
    guided_.update();
    const double credible = prior()->credibility();
    const double odds = std::log(credible / (1 - credible)) + guided_.evidence();
    return 1 / (1 + std::exp(-odds));
  }

  GaussianProcessSearch cold_, guided_;
  // Proposals that the guided search is owed: the first is its own.
  double credit_ = 1;
  std::size_t since_best_ = 0;
  bool is_let_go_ = false;
};

} // namespace

std::unique_ptr<Technique> make_guided_search(const Context& context) {
  return std::make_unique<GuidedSearch>(context);
}

} // namespace lathe::search
