#include "tuner/report/importance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace lathe::report {
namespace {

constexpr std::size_t trees = 48;
constexpr std::size_t smallest_leaf = 3;
// Of the knobs, looked at in each split: the fraction of Hutter et al.
constexpr double split_fraction = 5.0 / 6;
// More add little to the shares and much to the time of fitting.
constexpr std::size_t most_configurations = 2048;
constexpr double flat = 1e-12; // variance of log(time) below which there is nothing to explain

struct Sample {
  std::vector<std::size_t> levels; // of each knob: index into its values
  double target = 0;               // log(time)
};

// A box of the space, by half-open ranges of levels, and what a tree predicts in it.
struct Box {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  double value = 0;
};

struct Split {
  std::size_t knob = 0, level = 0; // levels below go left
  double gain = 0;
};

class Forest {
public:
  Forest(std::vector<Sample> samples, std::vector<std::size_t> sizes)
      : samples_(std::move(samples)), sizes_(std::move(sizes)) {}

  // The boxes of one tree, grown on a bootstrap sample; what was left out is predicted for explained().
  std::vector<Box> tree() {
    std::vector<std::size_t> rows(samples_.size());
    std::vector<bool> used(samples_.size(), false);
    for (std::size_t& row : rows) {
      row = random_() % samples_.size();
      used[row] = true;
    }
    std::vector<Box> boxes;
    Box whole;
    for (const std::size_t size : sizes_)
      whole.ranges.emplace_back(0, size);
    grow(rows, 0, rows.size(), whole, boxes);
    left_out_.resize(samples_.size());
    for (std::size_t i = 0; i < samples_.size(); ++i)
      if (!used[i])
        left_out_[i].push_back(predict(boxes, samples_[i]));
    return boxes;
  }

  double explained() const {
    double mean = 0, count = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i)
      if (!left_out_[i].empty()) {
        mean += samples_[i].target;
        ++count;
      }
    mean /= std::max(1.0, count);
    double residual = 0, total = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (left_out_[i].empty())
        continue;
      double predicted = 0;
      for (const double value : left_out_[i])
        predicted += value / static_cast<double>(left_out_[i].size());
      residual += (samples_[i].target - predicted) * (samples_[i].target - predicted);
      total += (samples_[i].target - mean) * (samples_[i].target - mean);
    }
    return total > 0 ? std::max(0.0, 1 - residual / total) : 0;
  }

private:
  static double predict(const std::vector<Box>& boxes, const Sample& sample) {
    for (const Box& box : boxes) {
      bool inside = true;
      for (std::size_t k = 0; k < box.ranges.size() && inside; ++k)
        inside = sample.levels[k] >= box.ranges[k].first && sample.levels[k] < box.ranges[k].second;
      if (inside)
        return box.value;
    }
    return 0; // the boxes cover the space
  }

  void grow(std::vector<std::size_t>& rows, std::size_t begin, std::size_t end, const Box& box,
            std::vector<Box>& boxes) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum += samples_[rows[i]].target;
    const Split split = best_split(rows, begin, end, box, sum);
    if (split.gain <= flat) {
      boxes.push_back(box);
      boxes.back().value = sum / static_cast<double>(end - begin);
      return;
    }
    const auto middle = std::partition(
        rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end),
        [&](std::size_t row) { return samples_[row].levels[split.knob] < split.level; });
    const auto at = static_cast<std::size_t>(middle - rows.begin());
    Box low = box, high = box;
    low.ranges[split.knob].second = high.ranges[split.knob].first = split.level;
    grow(rows, begin, at, low, boxes);
    grow(rows, at, end, high, boxes);
  }

  // By the reduction of the squared error, over a random choice of the knobs.
  Split best_split(const std::vector<std::size_t>& rows, std::size_t begin, std::size_t end, const Box& box,
                   double sum) {
    std::vector<std::size_t> knobs;
    for (std::size_t k = 0; k < sizes_.size(); ++k)
      if (box.ranges[k].second - box.ranges[k].first > 1)
        knobs.push_back(k);
    for (std::size_t i = 0; i + 1 < knobs.size(); ++i)
      std::swap(knobs[i], knobs[i + random_() % (knobs.size() - i)]);
    knobs.resize(static_cast<std::size_t>(std::ceil(split_fraction * static_cast<double>(knobs.size()))));
    const double count = static_cast<double>(end - begin);
    Split best;
    for (const std::size_t knob : knobs) {
      std::vector<double> sums(sizes_[knob]), counts(sizes_[knob]);
      for (std::size_t i = begin; i < end; ++i) {
        const Sample& sample = samples_[rows[i]];
        sums[sample.levels[knob]] += sample.target;
        ++counts[sample.levels[knob]];
      }
      double low_sum = 0, low_count = 0;
      for (std::size_t level = box.ranges[knob].first + 1; level < box.ranges[knob].second; ++level) {
        low_sum += sums[level - 1];
        low_count += counts[level - 1];
        const double high_count = count - low_count;
        if (low_count < smallest_leaf || high_count < smallest_leaf)
          continue;
        const double high_sum = sum - low_sum;
        const double gain =
            low_sum * low_sum / low_count + high_sum * high_sum / high_count - sum * sum / count;
        if (gain > best.gain)
          best = {knob, level, gain};
      }
    }
    return best;
  }

  std::vector<Sample> samples_;
  std::vector<std::size_t> sizes_;
  std::vector<std::vector<double>> left_out_;
  std::mt19937_64 random_{1};
};

