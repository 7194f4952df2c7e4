// Guided by the device's counters, as KTT's profile-based searcher is (Filipovic et al., "Using hardware
// performance counters to speed up autotuning convergence on GPUs", JPDC 160, 2022): learns what the knobs do
// to the counters and which counters go with time, and proposes what should relieve the counters that cost
// most. Any set of counters will do, and the few points whose counters this run has read are all it learns
// from; where its predictions do not order the other observations, or counters are not to be had, it proposes
// nothing.
#include "tuner/search/candidate_pool.h"
#include "tuner/search/kernel.h"
#include "tuner/search/technique.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lathe::search {

namespace {

constexpr std::size_t least_profiles = 6; // before anything is learned from them
constexpr std::size_t first_profiles =
    8; // read at once; later one for every `observations_each` observations
constexpr std::size_t observations_each = 8;
constexpr std::size_t most_profiles = 64;
constexpr std::size_t used_counters = 8; // those that go with time most
constexpr std::size_t pool_limit = 4'096, promising_points = 16, kept_candidates = 256;
constexpr std::size_t least_judged = 6; // observations that the model is judged by
constexpr double least_agreement = 0.4; // rank correlation of predicted and seen costs
constexpr double contrast = 1.1;        // this much slower than the best is worth comparing with it
constexpr int fit_evaluations = 25;

Eigen::VectorXd standardised(Eigen::VectorXd values) {
  values.array() -= values.mean();
  const double deviation = std::sqrt(values.squaredNorm() / static_cast<double>(values.size()));
  return deviation > 1e-9 ? Eigen::VectorXd(values / deviation) : Eigen::VectorXd();
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> places(values.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    places[order[i]] = static_cast<double>(i);
  return places;
}

// Spearman's, ties in the order of the observations.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    squares += (x[i] - y[i]) * (x[i] - y[i]);
  const double n = static_cast<double>(x.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

std::size_t differences(const Point& a, const Point& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    count += a[i] != b[i];
  return count;
}

class ProfileGuided final : public Technique {
public:
  explicit ProfileGuided(const Context& context) : Technique(context), pool_(domain(), pool_limit) {}

  std::optional<Point> propose() override {
    const std::size_t profiles = history().profiles().size();
    if (profiles < least_profiles || !history().best())
      return {};
    const std::size_t seen = history().observations().size();
    if (profiles != fitted_profiles_ || 10 * seen > 11 * fitted_observations_)
      fit();
    if (!is_trusted_)
      return {};
    while (next_ < ranking_.size())
      if (Point point = pool_.point(ranking_[next_++]); !history().is_taken(point))
        return point;
    return {};
  }

  // The best so far, then by turns what is most like it and yet slower, and any other.
  std::optional<Point> wants_counters() override {
    const std::size_t asked = history().counters_asked();
    const std::size_t seen = history().observations().size();
    if (!history().best() || asked >= std::min(most_profiles, first_profiles + seen / observations_each))
      return {};
    if (const Point& best = history().best()->point; !history().counters_were_asked(best))
      return best;
    std::vector<const Observation*> others;
    for (const Observation& observation : history().observations())
      if (observation.succeeded && !history().counters_were_asked(observation.point))
        others.push_back(&observation);
    if (others.empty())
      return {};
    const Observation& best = *history().best();
    const auto likeness = [&](const Observation* other) {
      return other->cost < contrast * best.cost ? std::numeric_limits<std::size_t>::max()
                                                : differences(best.point, other->point);
    };
    const auto nearest = std::ranges::min_element(others, {}, likeness);
    if (asked % 2 == 1 && likeness(*nearest) != std::numeric_limits<std::size_t>::max())
      return (*nearest)->point;
    return others[pick(others.size())]->point;
  }

private:
  // One counter as a Gaussian process over the knobs.
  struct Model {
    Kernel kernel;
    Eigen::VectorXd weights;
    double slope = 0; // of the standardised log cost by the standardised counter
  };

  void fit() {
    fitted_profiles_ = history().profiles().size();
    fitted_observations_ = history().observations().size();
    is_trusted_ = false;
    models_.clear();
    points_.clear();
    std::vector<const Counters*> counters;
    std::vector<double> logarithms;
    for (const auto& [point, read] : history().profiles())
      if (const Observation* seen = history().find(point); seen && seen->succeeded && seen->cost > 0) {
        points_.push_back(point);
        counters.push_back(&read);
        logarithms.push_back(std::log(seen->cost));
      }
    if (points_.size() < least_profiles)
      return;
    choose_counters(counters, logarithms);
    if (models_.empty() || !predicts_the_rest())
      return;
    is_trusted_ = true;
    rank();
  }

  // Those that go with time most, each with a kernel of its own: which knobs matter differs among counters.
  void choose_counters(const std::vector<const Counters*>& counters, const std::vector<double>& logarithms) {
    const auto n = static_cast<Eigen::Index>(points_.size());
    const Eigen::VectorXd costs = standardised(Eigen::Map<const Eigen::VectorXd>(logarithms.data(), n));
    if (costs.size() == 0)
      return;
    std::vector<std::pair<double, Eigen::VectorXd>> chosen; // correlation with the cost, values
    for (const auto& [name, first] : *counters.front()) {
      Eigen::VectorXd values(n);
      bool is_everywhere = true;
      for (Eigen::Index i = 0; i < n && is_everywhere; ++i) {
        const auto found = counters[static_cast<std::size_t>(i)]->find(name);
        is_everywhere = found != counters[static_cast<std::size_t>(i)]->end() && std::isfinite(found->second);
        values[i] = is_everywhere ? found->second : 0;
      }
      if (!is_everywhere)
        continue;
      values = standardised(std::move(values));
      if (values.size() > 0)
        chosen.emplace_back(values.dot(costs) / static_cast<double>(n), std::move(values));
    }
    std::ranges::stable_sort(chosen, std::greater<>(), [](const auto& item) { return std::abs(item.first); });
    if (chosen.size() > used_counters)
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(used_counters), chosen.end());
    // One component of partial least squares (Wold et al., 2001): the sum of the counters, each weighted by
    // its correlation, regressed on the cost. It does not overfit where counters are many and points are few.
    Eigen::VectorXd component = Eigen::VectorXd::Zero(n);
    for (const auto& [correlation, values] : chosen)
      component += correlation * values;
    const double slope = component.squaredNorm() > 0 ? component.dot(costs) / component.squaredNorm() : 0;
    for (const auto& [correlation, values] : chosen)
      models_.push_back(model_of(values, slope * correlation));
  }

  Model model_of(const Eigen::VectorXd& values, double slope) const {
    Model model{Kernel(domain().parameters()), {}, slope};
    search::fit(model.kernel, points_, values, {}, fit_evaluations);
    const auto n = static_cast<Eigen::Index>(points_.size());
    Eigen::MatrixXd covariance(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j)
        covariance(i, j) =
            model.kernel(points_[static_cast<std::size_t>(i)], points_[static_cast<std::size_t>(j)]);
    covariance.diagonal().array() += model.kernel.noise_variance();
    model.weights = Eigen::LLT<Eigen::MatrixXd>(covariance).solve(values);
    return model;
  }

  // The standardised log cost, by the counters that the point is expected to have.
  double predict(std::span<const std::uint16_t> point) const {
    double sum = 0;
    for (const Model& model : models_) {
      double counter = 0;
      for (std::size_t i = 0; i < points_.size(); ++i)
        counter += model.weights[static_cast<Eigen::Index>(i)] * model.kernel(point, points_[i]);
      sum += model.slope * counter;
    }
    return sum;
  }

  bool predicts_the_rest() const {
    std::vector<double> predicted, seen;
    for (const Observation& observation : history().observations())
      if (observation.succeeded && !history().profiles().contains(observation.point)) {
        predicted.push_back(predict(observation.point));
        seen.push_back(observation.cost);
      }
    return seen.size() >= least_judged && rank_correlation(predicted, seen) >= least_agreement;
  }

  void rank() {
    std::vector<Point> promising;
    for (std::size_t i = 0; i < std::min(promising_points, ranking_.size()); ++i)
      promising.push_back(pool_.point(ranking_[i]));
    pool_.refresh(history(), promising, random());
    std::vector<double> predicted(pool_.size());
    for (std::size_t c = 0; c < pool_.size(); ++c)
      predicted[c] = predict(pool_.row(c));
    ranking_.resize(pool_.size());
    std::iota(ranking_.begin(), ranking_.end(), 0u);
    const std::size_t kept = std::min(kept_candidates, ranking_.size());
    std::ranges::partial_sort(ranking_, ranking_.begin() + static_cast<std::ptrdiff_t>(kept), {},
                              [&](std::uint32_t c) { return predicted[c]; });
    ranking_.resize(kept);
    next_ = 0;
  }

  CandidatePool pool_;
  std::vector<Point> points_; // whose counters the models are fitted to
  std::vector<Model> models_;
  std::vector<std::uint32_t> ranking_;
  std::size_t next_ = 0, fitted_profiles_ = 0, fitted_observations_ = 0;
  bool is_trusted_ = false;
};

} // namespace

std::unique_ptr<Technique> make_profile_guided(const Context& context) {
  return std::make_unique<ProfileGuided>(context);
}

} // namespace lathe::search
