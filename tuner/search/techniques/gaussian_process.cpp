// Bayesian optimisation with a Gaussian process over the logarithm of the cost: proposes the candidate with
// the largest expected improvement (Jones, Schonlau and Welch, "Efficient global optimization", 1998) times
// its probability of success. Earlier results are the process's mean function, with a learned factor, until
// the evidence is against them; when they stop helping, a second process that ignores them takes turns.
#include "tuner/search/kernel.h"
#include "tuner/search/posterior.h"
#include "tuner/search/prior.h"
#include "tuner/search/technique.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>

namespace lathe::search {

namespace {

constexpr std::size_t spread_points = 6; // a space-filling start
constexpr std::size_t spread_draws = 64; // candidates for each of them
constexpr std::size_t training_limit = 256;
constexpr std::size_t pool_limit = 12'288; // while the training set is complete
constexpr std::size_t long_run_pool_limit = 2'048;
constexpr std::size_t promising_points = 16;
constexpr std::size_t prior_trial = 16; // observations before earlier results are judged
// Observations without progress after which a search that ignores earlier results gets every other proposal,
// and after which it gets them all.
constexpr std::size_t hedging_patience = 8, prior_patience = 40;

// The logarithm of the expected improvement below `incumbent`, stable far in the tail.
double log_expected_improvement(double incumbent, double mean, double deviation) {
  const double z = (incumbent - mean) / deviation;
  const double density = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
  if (z < -6) // phi(z) + z Phi(z) -> phi(z) / z^2
    return std::log(deviation) + density - 2 * std::log(-z);
  const double tail = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return std::log(deviation) + std::log(std::exp(density) + z * tail);
}

class GaussianProcessSearch final : public Technique {
public:
  explicit GaussianProcessSearch(Context context)
      : Technique(std::move(context)), kernel_(domain().parameters()), pool_(domain(), pool_limit) {
    if (!prior() || !prior()->is_usable())
      return;
    prior_ = prior();
    cold_ =
        std::make_unique<GaussianProcessSearch>(Context{domain(), history(), nullptr, Random(random()())});
  }

  std::optional<Point> propose() override {
    if (kernel_.axes() == 0)
      return sample_new();
    const std::size_t succeeded = history().observations().size() - history().failures();
    if (prior_)
      for (; next_optimum_ < prior_->optima().size(); ++next_optimum_)
        if (const Point& point = prior_->optima()[next_optimum_];
            domain().contains(point) && !history().is_taken(point))
          return point;
    if (!cold_ && (spread_ < spread_points || succeeded < 2)) {
      ++spread_;
      // What is least like the rest lies in the corners of the space, where good points seldom are: every
      // other one is drawn evenly.
      if (spread_ % 2 == 0)
        return sample_new();
      return spread();
    }
    if (prior_ && history().best()) {
      is_hedged_ = is_hedged_ || since_best_ >= hedging_patience;
      if (since_best_ >= prior_patience)
        prior_ = nullptr;
    }
    if (cold_ && (!prior_ || (is_hedged_ && ++hedged_proposals_ % 2 == 0)))
      return cold_->propose();
    if (is_outdated())
      rebuild();
    else
      extend();
    return prior_ || !cold_ ? best_candidate() : cold_->propose();
  }

  void observe(const Observation&, bool is_new_best) override {
    since_best_ = is_new_best ? 0 : since_best_ + 1;
  }

private:
  struct Training {
    Point point;
    double feature = 0;
  };

  // The candidate that is least like every point taken so far.
  std::optional<Point> spread() {
    std::vector<Point> taken = history().pending_points();
    for (const Observation& observation : history().observations())
      taken.push_back(observation.point);
    std::optional<Point> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t draw = 0; draw < spread_draws; ++draw) {
      std::optional<Point> point = sample_new();
      if (!point)
        break;
      double likeness = 0;
      for (const Point& other : taken)
        likeness = std::max(likeness, kernel_(*point, other));
      if (likeness < least) {
        least = likeness;
        best = std::move(point);
      }
    }
    return best;
  }

  bool is_outdated() const {
    const std::size_t seen = history().observations().size();
    return !built_ || static_cast<double>(seen) >= 1.1 * static_cast<double>(fitted_) + 1 ||
           posterior_.size() >= training_limit + training_limit / 4;
  }

