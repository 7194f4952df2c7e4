// Which branches all threads of a block, of a warp, or of a tile of a warp take in the same way.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

#include <array>
#include <cstdint>
#include <vector>

namespace lathe::refactor {

// Threads that lie beside each other and begin at a multiple of their number; but for a block's, the value is
// their number.
enum class Together : unsigned {
  block = 0,
  thread = 1,
  two_lanes = 2,
  four_lanes = 4,
  eight_lanes = 8,
  sixteen_lanes = 16,
  warp = 32
};

// Of each basic block of the kernel, in order, whether its threads may leave it in different directions. By
// LLVM's uniformity analysis, which on its own takes whatever is read from a register or from memory as
// different from thread to thread: a block's number and sizes are the same for all of its threads, a warp's
// place in its block (at `block` threads) for all of the warp, what is loaded for all threads that load it
// from one address, unless that is the thread's own memory, and a vote, or a value handed round, for all
// threads that it is among.
std::vector<bool> divergent_terminators(const llvm::Function& kernel, llvm::FunctionAnalysisManager& analyses,
                                        Together together, const std::array<std::uint32_t, 3>& block);

} // namespace lathe::refactor
