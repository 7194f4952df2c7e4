#include "tuner/search/kernel.h"

#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::search {

namespace {

// Normal priors on theta in units where targets have variance one and axes span [0, 1]: unless something else
// is expected, lengths around the axis's span, noise around 5 % of the targets' deviation.
constexpr double length_mean = 0, length_deviation = 1;
constexpr double part_deviation = 1;
constexpr double signal_mean = 0, signal_deviation = 1;
constexpr double noise_mean = -3, noise_deviation = 1;
constexpr double jitter = 1e-8;

double square(double x) {
  return x * x;
}

} // namespace

Kernel::Kernel(const std::vector<Parameter>& parameters, Form form)
    : form_(form), axes_(axes_of(parameters)) {
  for (const Parameter& parameter : parameters)
    counts_.push_back(parameter.values.size());
  for (const Axis& axis : axes_)
    if (used_.empty() || used_.back() != axis.parameter)
      used_.push_back(axis.parameter);
  std::vector<double> theta(axes_.size() + parts() + 2, length_mean);
  theta.end()[-2] = signal_mean;
  theta.end()[-1] = noise_mean;
  if (parts() > 0) {
    // The variances of the parts sum to one: effects of single parameters have twice the variance of what two
    // do together, and six times that of three. What varies at all has the signal's.
    const auto count = static_cast<double>(parts());
    std::fill_n(theta.begin() + static_cast<std::ptrdiff_t>(axes_.size()), parts(), -0.5 * std::log(count));
    theta.end()[-2] -= 0.5 * std::log(std::pow(1 + 1 / count, count) - 1);
  }
  expect(theta);
}

void Kernel::expect(const std::vector<double>& theta) {
  expected_ = theta;
  set(theta);
}

void Kernel::set(const std::vector<double>& theta) {
  theta_ = theta;
  variance_ = signal_ = std::exp(2 * theta.end()[-2]);
  noise_ = std::exp(2 * theta.end()[-1]) + jitter;
  factors_.resize(used_.size());
  slopes_.resize(axes_.size() + parts());
  std::size_t used = 0;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const Axis& axis = axes_[k];
    const std::size_t n = counts_[axis.parameter];
    if (k == 0 || axes_[k - 1].parameter != axis.parameter) {
      used += k > 0;
      factors_[used].assign(n * n, 1);
    }
    slopes_[k].resize(n * n);
    const double scale = std::exp(theta[k]);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double factor, slope;
        if (axis.categorical) {
          slope = i == j ? 0 : -scale;
          factor = std::exp(slope);
        } else {
          const double s = std::sqrt(3.0) * scale * std::abs(axis.position[i] - axis.position[j]);
          factor = (1 + s) * std::exp(-s);
          slope = -s * s / (1 + s);
        }
        factors_[used][i * n + j] *= factor;
        slopes_[k][i * n + j] = slope;
      }
  }
  if (form_ == Form::in_parts)
    divide_into_parts();
}

// Turns each parameter's factor k into 1 + v k, and the slopes with it.
void Kernel::divide_into_parts() {
  for (std::size_t u = 0; u < used_.size(); ++u) {
    const double part = std::exp(2 * theta_[axes_.size() + u]);
    std::vector<double>& by_part = slopes_[axes_.size() + u];
    by_part.resize(factors_[u].size());
    for (std::size_t pair = 0; pair < factors_[u].size(); ++pair) {
      const double varying = part * factors_[u][pair];
      factors_[u][pair] = 1 + varying;
      by_part[pair] = 2 * varying / (1 + varying);
      for (std::size_t k = 0; k < axes_.size(); ++k)
        if (axes_[k].parameter == used_[u])
          slopes_[k][pair] *= varying / (1 + varying);
    }
    variance_ *= 1 + part;
  }
}

double Kernel::operator()(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) const {
  double product = signal_;
  for (std::size_t u = 0; u < used_.size(); ++u) {
    const std::size_t p = used_[u];
    product *= factors_[u][a[p] * counts_[p] + b[p]];
  }
  return product;
}

std::vector<float> Kernel::factors(std::span<const std::uint16_t> point, const JointPoints& others) const {
  // Parameters without an axis say nothing, and are in no group: both leave out those of one value.
  std::vector<std::size_t> used_as(counts_.size());
  for (std::size_t u = 0; u < used_.size(); ++u)
    used_as[used_[u]] = u;
  std::vector<float> table(others.combinations());
  std::vector<double> product, longer;
  for (const JointPoints::Group& group : others.groups()) {
    product.assign(1, group.begin == 0 ? signal_ : 1);
    for (std::size_t p : group.parameters) {
      const double* row = factors_[used_as[p]].data() + point[p] * counts_[p];
      longer.clear();
      for (double factor : product)
        for (std::size_t value = 0; value < counts_[p]; ++value)
          longer.push_back(factor * row[value]);
      product.swap(longer);
    }
    std::ranges::copy(product, table.begin() + static_cast<std::ptrdiff_t>(group.begin));
  }
  return table;
}