// Sums over trees; the shares of each tree are averaged, as are its marginals.
class Analysis {
public:
  explicit Analysis(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {
    for (const std::size_t size : sizes_)
      marginals.emplace_back(size);
    shares.resize(sizes_.size());
    for (std::size_t a = 0; a < sizes_.size(); ++a)
      for (std::size_t b = a + 1; b < sizes_.size(); ++b)
        pairs.push_back({{a, b, 0}, std::vector<double>(sizes_[a] * sizes_[b])});
  }

  void add(const std::vector<Box>& boxes) {
    double mean = 0, square = 0;
    for (const Box& box : boxes) {
      const double share = fraction(box, sizes_.size(), sizes_.size());
      mean += share * box.value;
      square += share * box.value * box.value;
    }
    const double variance = square - mean * mean;
    if (variance <= flat)
      return;
    ++used;
    mean_ += mean;
    std::vector<std::vector<double>> single;
    for (std::size_t k = 0; k < sizes_.size(); ++k) {
      single.push_back(marginal(boxes, k));
      double own = 0;
      for (std::size_t level = 0; level < sizes_[k]; ++level) {
        marginals[k][level] += single[k][level];
        single[k][level] -= mean;
        own += single[k][level] * single[k][level] / static_cast<double>(sizes_[k]);
      }
      shares[k] += own / variance;
    }
    for (auto& [effect, grid] : pairs) {
      const auto [a, b] = std::pair(effect.first, effect.second);
      const std::vector<double> both = marginal(boxes, a, b);
      double own = 0;
      for (std::size_t cell = 0; cell < both.size(); ++cell) {
        grid[cell] += both[cell];
        const double alone = both[cell] - mean - single[a][cell / sizes_[b]] - single[b][cell % sizes_[b]];
        own += alone * alone / static_cast<double>(both.size());
      }
      effect.share += own / variance;
    }
  }

  double mean() const { return mean_ / std::max(1.0, used); }
  double used = 0; // trees that had anything to explain
  std::vector<double> shares;
  std::vector<std::vector<double>> marginals;
  std::vector<std::pair<PairEffect, std::vector<double>>> pairs;

private:
  // Of the space's other knobs that lie in the box.
  double fraction(const Box& box, std::size_t without, std::size_t and_without) const {
    double share = 1;
    for (std::size_t k = 0; k < sizes_.size(); ++k)
      if (k != without && k != and_without)
        share *=
            static_cast<double>(box.ranges[k].second - box.ranges[k].first) / static_cast<double>(sizes_[k]);
    return share;
  }
  std::vector<double> marginal(const std::vector<Box>& boxes, std::size_t knob) const {
    std::vector<double> result(sizes_[knob]);
    for (const Box& box : boxes) {
      const double share = fraction(box, knob, knob);
      for (std::size_t level = box.ranges[knob].first; level < box.ranges[knob].second; ++level)
        result[level] += share * box.value;
    }
    return result;
  }
  std::vector<double> marginal(const std::vector<Box>& boxes, std::size_t a, std::size_t b) const {
    std::vector<double> result(sizes_[a] * sizes_[b]);
    for (const Box& box : boxes) {
      const double share = fraction(box, a, b);
      for (std::size_t i = box.ranges[a].first; i < box.ranges[a].second; ++i)
        for (std::size_t j = box.ranges[b].first; j < box.ranges[b].second; ++j)
          result[i * sizes_[b] + j] += share * box.value;
    }
    return result;
  }

  std::vector<std::size_t> sizes_;
  double mean_ = 0;
};

} // namespace

