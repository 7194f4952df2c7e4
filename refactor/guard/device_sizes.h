// What is run on a GPU beside the host executor: which configurations at which sizes.
#pragma once

#include "refactor/guard/subject.h"

#include <memory>
#include <string>
#include <vector>

namespace lathe::refactor {

// One size with the configurations that run at it.
struct DeviceSize {
  std::shared_ptr<const Workload> workload; // bound to the GPU's own limits
  std::vector<KnobValues> configurations;
  bool is_problem = false; // one of the specification's; otherwise a small one around the tiles' boundaries

  std::string text(const KnobValues& knobs) const; // of a configuration at this size
};

// The small sizes at which the host executor ran both kernels, with the configurations that it ran there:
// `ran`.
std::vector<DeviceSize> boundary_sizes(const JudgedPair& subject, const std::vector<Configuration>& ran,
                                       const DeviceInfo& device);
// The specification's problems for every choice of types, the smallest first, each with its default and the
// sampled configurations that it admits.
std::vector<DeviceSize> problem_sizes(const JudgedPair& subject, const DeviceInfo& device);

} // namespace lathe::refactor
