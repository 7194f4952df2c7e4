// What earlier results (another device, problem size or template version) say about a point.
#pragma once

#include "tuner/search/axes.h"
#include "tuner/search/domain.h"
#include "tuner/search/joint_points.h"
#include "tuner/search/kernel.h"
#include "tuner/search/search.h"

#include <Eigen/Dense>

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace lathe::search {

// Many points' columns, of which some at a time are worked on: row by row.
using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A Gaussian process over the logarithm of the earlier costs, in units of their deviation and about their
// mean: capped from above, with what failed at the cap, since only the shape of the lower part matters.
class Prior {
public:
  // What the process says of one point: its mean and, by `covariance`, how it may be wrong. Where the prior
  // has the point, that is the result itself, and nothing else is believed to be possible.
  struct Expectation {
    double mean = 0;
    bool is_recorded = true;
    Eigen::VectorXf whitened; // L^-1 k(results, point); empty where recorded
  };

  Prior(const std::vector<Parameter>& parameters, const std::vector<Observation>& observations);

  // The probability that the results say something of another search in this space, before anything is
  // known of that: most do, unless noise explains them as well as their knobs do.
  double credibility() const { return credibility_; }
  // False with fewer than two distinct costs, too.
  bool is_usable() const;

  Expectation operator()(std::span<const std::uint16_t> point) const;
  // The result of a point, as `mean` has it; nothing where the prior has none.
  std::optional<double> result(std::span<const std::uint16_t> point) const;
  // The same as operator() of many points without results, as many as `mean` has rows, from `first` on:
  // the columns of `whitened`, and of each the variance that covariance() gives.
  void expect(const JointPoints& points, std::size_t first,
              Eigen::Ref<RowMatrix, 0, Eigen::OuterStride<>> whitened, Eigen::Ref<Eigen::VectorXf> mean,
              Eigen::Ref<Eigen::VectorXf> variance) const;
  // Points that the process knows.
  std::size_t size() const { return points_.size(); }
  // Of the process at two points of these expectations.
  double covariance(std::span<const std::uint16_t> a, const Expectation& of_a,
                    std::span<const std::uint16_t> b, const Expectation& of_b) const;
  // Lengths, signal and noise that the earlier results have, in units of their deviation.
  const Kernel& kernel() const { return kernel_; }
  // The best of the earlier results that have no better Hamming neighbour among them, by rising cost.
  const std::vector<Point>& optima() const { return optima_; }
  // Of the log costs: their standard deviation, and how far the cap lies above the least.
  double deviation() const { return deviation_; }
  double span() const { return span_; }

private:
  bool standardise(const std::vector<Observation>& observations);
  void fit_process(const std::vector<Parameter>& parameters);
  void find_optima(const std::vector<Parameter>& parameters);

  Kernel kernel_;
  std::unordered_map<Point, double, PointHash> known_;
  std::vector<Point> points_;              // that the process knows
  std::vector<std::vector<float>> tables_; // Kernel::factors() of these
  Eigen::MatrixXf factor_;                 // L of their covariance
  Eigen::VectorXf solved_;                 // L^-1 of their values
  std::vector<Point> optima_;
  double deviation_ = 0, span_ = 0, credibility_ = 0;
};

} // namespace lathe::search
