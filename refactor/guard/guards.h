// Which parameters of the kernel decide whether an instruction runs.
#pragma once

#include <map>
#include <set>
#include <vector>

namespace llvm {
class BasicBlock;
}

namespace lathe::refactor {

// Of each block those whose branch decides whether it runs: direct control dependence.
using Controllers = std::map<const llvm::BasicBlock*, std::vector<llvm::BasicBlock*>>;

struct Guards {
  // Scalar parameters that the conditions of the branches are computed from.
  std::set<int> computed;
  // And those that decide which of several values a condition is made of: a counter that one branch raises
  // and another one asks for.
  std::set<int> with_choices;
};

// `controllers`: all blocks whose branches decide whether the instruction runs.
Guards guards_of(const std::vector<llvm::BasicBlock*>& controllers, const Controllers& direct);

} // namespace lathe::refactor