// A slope depends on the two values of one parameter only: the weights are summed up by these first.
std::vector<double> Kernel::slopes(const std::vector<Point>& points, const Eigen::MatrixXd& weights) const {
  std::vector<double> by_shape(slopes_.size(), 0.0), by_pair;
  const auto n = static_cast<Eigen::Index>(points.size());
  std::size_t axis = 0;
  for (std::size_t u = 0; u < used_.size(); ++u) {
    const std::size_t p = used_[u], count = counts_[p];
    by_pair.assign(count * count, 0.0);
    for (Eigen::Index j = 0; j < n; ++j) { // down the columns, as they are stored
      const std::size_t column = points[static_cast<std::size_t>(j)][p];
      by_pair[column * count + column] += 0.5 * weights(j, j);
      for (Eigen::Index i = j + 1; i < n; ++i)
        by_pair[points[static_cast<std::size_t>(i)][p] * count + column] += weights(i, j);
    }
    const auto total = [&](std::size_t shape) {
      return std::inner_product(by_pair.begin(), by_pair.end(), slopes_[shape].begin(), 0.0);
    };
    for (; axis < axes_.size() && axes_[axis].parameter == p; ++axis)
      by_shape[axis] = total(axis);
    if (form_ == Form::in_parts)
      by_shape[axes_.size() + u] = total(axes_.size() + u);
  }
  return by_shape;
}

namespace {

// The negative log posterior of theta, up to a constant.
struct Objective {
  Kernel& kernel;
  const std::vector<Point>& points;
  const Eigen::VectorXd& targets;
  const Eigen::MatrixXd& known;

  double operator()(const std::vector<double>& theta, double* gradient) const {
    kernel.set(theta);
    const auto n = static_cast<Eigen::Index>(points.size());
    const std::size_t axes = kernel.axes(), parts = kernel.parts();
    Eigen::MatrixXd signal(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j <= i; ++j)
        signal(i, j) = signal(j, i) = kernel(points[i], points[j]);
    Eigen::MatrixXd covariance = signal;
    covariance.diagonal().array() += kernel.noise_variance();
    if (known.rows() == n)
      covariance += known;
    const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
    if (factor.info() != Eigen::Success)
      return 1e10;
    const Eigen::VectorXd alpha = factor.solve(targets);
    double value = 0.5 * targets.dot(alpha);
    for (Eigen::Index i = 0; i < n; ++i)
      value += std::log(factor.matrixLLT()(i, i));
    const std::vector<double>& expected = kernel.expected();
    for (std::size_t a = 0; a < axes; ++a)
      value += 0.5 * square((theta[a] - expected[a]) / length_deviation);
    for (std::size_t a = axes; a < axes + parts; ++a)
      value += 0.5 * square((theta[a] - expected[a]) / part_deviation);
    value += 0.5 * square((theta.end()[-2] - expected.end()[-2]) / signal_deviation);
    value += 0.5 * square((theta.end()[-1] - expected.end()[-1]) / noise_deviation);
    if (gradient)
      differentiate(theta, factor, alpha, signal, gradient);
    return value;
  }

  void differentiate(const std::vector<double>& theta, const Eigen::LLT<Eigen::MatrixXd>& factor,
                     const Eigen::VectorXd& alpha, const Eigen::MatrixXd& signal, double* gradient) const {
    const Eigen::Index n = alpha.size();
    const std::size_t axes = kernel.axes(), shapes = axes + kernel.parts();
    const std::vector<double>& expected = kernel.expected();
    Eigen::MatrixXd weight = factor.solve(Eigen::MatrixXd::Identity(n, n));
    weight -= alpha * alpha.transpose();
    const double trace = weight.trace();
    weight = weight.cwiseProduct(signal);
    const std::vector<double> by_shape = kernel.slopes(points, weight);
    for (std::size_t a = 0; a < shapes; ++a)
      gradient[a] =
          by_shape[a] + (theta[a] - expected[a]) / square(a < axes ? length_deviation : part_deviation);
    gradient[shapes] = weight.sum() + (theta[shapes] - expected[shapes]) / square(signal_deviation);
    gradient[shapes + 1] = trace * kernel.noise_variance() +
                           (theta[shapes + 1] - expected[shapes + 1]) / square(noise_deviation);
  }
};

double evaluate(unsigned count, const double* theta, double* gradient, void* objective) {
  return (*static_cast<const Objective*>(objective))({theta, theta + count}, gradient);
}

} // namespace

double fit(Kernel& kernel, const std::vector<Point>& points, const Eigen::VectorXd& targets,
           const Eigen::MatrixXd& known, int evaluations) {
  Objective objective{kernel, points, targets, known};
  std::vector<double> theta = kernel.theta();
  std::vector<double> lower(theta.size(), -4.0), upper(theta.size(), 4.0);
  lower.back() = -7;
  upper.back() = 0;
  nlopt_opt optimiser = nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(theta.size()));
  if (optimiser) {
    nlopt_set_min_objective(optimiser, evaluate, &objective);
    nlopt_set_lower_bounds(optimiser, lower.data());
    nlopt_set_upper_bounds(optimiser, upper.data());
    nlopt_set_maxeval(optimiser, evaluations);
    nlopt_set_ftol_abs(optimiser, 1e-3);
    double value = 0;
    // A failed line search still leaves the best point so far in `theta`.
    nlopt_optimize(optimiser, theta.data(), &value);
    nlopt_destroy(optimiser);
  }
  return objective(theta, nullptr); // also sets the kernel
}

} // namespace lathe::search
