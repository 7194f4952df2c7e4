// The covariance of the Gaussian process over a space, and fitting it to observations.
#pragma once

#include "tuner/search/axes.h"
#include "tuner/search/joint_points.h"

#include <Eigen/Dense>

#include <span>
#include <vector>

namespace lathe::search {

// A product over axes: Matern 3/2 in the coordinate's distance over a length of its own (automatic relevance
// determination; Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapters 4 and 5),
// or a constant factor between unequal categories; times the signal variance.
//
// In parts, it is a product over parameters of 1 + v k, with k what the parameter's axes make and v a
// variance of its own: multiplied out, a sum of an effect of each parameter alone, of each two, and so on, in
// which one observation tells of every point that shares a value with it (smoothing splines' analysis of
// variance; Stitson et al., "Support vector regression with ANOVA decomposition kernels", 1999).
class Kernel {
public:
  enum class Form { whole, in_parts };

  explicit Kernel(const std::vector<Parameter>& parameters, Form form = Form::whole);

  std::size_t axes() const { return axes_.size(); }
  std::size_t width() const { return counts_.size(); } // parameters of a point
  // Parameters that have an axis, and with it a part of their own.
  std::size_t parts() const { return form_ == Form::in_parts ? used_.size() : 0; }
  // One logarithm of the inverse length an axis, in parts one of each part's standard deviation, then of the
  // signal's and of the noise's standard deviation.
  const std::vector<double>& theta() const { return theta_; }
  void set(const std::vector<double>& theta);
  // What theta is before data: the mean of its prior, which fitting starts from.
  const std::vector<double>& expected() const { return expected_; }
  void expect(const std::vector<double>& theta);

  double operator()(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) const;
  // The factors of `point` by the combinations of `others`' groups: a covariance is the product of one a
  // group (JointPoints::multiply), in single precision.
  std::vector<float> factors(std::span<const std::uint16_t> point, const JointPoints& others) const;
  // For each axis and part the derivative of log k(a, b) by its theta, summed over all pairs of points: each
  // pair once by the weight of the later row at the earlier column, points beside themselves by half of
  // theirs.
  std::vector<double> slopes(const std::vector<Point>& points, const Eigen::MatrixXd& weights) const;
  double signal_variance() const { return variance_; } // k(a, a)
  double noise_variance() const { return noise_; }

private:
  void divide_into_parts();

  Form form_;
  std::vector<Axis> axes_;
  std::vector<std::size_t> used_; // parameters that have an axis
  std::vector<std::size_t> counts_;
  std::vector<double> theta_, expected_;
  double signal_ = 1, variance_ = 1, noise_ = 0;
  // Parameters have few values: everything is tabulated by pair of values.
  std::vector<std::vector<double>> factors_; // by used parameter
  std::vector<std::vector<double>> slopes_;  // by axis, then by part
};

// Sets the kernel to the maximum a posteriori, starting where it is; the priors on theta are weak. `known`
// is empty, or what adds to the covariance of the points and is not fitted. Returns the negative logarithm of
// the posterior density at the result, up to a constant that depends on the number of points alone.
double fit(Kernel& kernel, const std::vector<Point>& points, const Eigen::VectorXd& targets,
           const Eigen::MatrixXd& known, int evaluations);

} // namespace lathe::search
