// Asks the raw kernel, by running it, whether it takes other inputs than the specification's.
#pragma once

#include "refactor/guard/reference_runs.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace lathe::refactor {

class RawQuestion {
public:
  // Changes what a run is given at a workload. False: the question makes no sense there.
  using Change = std::function<bool(const Workload&, TrialSettings&)>;

  // Of `sizes`, at which the raw kernel runs clean, a few that differ in how much is executed are asked at.
  // Each with `seeds` seeds. Refers to the kernels and the sizes.
  RawQuestion(const HostKernels& raw, std::vector<const ReferenceRuns*> sizes, std::uint64_t seed,
              std::size_t seeds);

  // It runs clean and gives the same in two orders of threads, whatever shared memory began with, wherever
  // the question makes sense: somewhere.
  bool accepts(const Change& change) const;

  // Of the size with the most work.
  const Workload& workload() const { return *sizes_.back()->workload; }

private:
  bool accepts_at(const ReferenceRuns& size, const TrialSettings& changed) const;

  const HostKernels& raw_;
  std::vector<const ReferenceRuns*> sizes_;
  std::uint64_t seed_;
  std::size_t seeds_;
};

} // namespace lathe::refactor
