// Which parameters of the kernel decide whether an instruction runs.
#pragma once

#include <map>
#include <set>
#include <vector>

namespace llvm {
class BasicBlock;
class Value;
} // namespace llvm

namespace lathe::refactor {

// Of each block those whose branch decides whether it runs: direct control dependence.
using Controllers = std::map<const llvm::BasicBlock*, std::vector<llvm::BasicBlock*>>;

struct Guards {
  // Scalar parameters that the conditions of the branches are computed from.
  std::set<int> computed;
  // And those that decide which of several values a condition is made of: a counter that one branch raises
  // and another one asks for, in shared memory too.
  std::set<int> with_choices;
};

// `controllers`: all blocks whose branches decide whether the instruction runs.
Guards guards_of(const std::vector<llvm::BasicBlock*>& controllers, const Controllers& direct);

// Of the parameters among `Guards::computed` those that bound nothing of an address: every comparison that
// they are part of asks for places of threads and blocks alone, none of which the address is computed from.
// What is read there is read by other threads at the same places, which the parameter does not turn away.
std::set<int> idle_guards(const std::vector<llvm::BasicBlock*>& controllers, llvm::Value* address);

// Parameters that an address is kept under by how it is computed, as behind a comparison: by which a number
// is taken as a remainder or a minimum, or that decide between two values or how often a loop changes one.
std::set<int> bounds_in_address(llvm::Value* address, const Controllers& direct);

} // namespace lathe::refactor
