// By what the costs of two searches of one kernel differ, and what the costs are without the other search.
#pragma once

#include "tuner/search/kernel.h"
#include "tuner/search/prior.h"

#include <Eigen/Dense>

#include <vector>

namespace lathe::search {

// The covariance of the difference between costs and what `earlier` says of them, before anything is known:
// in parts, since another device or problem changes what single knobs do more than how they act together;
// along each knob as smooth as the earlier results are; and half as large as these.
Kernel difference_kernel(const std::vector<Parameter>& parameters, const Prior& earlier);

// Costs without the other search, for the evidence that it is a guide. As smooth along the knobs as its
// results are, and of the form, whole or in parts, that explains them better: else what comes with them, and
// not they, would count for them.
class Unguided {
public:
  Unguided(const std::vector<Parameter>& parameters, const Prior& earlier);

  // The lesser of what lathe::search::fit returns for the two forms. `targets` are about their mean, which is
  // as uncertain as an offset to earlier results.
  double fit(const std::vector<Point>& points, const Eigen::VectorXd& targets, int evaluations);

private:
  Kernel whole_, in_parts_;
};

} // namespace lathe::search
