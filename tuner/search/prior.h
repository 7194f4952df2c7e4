// What earlier results (another device, problem size or template version) say about a point.
#pragma once

#include "tuner/search/axes.h"
#include "tuner/search/domain.h"
#include "tuner/search/search.h"

#include <span>
#include <unordered_map>
#include <vector>

namespace lathe::search {

class Prior {
public:
  // Unusable (`is_usable` false) with fewer than two distinct costs, and, where there are enough to tell,
  // without strong evidence that the costs depend on the knobs: what says nothing of its own space says
  // nothing of another device.
  Prior(const std::vector<Parameter>& parameters, const std::vector<Observation>& observations);
  bool is_usable() const { return is_usable_; }
  // The predicted log cost, centred and scaled to deviation one over the prior's results. The result itself
  // where the prior has the point, else the mean of near ones, weighted by their distance.
  double operator()(std::span<const std::uint16_t> point) const;
  // The best of the earlier results that have no better Hamming neighbour among them, by rising cost. On
  // another device the basins tend to persist while their order changes.
  const std::vector<Point>& optima() const { return optima_; }
  // Standard deviation of the prior's log costs.
  double deviation() const { return deviation_; }

private:
  std::vector<Axis> axes_;
  std::unordered_map<Point, double, PointHash> known_;
  std::vector<std::pair<Point, double>> sample_; // what the mean is taken over
  void find_optima(const std::vector<Parameter>& parameters);
  bool depends_on_knobs(const std::vector<Parameter>& parameters) const;

  std::vector<Point> optima_;
  double deviation_ = 0;
  bool is_usable_ = false;
};

} // namespace lathe::search
