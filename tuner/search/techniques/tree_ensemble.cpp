// A surrogate of extremely randomised trees (Geurts, Ernst and Wehenkel, 2006) over the logarithm of the
// cost. Proposes the candidate with the largest expected improvement under the spread of the trees, as SMAC
// does (Hutter et al., 2011).
#include "tuner/search/axes.h"
#include "tuner/search/candidate_pool.h"
#include "tuner/search/technique.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace lathe::search {

namespace {

constexpr std::size_t start = 8, trees = 32, training_limit = 1024, pool_limit = 4096, promising_points = 16;
constexpr std::size_t leaf_size = 3, splits_tried = 4;

struct Node {
  std::int32_t axis = -1; // -1: a leaf
  float threshold = 0;
  std::uint32_t low = 0, high = 0;
  float value = 0;
};

class TreeEnsemble final : public Technique {
public:
  explicit TreeEnsemble(const Context& context)
      : Technique(context), axes_(axes_of(domain().parameters())), pool_(domain(), pool_limit) {}

  std::optional<Point> propose() override {
    const std::size_t seen = history().observations().size();
    if (axes_.empty() || history().taken() < start || seen - history().failures() < 2)
      return sample_new();
    if (fitted_ == 0 || static_cast<double>(seen) >= 1.05 * static_cast<double>(fitted_))
      fit();
    while (next_ < ranking_.size()) {
      Point point = pool_.point(ranking_[next_++]);
      if (!history().is_taken(point))
        return point;
    }
    return sample_new();
  }

private:
  float coordinate(std::span<const std::uint16_t> point, std::size_t axis) const {
    return static_cast<float>(axes_[axis].position[point[axes_[axis].parameter]]);
  }

  void fit() {
    const std::vector<Observation>& seen = history().observations();
    fitted_ = seen.size();
    std::vector<const Observation*> chosen;
    double worst = -std::numeric_limits<double>::infinity();
    for (const Observation& observation : seen) {
      chosen.push_back(&observation);
      if (observation.succeeded && observation.cost > 0)
        worst = std::max(worst, std::log(observation.cost));
    }
    if (chosen.size() > training_limit) {
      std::ranges::shuffle(chosen, random());
      chosen.resize(training_limit);
    }
    points_.clear();
    targets_.clear();
    double incumbent = std::numeric_limits<double>::infinity();
    for (const Observation* observation : chosen) {
      const bool good = observation->succeeded && observation->cost > 0;
      points_.push_back(&observation->point);
      targets_.push_back(static_cast<float>(good                   ? std::log(observation->cost)
                                            : std::isfinite(worst) ? worst
                                                                   : 0));
    }
    if (const Observation* best = history().best(); best && best->cost > 0)
      incumbent = std::log(best->cost);
    std::vector<Point> promising;
    for (std::size_t i = 0; i < std::min(promising_points, ranking_.size()); ++i)
      promising.push_back(pool_.point(ranking_[i]));
    pool_.refresh(history(), promising, random());

    std::vector<double> sum(pool_.size()), squares(pool_.size());
    for (std::size_t t = 0; t < trees; ++t) {
      std::vector<std::uint32_t> rows(points_.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = static_cast<std::uint32_t>(i);
      tree_.clear();
      grow(rows, 0, rows.size());
      for (std::size_t c = 0; c < pool_.size(); ++c) {
        const double value = predict(pool_.row(c));
        sum[c] += value;
        squares[c] += value * value;
      }
    }
    rank(sum, squares, incumbent);
  }

  void rank(const std::vector<double>& sum, const std::vector<double>& squares, double incumbent) {
    std::vector<double> scores(pool_.size());
    ranking_.resize(pool_.size());
    for (std::size_t c = 0; c < pool_.size(); ++c) {
      const double mean = sum[c] / trees;
      const double deviation = std::sqrt(std::max(1e-12, squares[c] / trees - mean * mean));
      const double z = (incumbent - mean) / deviation;
      scores[c] = deviation * (std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi) +
                               z * 0.5 * std::erfc(-z / std::numbers::sqrt2)) -
                  1e-9 * mean; // orders what has no expected improvement
      ranking_[c] = static_cast<std::uint32_t>(c);
    }
    const std::size_t kept = std::min<std::size_t>(ranking_.size(), 256);
    std::ranges::shuffle(ranking_, random()); // ties
    std::ranges::partial_sort(ranking_, ranking_.begin() + static_cast<std::ptrdiff_t>(kept),
                              std::greater<>(), [&](std::uint32_t c) { return scores[c]; });
    next_ = 0;
  }

  // Grows the subtree over rows[begin, end) and returns its index.
  std::uint32_t grow(std::vector<std::uint32_t>& rows, std::size_t begin, std::size_t end) {
    const auto index = static_cast<std::uint32_t>(tree_.size());
    Node node;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum += targets_[rows[i]];
    node.value = static_cast<float>(sum / static_cast<double>(end - begin));
    tree_.push_back(node);
    if (end - begin < 2 * leaf_size)
      return index;
    double best = -1;
    for (std::size_t attempt = 0; attempt < splits_tried * 2; ++attempt) {
      const std::size_t axis = pick(axes_.size());
      float low = std::numeric_limits<float>::max(), high = -low;
      for (std::size_t i = begin; i < end; ++i) {
        const float x = coordinate(*points_[rows[i]], axis);
        low = std::min(low, x);
        high = std::max(high, x);
      }
      if (!(low < high))
        continue;
      const float threshold = low + static_cast<float>(uniform()) * (high - low);
      const double gain = variance_reduction(rows, begin, end, axis, threshold);
      if (gain > best) {
        best = gain;
        node.axis = static_cast<std::int32_t>(axis);
        node.threshold = threshold;
      }
    }
    if (best <= 0)
      return index;
    const auto middle = std::partition(
        rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end),
        [&](std::uint32_t row) {
          return coordinate(*points_[row], static_cast<std::size_t>(node.axis)) <= node.threshold;
        });
    const auto split = static_cast<std::size_t>(middle - rows.begin());
    node.low = grow(rows, begin, split);
    node.high = grow(rows, split, end);
    tree_[index] = node;
    return index;
  }

  // Between the sides' means, weighted; 0 when a side is empty.
  double variance_reduction(const std::vector<std::uint32_t>& rows, std::size_t begin, std::size_t end,
                            std::size_t axis, float threshold) const {
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (std::size_t i = begin; i < end; ++i) {
      const bool high = coordinate(*points_[rows[i]], axis) > threshold;
      sum[high] += targets_[rows[i]];
      count[high] += 1;
    }
    if (count[0] == 0 || count[1] == 0)
      return 0;
    const double difference = sum[0] / count[0] - sum[1] / count[1];
    return difference * difference * count[0] * count[1] / (count[0] + count[1]) + 1e-12;
  }

  double predict(std::span<const std::uint16_t> point) const {
    std::size_t node = 0;
    while (tree_[node].axis >= 0)
      node = coordinate(point, static_cast<std::size_t>(tree_[node].axis)) <= tree_[node].threshold
                 ? tree_[node].low
                 : tree_[node].high;
    return tree_[node].value;
  }

  std::vector<Axis> axes_;
  CandidatePool pool_;
  std::vector<const Point*> points_;
  std::vector<float> targets_;
  std::vector<Node> tree_;
  std::vector<std::uint32_t> ranking_;
  std::size_t fitted_ = 0, next_ = 0;
};

} // namespace

std::unique_ptr<Technique> make_tree_ensemble(const Context& context) {
  return std::make_unique<TreeEnsemble>(context);
}

} // namespace lathe::search