  // Chooses the training set, fits the kernel to it and starts a posterior over a new pool.
  void rebuild() {
    const std::vector<Observation>& seen = history().observations();
    choose_training(seen);
    scale(seen);
    if (seen.size() >= 3)
      fit_hyperparameters();
    std::vector<Point> promising = std::move(promising_);
    if (seen.size() > training_limit)
      pool_.shrink(long_run_pool_limit);
    pool_.refresh(history(), promising, random());
    is_done_.assign(pool_.size(), 0);
    pool_feature_.resize(prior_ ? static_cast<Eigen::Index>(pool_.size()) : 0);
    for (Eigen::Index c = 0; c < pool_feature_.size(); ++c)
      pool_feature_[c] = static_cast<float>((*prior_)(pool_.row(static_cast<std::size_t>(c))));
    posterior_.reset(kernel_, pool_, pool_feature_);
    for (const Training& item : training_)
      posterior_.add(item.point, item.feature);
    fitted_ = seen.size();
    built_ = true;
    extend();
  }

  // All observations, or in a long run the best half and a random half.
  void choose_training(const std::vector<Observation>& seen) {
    std::vector<std::size_t> chosen(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i)
      chosen[i] = i;
    if (chosen.size() > training_limit) {
      const auto half = chosen.begin() + training_limit / 2;
      std::ranges::partial_sort(chosen, half, {}, [&](std::size_t i) {
        return seen[i].succeeded ? seen[i].cost : std::numeric_limits<double>::infinity();
      });
      std::shuffle(half, chosen.end(), random());
      chosen.resize(training_limit);
      std::ranges::sort(chosen);
    }
    training_.clear();
    index_.clear();
    for (std::size_t i : chosen)
      remember(seen[i].point);
    next_seen_ = seen.size();
  }

  void remember(const Point& point) {
    if (index_.try_emplace(point, training_.size()).second)
      training_.push_back({point, prior_ ? (*prior_)(point) : 0});
  }

  // Adds what was observed or proposed since the posterior was built.
  void extend() {
    const std::vector<Observation>& seen = history().observations();
    // In a long run the training set keeps its size, and what other techniques found waits for the next one.
    for (; next_seen_ < seen.size(); ++next_seen_)
      if (fitted_ <= training_limit || &seen[next_seen_] == history().best())
        remember(seen[next_seen_].point);
    for (const Point& point : history().pending_points())
      remember(point);
    for (std::size_t i = posterior_.size(); i < training_.size(); ++i)
      posterior_.add(training_[i].point, training_[i].feature);
    scale(seen);
  }

  // The mean, deviation and cap that turn costs into targets: log costs, with failures and what is far worse
  // than the median drawn in, since only the shape of the lower part matters.
  void scale(const std::vector<Observation>& seen) {
    std::vector<double> logs;
    for (const Observation& observation : seen)
      if (observation.succeeded)
        logs.push_back(std::log(std::max(observation.cost, std::numeric_limits<double>::min())));
    if (logs.empty()) {
      offset_ = cap_ = 0;
      deviation_ = prior_ ? prior_->deviation() : 1;
      return;
    }
    std::ranges::sort(logs);
    const double low = logs.front(), median = logs[logs.size() / 2];
    cap_ = median > low ? median + 2 * (median - low) : logs.back();
    cap_ = std::min(cap_, logs.back());
    double sum = 0, squares = 0;
    for (const Training& item : training_)
      if (auto y = logarithm(item))
        sum += *y;
    std::size_t known = 0;
    for (const Training& item : training_)
      known += logarithm(item).has_value();
    const double n = static_cast<double>(std::max<std::size_t>(1, known));
    deviation_ = prior_ ? prior_->deviation() : 1;
    offset_ = 0;
    if (prior_) {
      for (const Training& item : training_)
        if (logarithm(item))
          sum -= deviation_ * item.feature;
      offset_ = sum / n;
      return;
    }
    offset_ = sum / n;
    for (const Training& item : training_)
      if (auto y = logarithm(item))
        squares += (*y - offset_) * (*y - offset_);
    deviation_ = squares > 0 ? std::sqrt(squares / n) : 1;
  }

  // The capped log cost; nothing while the point is being evaluated.
  std::optional<double> logarithm(const Training& item) const {
    const Observation* seen = history().find(item.point);
    if (!seen)
      return {};
    if (!seen->succeeded)
      return cap_;
    return std::min(cap_, std::log(std::max(seen->cost, std::numeric_limits<double>::min())));
  }

  std::optional<double> target(const Training& item) const {
    if (auto y = logarithm(item))
      return (*y - offset_) / deviation_ - item.feature;
    return {};
  }

