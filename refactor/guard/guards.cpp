#include "refactor/guard/guards.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Argument.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

namespace lathe::refactor {

using namespace llvm;

namespace {

// What the block's branch asks for; null where it asks for nothing.
Value* condition_of(const BasicBlock& block) {
  if (const auto* branch = dyn_cast<BranchInst>(block.getTerminator()))
    return branch->isConditional() ? branch->getCondition() : nullptr;
  const auto* choice = dyn_cast<SwitchInst>(block.getTerminator());
  return choice ? choice->getCondition() : nullptr;
}

// `direct`: the branches that decide which value arrives where paths meet are asked, too; none: they are not.
std::set<int> parameters_in(std::vector<Value*> work, const Controllers* direct) {
  std::set<int> parameters;
  SmallPtrSet<Value*, 32> seen;
  const auto add = [&](Value* value) {
    if (value)
      work.push_back(value);
  };
  while (!work.empty()) {
    Value* current = work.back();
    work.pop_back();
    if (!seen.insert(current).second)
      continue;
    if (const auto* argument = dyn_cast<Argument>(current)) {
      if (!argument->getType()->isPointerTy())
        parameters.insert(static_cast<int>(argument->getArgNo()));
      continue;
    }
    auto* instruction = dyn_cast<Instruction>(current);
    if (!instruction)
      continue;
    for (Value* operand : instruction->operands())
      if (!isa<BasicBlock>(operand))
        add(operand);
    const auto* meeting = dyn_cast<PHINode>(instruction);
    if (!meeting || !direct)
      continue;
    for (const BasicBlock* from : meeting->blocks()) {
      add(condition_of(*from));
      if (const auto found = direct->find(from); found != direct->end())
        for (const BasicBlock* controller : found->second)
          add(condition_of(*controller));
    }
  }
  return parameters;
}

} // namespace

Guards guards_of(const std::vector<BasicBlock*>& controllers, const Controllers& direct) {
  std::vector<Value*> conditions;
  for (const BasicBlock* controller : controllers)
    if (Value* condition = condition_of(*controller))
      conditions.push_back(condition);
  return {parameters_in(conditions, nullptr), parameters_in(conditions, &direct)};
}

} // namespace lathe::refactor
