// Which branches all threads of a block, or of a warp, take in the same way.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

#include <array>
#include <cstdint>
#include <vector>

namespace lathe::refactor {

enum class Together { block, warp };

// Of each basic block of the kernel, in order, whether its threads may leave it in different directions. By
// LLVM's uniformity analysis, which on its own takes whatever is read from a register or from memory as
// different from thread to thread: a block's number and sizes are the same for all of its threads, a warp's
// place in its block (at `block` threads) for all of the warp, and what is loaded for all threads that load
// it from one address, unless that is the thread's own memory.
std::vector<bool> divergent_terminators(const llvm::Function& kernel, llvm::FunctionAnalysisManager& analyses,
                                        Together together, const std::array<std::uint32_t, 3>& block);

} // namespace lathe::refactor
