// Counts of what a kernel's source does: the features by which kernels are compared.
#pragma once

#include "refactor/frontend/frontend.h"

#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

// Of the kernel and the functions that it reaches in the main file, each once.
struct KernelFacts {
  int loops = 0, loop_depth = 0; // `for`, `while`, `do`; deepest nesting
  int barriers = 0;              // __syncthreads and its like, barrier.sync
  int warp_primitives = 0;       // shuffles, votes, reductions of a warp
  int atomics = 0;
  int shared_variables = 0;
  int subscripts = 0;        // p[i] and *p through pointers that are not on the chip
  int branches = 0;          // if, ?:, switch
  int divisions = 0;         // / and % in index or data arithmetic
  int special_functions = 0; // exp, rsqrt, tanh, log, ...
  int functions = 0;         // reached in the main file, the kernel included
  int pointer_parameters = 0;
  bool reads_block_size = false, reads_grid_size = false;

  // By name, in a fixed order: the same for the same text.
  std::vector<std::pair<std::string, double>> features() const;
};

KernelFacts kernel_facts(ParsedSource& source, const KernelInfo& kernel);

} // namespace lathe::refactor
