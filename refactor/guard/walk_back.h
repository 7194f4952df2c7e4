// From a value of LLVM IR to what it is computed from. Used inside the guard only.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Instruction.h>

#include <vector>

namespace lathe::refactor {

// Visits `value` and, from each value for which `visit` returns true, what it is computed from; each value
// once.
template <class Visit> void walk_back(llvm::Value* value, Visit visit) {
  llvm::SmallPtrSet<llvm::Value*, 32> seen;
  std::vector<llvm::Value*> work{value};
  while (!work.empty()) {
    llvm::Value* current = work.back();
    work.pop_back();
    if (!seen.insert(current).second || !visit(current))
      continue;
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(current))
      for (llvm::Value* operand : instruction->operands())
        if (!llvm::isa<llvm::BasicBlock>(operand))
          work.push_back(operand);
  }
}

} // namespace lathe::refactor
