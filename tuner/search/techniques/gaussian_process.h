// Bayesian optimisation with a Gaussian process over the logarithm of the cost: proposes the candidate with
// the largest expected improvement (Jones, Schonlau and Welch, "Efficient global optimization", 1998) times
// its probability of success.
#pragma once

#include "tuner/search/difference.h"
#include "tuner/search/kernel.h"
#include "tuner/search/posterior.h"
#include "tuner/search/prior.h"
#include "tuner/search/technique.h"

#include <unordered_map>

namespace lathe::search {

// With a prior in its context, costs are what the prior says, times a factor near one, plus what the two
// searches differ by, which is a process of its own (difference.h).
class GaussianProcessSearch final : public Technique {
public:
  // Without a prior it starts with a few blind points. Not `is_alone`: another search proposes, too, and
  // what that one had measured stands for them.
  explicit GaussianProcessSearch(const Context& context, bool is_alone = true);

  std::optional<Point> propose() override;
  // Takes in what was observed and proposed since.
  void update();
  // The logarithm of how much likelier the observations are with the prior than without it; 0 before any.
  double evidence() const { return evidence_; }

private:
  using Training = Posterior::Place;

  std::optional<Point> spread();
  std::optional<Point> next_optimum();
  bool is_outdated() const;
  void rebuild();
  void choose_training(const std::vector<Observation>& seen);
  void remember(const Point& point);
  void extend();
  void scale(const std::vector<Observation>& seen);
  std::optional<double> logarithm(const Training& item) const;
  std::optional<double> target(const Training& item) const;
  void fit_hyperparameters();
  double incumbent() const;
  std::optional<Posterior::Targets> effort() const;
  std::optional<Point> best_candidate();

  bool is_alone_;
  Kernel kernel_;
  std::optional<Unguided> without_prior_; // where there is a prior
  CandidatePool pool_;
  Posterior posterior_;
  std::vector<Training> training_;
  std::unordered_map<Point, std::size_t, PointHash> index_;
  std::vector<Point> promising_;
  std::vector<char> is_done_; // by candidate: taken
  std::size_t fitted_ = 0, next_seen_ = 0, spread_ = 0, next_optimum_ = 0;
  bool built_ = false, is_optimum_next_ = true;
  double offset_ = 0, deviation_ = 1, cap_ = 0, evidence_ = 0;
};

} // namespace lathe::search