  void fit_hyperparameters() {
    std::vector<Point> points;
    std::vector<double> values, features;
    const std::size_t stride = 1 + training_.size() / (training_limit * 3 / 4);
    for (std::size_t i = 0; i < training_.size(); ++i)
      if (auto y = target(training_[i]); y && i % stride == 0) {
        points.push_back(training_[i].point);
        values.push_back(*y);
        features.push_back(training_[i].feature);
      }
    if (points.size() < 3)
      return;
    const auto column = [](const std::vector<double>& numbers) {
      return Eigen::VectorXd(
          Eigen::Map<const Eigen::VectorXd>(numbers.data(), static_cast<Eigen::Index>(numbers.size())));
    };
    const int evaluations = fitted_ < spread_points ? 60 : fitted_ <= training_limit ? 25 : 10;
    const double with_prior =
        fit(kernel_, points, column(values), prior_ ? column(features) : Eigen::VectorXd(), evaluations);
    if (!prior_ || points.size() < prior_trial)
      return;
    // The same observations without the earlier results, on the scale that they would have then.
    Kernel cold(domain().parameters());
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += features[i];
      mean += values[i] / static_cast<double>(values.size());
    }
    for (double& value : values) {
      value -= mean;
      squares += value * value;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    if (!(deviation > 0))
      return;
    for (double& value : values)
      value /= deviation;
    const double without =
        fit(cold, points, column(values), {}, 60) + static_cast<double>(values.size()) * std::log(deviation);
    if (without < with_prior)
      prior_ = nullptr;
  }

  std::optional<Point> best_candidate() {
    std::vector<std::optional<double>> targets, failures;
    double incumbent = std::numeric_limits<double>::infinity();
    for (const Training& item : training_) {
      const Observation* seen = history().find(item.point);
      targets.push_back(target(item));
      failures.push_back(seen ? std::optional(seen->succeeded ? 0.0 : 1.0) : std::nullopt);
      if (seen && seen->succeeded)
        incumbent = std::min(incumbent, *targets.back() + item.feature);
    }
    Eigen::VectorXf mean = posterior_.predict(targets);
    if (prior_)
      mean += pool_feature_;
    Eigen::VectorXf failure;
    if (history().failures() > 0)
      failure = posterior_.predict(failures);
    std::vector<std::pair<double, std::size_t>> scored;
    for (std::size_t c = 0; c < pool_.size(); ++c) {
      if (is_done_[c])
        continue;
      const auto row = static_cast<Eigen::Index>(c);
      const double deviation = std::sqrt(std::max(1e-10f, posterior_.variance()[row]));
      double score = std::isfinite(incumbent) ? log_expected_improvement(incumbent, mean[row], deviation)
                                              : -static_cast<double>(mean[row]);
      if (failure.size() > 0)
        score += std::log(std::clamp(1.0 - static_cast<double>(failure[row]), 0.02, 1.0));
      if (std::isfinite(score))
        scored.emplace_back(-score, c);
    }
    for (;;) { // each turn leaves out what turned out to be taken
      const std::size_t kept = std::min(scored.size(), promising_points + training_limit / 16);
      std::ranges::partial_sort(scored, scored.begin() + static_cast<std::ptrdiff_t>(kept));
      std::optional<Point> chosen;
      promising_.clear();
      std::size_t dropped = 0;
      for (std::size_t i = 0; i < kept; ++i) {
        Point point = pool_.point(scored[i].second);
        if (history().is_taken(point)) {
          is_done_[scored[i].second] = 1;
          ++dropped;
          continue;
        }
        if (promising_.size() < promising_points)
          promising_.push_back(point);
        if (!chosen)
          chosen = std::move(point);
      }
      if (chosen || dropped == 0)
        return chosen;
      std::erase_if(scored, [&](const auto& item) { return is_done_[item.second] != 0; });
    }
  }

  Kernel kernel_;
  CandidatePool pool_;
  Posterior posterior_;
  const Prior* prior_ = nullptr;                // until it is let go
  std::unique_ptr<GaussianProcessSearch> cold_; // where there was a prior: what proposes without it
  Eigen::VectorXf pool_feature_;
  std::vector<Training> training_;
  std::unordered_map<Point, std::size_t, PointHash> index_;
  std::vector<Point> promising_;
  std::vector<char> is_done_; // by candidate: taken
  std::size_t fitted_ = 0, next_seen_ = 0, next_optimum_ = 0, since_best_ = 0, spread_ = 0;
  std::size_t hedged_proposals_ = 0;
  bool built_ = false, is_hedged_ = false;
  double offset_ = 0, deviation_ = 1, cap_ = 0;
};

} // namespace

std::unique_ptr<Technique> make_gaussian_process(Context context) {
  return std::make_unique<GaussianProcessSearch>(std::move(context));
}

} // namespace lathe::search