std::optional<Importance> knob_importance(const std::vector<StoredEvaluation>& evaluations) {
  if (evaluations.empty())
    return std::nullopt;
  std::vector<const StoredEvaluation*> ran;
  for (const StoredEvaluation& evaluation : evaluations)
    if (evaluation.measurement.outcome == Outcome::ok && evaluation.measurement.timing.median_us > 0 &&
        evaluation.knob_names == evaluations.back().knob_names &&
        evaluation.knobs.size() == evaluation.knob_names.size())
      ran.push_back(&evaluation);
  if (ran.size() < least_configurations)
    return std::nullopt;
  if (ran.size() >
      most_configurations) { // a choice of them that does not depend on their order in the search
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < most_configurations; ++i)
      std::swap(ran[i], ran[i + random() % (ran.size() - i)]);
    ran.resize(most_configurations);
  }
  Importance result;
  result.configurations = ran.size();
  std::vector<std::size_t> sizes;
  for (std::size_t k = 0; k < ran.front()->knobs.size(); ++k) {
    KnobEffect effect;
    effect.name = ran.front()->knob_names[k];
    for (const StoredEvaluation* evaluation : ran)
      effect.values.push_back(evaluation->knobs[k]);
    std::sort(effect.values.begin(), effect.values.end());
    effect.values.erase(std::unique(effect.values.begin(), effect.values.end()), effect.values.end());
    sizes.push_back(effect.values.size());
    result.knobs.push_back(std::move(effect));
  }
  std::vector<Sample> samples;
  for (const StoredEvaluation* evaluation : ran) {
    Sample sample;
    sample.target = std::log(evaluation->measurement.timing.median_us);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::vector<Value>& values = result.knobs[k].values;
      sample.levels.push_back(static_cast<std::size_t>(
          std::lower_bound(values.begin(), values.end(), evaluation->knobs[k]) - values.begin()));
    }
    samples.push_back(std::move(sample));
  }
  Forest forest(std::move(samples), sizes);
  Analysis analysis(sizes);
  for (std::size_t t = 0; t < trees; ++t)
    analysis.add(forest.tree());
  if (analysis.used == 0)
    return std::nullopt;
  result.explained = forest.explained();
  const auto relative = [&](double sum) { return std::exp(sum / analysis.used - analysis.mean()); };
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    result.knobs[k].share = analysis.shares[k] / analysis.used;
    for (const double sum : analysis.marginals[k])
      result.knobs[k].relative_time.push_back(relative(sum));
  }
  std::stable_sort(analysis.pairs.begin(), analysis.pairs.end(),
                   [](const auto& a, const auto& b) { return a.first.share > b.first.share; });
  for (const auto& [effect, grid] : analysis.pairs)
    result.pairs.push_back({effect.first, effect.second, effect.share / analysis.used});
  if (!analysis.pairs.empty())
    for (const double sum : analysis.pairs.front().second)
      result.grid.push_back(relative(sum));
  return result;
}

} // namespace lathe::report
