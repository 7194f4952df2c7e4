// Decides whether a kernel computes the same with any number of blocks: loops that step by the whole grid.
#pragma once

#include "refactor/knobs/strided_loop.h"

#include <variant>

namespace lathe::refactor {

// A loop whose counter starts at each * blockIdx.x + ... and steps by each * gridDim.x.
struct GridLoop {
  StridedLoop loop;
  Polynomial each; // how many of the counter's values a block is apart from the next
};

// The loops that deal the work out to the blocks along x, or one sentence why the number of blocks matters.
// The obligations: blockIdx.x and gridDim.x are used for nothing else, but that block 0 may be told apart;
// the grid is not synchronised; a value that one round leaves to the next meets global memory through atomics
// alone, since which rounds a block does follows the number of blocks; and what is stored outside of the
// loops is stored by atomics or by block 0. What rounds leave to each other in shared memory is not looked
// at: the guard's runs stand behind it.
std::variant<std::string, std::vector<GridLoop>> read_grid_work(const KernelView& view);

} // namespace lathe::refactor
