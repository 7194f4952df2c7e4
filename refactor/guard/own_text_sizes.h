// What the template does at the sizes that both kernels' texts have, where these are too large to be run
// whole: a few blocks.
#pragma once

#include "refactor/guard/host_kernels.h"
#include "refactor/guard/reference_runs.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

struct OwnTextSizes {
  const JudgedPair& subject;
  const HostKernels& raw;
  std::vector<const ReferenceRuns*> sizes; // at which the raw kernel runs clean; of one choice of types
  std::uint64_t seed = 1;
  bool barriers_by_count = false;
  bool has_atomics = false; // the raw kernel: other blocks may have a share in an element
  bool same_code = false;   // at the default: nothing to be asked of it
  int jobs = 1;
};

struct OwnTextFindings {
  std::string problem; // what the template does otherwise; empty: nothing
  std::string evidence;
  bool is_compared = false; // elements of some block were
};

// Whether the texts fix sizes, and the raw kernel was run at none that they have themselves.
bool is_for_own_text_sizes(const OwnTextSizes& question);
// The configurations to be asked, at problems of the specification: what the template has to be compiled for.
std::vector<Configuration> configurations_at_own_text_sizes(const OwnTextSizes& question);
// The first, the last and some blocks between of the template, and those of the raw kernel that may hold the
// same elements: what both have written is the same, as far as it is so for the configuration's blocks at a
// size that was run whole.
OwnTextFindings compare_at_own_text_sizes(const OwnTextSizes& question, const HostKernels& templated,
                                          const std::vector<Configuration>& configurations);

} // namespace lathe::refactor
