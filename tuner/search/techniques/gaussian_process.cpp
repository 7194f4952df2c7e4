#include "tuner/search/techniques/gaussian_process.h"

#include "tuner/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace lathe::search {

namespace {

constexpr std::size_t spread_points = 6; // a space-filling start
constexpr std::size_t spread_draws = 64; // candidates for each of them
constexpr std::size_t training_limit = 256;
constexpr std::size_t pool_limit = 12'288; // while the training set is complete
constexpr std::size_t long_run_pool_limit = 2'048;
constexpr std::size_t promising_points = 16;
constexpr int first_fit = 60; // evaluations of the likelihood, while few observations make them cheap

// The logarithm of the expected improvement below `incumbent`, stable far in the tail.
double log_expected_improvement(double incumbent, double mean, double deviation) {
  const double z = (incumbent - mean) / deviation;
  const double density = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
  if (z < -6) // phi(z) + z Phi(z) -> phi(z) / z^2
    return std::log(deviation) + density - 2 * std::log(-z);
  const double tail = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return std::log(deviation) + std::log(std::exp(density) + z * tail);
}

Eigen::VectorXd column(const std::vector<double>& numbers) {
  return Eigen::Map<const Eigen::VectorXd>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

} // namespace

GaussianProcessSearch::GaussianProcessSearch(const Context& context, bool is_alone)
    : Technique(context), is_alone_(is_alone),
      kernel_(prior() ? difference_kernel(domain().parameters(), *prior()) : Kernel(domain().parameters())),
      pool_(domain(), pool_limit), posterior_(threads()) {
  if (!prior())
    return;
  without_prior_.emplace(domain().parameters(), *prior());
  for (const Point& point : prior()->optima())
    if (domain().contains(point))
      promising_.push_back(point);
}

std::optional<Point> GaussianProcessSearch::propose() {
  if (kernel_.axes() == 0)
    return sample_new();
  const std::size_t succeeded = history().observations().size() - history().failures();
  const std::size_t blind = is_alone_ ? spread_ : std::max(spread_, history().observations().size());
  if (!prior() && (blind < spread_points || succeeded < 2)) {
    ++spread_;
    // What is least like the rest lies in the corners of the space, where good points seldom are: every
    // other one is drawn evenly.
    if (spread_ % 2 == 0)
      return sample_new();
    return spread();
  }
  update();
  // By turns: what the optima show is made use of before all of them are measured.
  is_optimum_next_ = !is_optimum_next_;
  if (!is_optimum_next_)
    if (std::optional<Point> optimum = next_optimum())
      return optimum;
  return best_candidate();
}

// Of the prior's local optima, the best first: elsewhere the basins tend to be the same while their order
// changes. One that has results for less than half of its neighbours is not known to be one.
std::optional<Point> GaussianProcessSearch::next_optimum() {
  while (prior() && next_optimum_ < prior()->optima().size()) {
    const Point& point = prior()->optima()[next_optimum_++];
    if (!domain().contains(point) || history().is_taken(point))
      continue;
    const std::vector<Point> around = domain().neighbours(point, Neighbourhood::hamming);
    const auto known =
        std::ranges::count_if(around, [&](const Point& other) { return prior()->result(other).has_value(); });
    if (2 * static_cast<std::size_t>(known) >= around.size())
      return point;
  }
  return {};
}

void GaussianProcessSearch::update() {
  if (is_outdated())
    rebuild();
  else
    extend();
}

// The candidate that is least like every point taken so far.
std::optional<Point> GaussianProcessSearch::spread() {
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

bool GaussianProcessSearch::is_outdated() const {
  const std::size_t seen = history().observations().size();
  return !built_ || static_cast<double>(seen) >= 1.1 * static_cast<double>(fitted_) + 1 ||
         posterior_.size() >= training_limit + training_limit / 4;
}

// Chooses the training set, fits the kernel to it and starts a posterior over a new pool.
void GaussianProcessSearch::rebuild() {
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
  posterior_.reset(kernel_, pool_, prior());
  posterior_.add(training_);
  fitted_ = seen.size();
  built_ = true;
  extend();
}

// All observations, or in a long run the best half and a random half.
void GaussianProcessSearch::choose_training(const std::vector<Observation>& seen) {
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

void GaussianProcessSearch::remember(const Point& point) {
  if (index_.try_emplace(point, training_.size()).second)
    training_.push_back({point, prior() ? (*prior())(point) : Prior::Expectation{}});
}

// Adds what was observed or proposed since the posterior was built.
void GaussianProcessSearch::extend() {
  const std::vector<Observation>& seen = history().observations();
  // In a long run the training set keeps its size, and what other techniques found waits for the next one.
  for (; next_seen_ < seen.size(); ++next_seen_)
    if (fitted_ <= training_limit || &seen[next_seen_] == history().best())
      remember(seen[next_seen_].point);
  for (const Point& point : history().pending_points())
    remember(point);
  posterior_.add(std::span(training_).subspan(posterior_.size()));
  scale(seen);
}

// The mean, deviation and cap that turn costs into targets: log costs, with failures and what is far worse
// than the median drawn in, since only the shape of the lower part matters. With a prior, on its scale and
// drawn in as its own costs are, as far above the best.
void GaussianProcessSearch::scale(const std::vector<Observation>& seen) {
  std::vector<double> logs;
  for (const Observation& observation : seen)
    if (observation.succeeded)
      logs.push_back(std::log(std::max(observation.cost, std::numeric_limits<double>::min())));
  deviation_ = prior() ? prior()->deviation() : 1;
  offset_ = cap_ = 0;
  if (logs.empty())
    return;
  std::ranges::sort(logs);
  const double low = logs.front(), median = logs[logs.size() / 2];
  cap_ = median > low ? median + 2 * (median - low) : logs.back();
  if (prior())
    cap_ = low + prior()->span();
  cap_ = std::min(cap_, logs.back());
  double sum = 0, squares = 0, known = 0;
  for (const Training& item : training_)
    if (auto y = logarithm(item)) {
      sum += *y - deviation_ * item.expectation.mean;
      ++known;
    }
  const double n = std::max(1.0, known);
  offset_ = sum / n;
  if (prior())
    return;
  for (const Training& item : training_)
    if (auto y = logarithm(item))
      squares += (*y - offset_) * (*y - offset_);
  deviation_ = squares > 0 ? std::sqrt(squares / n) : 1;
}

// The capped log cost; nothing while the point is being evaluated.
std::optional<double> GaussianProcessSearch::logarithm(const Training& item) const {
  const Observation* seen = history().find(item.point);
  if (!seen)
    return {};
  if (!seen->succeeded)
    return cap_;
  return std::min(cap_, std::log(std::max(seen->cost, std::numeric_limits<double>::min())));
}

std::optional<double> GaussianProcessSearch::target(const Training& item) const {
  if (auto y = logarithm(item))
    return (*y - offset_) / deviation_ - item.expectation.mean;
  return {};
}

void GaussianProcessSearch::fit_hyperparameters() {
  std::vector<const Training*> items;
  std::vector<Point> points;
  std::vector<double> values;
  const std::size_t stride = 1 + training_.size() / (training_limit * 3 / 4);
  for (std::size_t i = 0; i < training_.size(); ++i)
    if (auto y = target(training_[i]); y && i % stride == 0) {
      items.push_back(&training_[i]);
      points.push_back(training_[i].point);
      values.push_back(*y);
    }
  if (points.size() < (prior() ? 2 : 3))
    return;
  const int evaluations = fitted_ < spread_points ? first_fit : fitted_ <= training_limit ? 25 : 10;
  if (!prior()) {
    fit(kernel_, points, column(values), {}, evaluations);
    return;
  }
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd transferred(n, n);
  Eigen::VectorXd whole(n);
  for (std::size_t i = 0; i < points.size(); ++i) {
    whole[static_cast<Eigen::Index>(i)] = values[i] + items[i]->expectation.mean;
    for (std::size_t j = 0; j <= i; ++j)
      transferred(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          transferred(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(i)) = transfer_covariance(
              *prior(), points[i], items[i]->expectation, points[j], items[j]->expectation);
  }
  // The same observations, of the same scale and an offset as unknown, without the earlier results.
  whole.array() -= whole.mean();
  double with_prior = 0, without = 0;
  parallel(2, threads(), [&](std::size_t i) {
    if (i == 0)
      with_prior = fit(kernel_, points, column(values), transferred, evaluations);
    else
      without = without_prior_->fit(points, whole, evaluations);
  });
  evidence_ = without - with_prior;
}

// The logarithm of the seconds that each training point took, about their mean; the process of the cost
// serves for them, too. Nothing where no seconds are known.
std::optional<Posterior::Targets> GaussianProcessSearch::effort() const {
  Posterior::Targets logarithms;
  double sum = 0, known = 0;
  for (const Training& item : training_) {
    const Observation* seen = history().find(item.point);
    logarithms.push_back(seen && seen->seconds > 0 ? std::optional(std::log(seen->seconds)) : std::nullopt);
    if (logarithms.back()) {
      sum += *logarithms.back();
      ++known;
    }
  }
  if (known == 0)
    return {};
  for (std::optional<double>& logarithm : logarithms)
    if (logarithm)
      *logarithm -= sum / known;
  return logarithms;
}

// The best target, the prior's mean included: of what was observed, else of what is believed of the points
// that are being evaluated. Infinite where nothing is known.
double GaussianProcessSearch::incumbent() const {
  double best = std::numeric_limits<double>::infinity(), believed = best;
  for (const Training& item : training_) {
    const Observation* seen = history().find(item.point);
    if (seen && seen->succeeded)
      best = std::min(best, *target(item) + item.expectation.mean);
    else if (!seen && prior())
      believed = std::min(believed, item.expectation.mean);
  }
  return std::isfinite(best) ? best : believed;
}

std::optional<Point> GaussianProcessSearch::best_candidate() {
  Posterior::Targets targets, failures;
  for (const Training& item : training_) {
    const Observation* seen = history().find(item.point);
    targets.push_back(target(item));
    failures.push_back(seen ? std::optional(seen->succeeded ? 0.0 : 1.0) : std::nullopt);
  }
  const double incumbent = this->incumbent();
  const bool may_fail = history().failures() > 0;
  std::optional<Posterior::Targets> effort = effort_weight() > 0 ? this->effort() : std::nullopt;
  std::vector<Posterior::Targets> asked = {std::move(targets)};
  if (may_fail)
    asked.push_back(std::move(failures));
  if (effort)
    asked.push_back(std::move(*effort));
  const Eigen::MatrixXf predicted = posterior_.predict(asked);
  Eigen::VectorXf mean = predicted.col(0);
  if (prior())
    mean += posterior_.expected();
  std::vector<std::pair<double, std::size_t>> scored;
  for (std::size_t c = 0; c < pool_.size(); ++c) {
    if (is_done_[c])
      continue;
    const auto row = static_cast<Eigen::Index>(c);
    const double deviation = std::sqrt(std::max(1e-10f, posterior_.variance()[row]));
    double score = std::isfinite(incumbent) ? log_expected_improvement(incumbent, mean[row], deviation)
                                            : -static_cast<double>(mean[row]);
    if (may_fail)
      score += std::log(std::clamp(1.0 - static_cast<double>(predicted(row, 1)), 0.02, 1.0));
    if (effort)
      score -= effort_weight() * static_cast<double>(predicted(row, predicted.cols() - 1));
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

std::unique_ptr<Technique> make_gaussian_process(const Context& context) {
  if (!context.prior || !context.prior->is_usable()) {
    Context alone = context;
    alone.prior = nullptr;
    return std::make_unique<GaussianProcessSearch>(alone);
  }
  return make_guided_search(context);
}

} // namespace lathe::search
