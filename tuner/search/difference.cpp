#include "tuner/search/difference.h"

#include "tuner/search/posterior.h"

#include <algorithm>
#include <cmath>

namespace lathe::search {

namespace {

// Beside what two searches of one kernel have in common: ranks that agree to 0.9 are of sums whose parts are
// as 1 to 0.5.
constexpr double expected_difference = 0.5;

// A kernel that expects the lengths that the earlier results have.
Kernel as_smooth_as(const Prior& earlier, const std::vector<Parameter>& parameters, Kernel::Form form) {
  Kernel kernel(parameters, form);
  std::vector<double> expected = kernel.expected();
  std::copy_n(earlier.kernel().theta().begin(), kernel.axes(), expected.begin());
  kernel.expect(expected);
  return kernel;
}

} // namespace

Kernel difference_kernel(const std::vector<Parameter>& parameters, const Prior& earlier) {
  Kernel kernel = as_smooth_as(earlier, parameters, Kernel::Form::in_parts);
  std::vector<double> expected = kernel.expected();
  expected.end()[-2] += std::log(expected_difference);
  expected.end()[-1] = earlier.kernel().theta().back();
  kernel.expect(expected);
  return kernel;
}

Unguided::Unguided(const std::vector<Parameter>& parameters, const Prior& earlier)
    : whole_(as_smooth_as(earlier, parameters, Kernel::Form::whole)),
      in_parts_(as_smooth_as(earlier, parameters, Kernel::Form::in_parts)) {}

double Unguided::fit(const std::vector<Point>& points, const Eigen::VectorXd& targets, int evaluations) {
  const Eigen::MatrixXd offset = Eigen::MatrixXd::Constant(targets.size(), targets.size(), offset_variance);
  return std::min(search::fit(whole_, points, targets, offset, evaluations),
                  search::fit(in_parts_, points, targets, offset, evaluations));
}

} // namespace lathe::search
