#include "refactor/guard/guards.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Argument.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <string>

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

// The conditions that decide, directly or by way of others, whether a block runs.
template <class Add> void add_conditions(const BasicBlock* block, const Controllers& direct, const Add& add) {
  SmallPtrSet<const BasicBlock*, 16> seen;
  std::vector<const BasicBlock*> work{block};
  while (!work.empty()) {
    const auto found = direct.find(work.back());
    work.pop_back();
    if (found == direct.end())
      continue;
    for (const BasicBlock* controller : found->second)
      if (seen.insert(controller).second) {
        add(condition_of(*controller));
        work.push_back(controller);
      }
  }
}

// The array in shared memory that is accessed; null for other memory.
const Value* shared_array(const Value* pointer) {
  constexpr unsigned SHARED = 3; // address space (NVPTX usage guide)
  const auto* array = dyn_cast<GlobalVariable>(getUnderlyingObject(pointer));
  return array && array->getAddressSpace() == SHARED ? array : nullptr;
}

// Where an instruction changes memory; null for others.
const Value* changed_place(const Instruction& instruction) {
  if (const auto* store = dyn_cast<StoreInst>(&instruction))
    return store->getPointerOperand();
  if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction))
    return update->getPointerOperand();
  const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction);
  return exchange ? exchange->getPointerOperand() : nullptr;
}

// What the threads of a block left in shared memory is theirs: the conditions under which it was changed
// decide what is read there, as a counter's do that is a variable.
template <class Add> void add_changes(const LoadInst& load, const Controllers& direct, const Add& add) {
  const Value* array = shared_array(load.getPointerOperand());
  if (!array)
    return;
  for (const Instruction& instruction : instructions(*load.getFunction()))
    if (const Value* place = changed_place(instruction); place && shared_array(place) == array)
      add_conditions(instruction.getParent(), direct, add);
}

// The conditions that decide whether a value arrives from a block where paths meet.
template <class Add> void add_deciding(const BasicBlock* from, const Controllers& direct, const Add& add) {
  add(condition_of(*from));
  if (const auto found = direct.find(from); found != direct.end())
    for (const BasicBlock* controller : found->second)
      add(condition_of(*controller));
}

// `direct`: the branches that decide which value arrives where paths meet are asked, too, and those that
// decide what is left in shared memory; none: they are not.
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
    const auto* load = dyn_cast<LoadInst>(instruction);
    if (load && direct)
      add_changes(*load, *direct, add);
    const auto* meeting = dyn_cast<PHINode>(instruction);
    if (!meeting || !direct)
      continue;
    for (const BasicBlock* from : meeting->blocks())
      add_deciding(from, *direct, add);
  }
  return parameters;
}

// What a value is computed from.
struct Origins {
  std::set<int> parameters;
  std::set<std::string> places; // special registers: "tid.x", "ctaid.y"
  bool others = false;          // memory, other threads
};

// `through_memory`: what is loaded is computed from its address.
Origins origins_of(Value* value, bool through_memory) {
  Origins origins;
  SmallPtrSet<Value*, 32> seen;
  std::vector<Value*> work{value};
  while (!work.empty()) {
    Value* current = work.back();
    work.pop_back();
    if (!seen.insert(current).second)
      continue;
    if (const auto* argument = dyn_cast<Argument>(current); argument && !argument->getType()->isPointerTy())
      origins.parameters.insert(static_cast<int>(argument->getArgNo()));
    const auto* instruction = dyn_cast<Instruction>(current);
    if (!instruction)
      continue;
    const auto* call = dyn_cast<CallBase>(instruction);
    StringRef name = call && call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
    if (name.consume_front("llvm.nvvm.read.ptx.sreg."))
      origins.places.insert(name.str());
    else if (instruction->mayReadOrWriteMemory() || (call && call->isConvergent()))
      origins.others = true;
    if (!through_memory && (isa<LoadInst>(instruction) || name.starts_with("llvm.nvvm.ldg")))
      continue;
    // What decides between two addresses is in neither, as where ways meet.
    const auto* choice = dyn_cast<SelectInst>(instruction);
    const Value* decides = through_memory && choice ? choice->getCondition() : nullptr;
    for (Value* operand : instruction->operands())
      if (!isa<BasicBlock>(operand) && operand != decides)
        work.push_back(operand);
  }
  return origins;
}

// By what a number is divided, whose remainder the operation computes: `x % n`, or `x - x / n * n`, which is
// what an optimiser makes of it beside a quotient; null for other operations.
Value* divisor_of_remainder(Value* operation) {
  using namespace PatternMatch;
  Value *number = nullptr, *divisor = nullptr;
  if (match(operation, m_IRem(m_Value(), m_Value(divisor))))
    return divisor;
  const auto quotient = m_IDiv(m_Deferred(number), m_Value(divisor));
  const bool is_rest = match(operation, m_Sub(m_Value(number), m_c_Mul(quotient, m_Deferred(divisor))));
  return is_rest ? divisor : nullptr;
}

// The comparisons that a condition joins by "and", "or" and "not".
std::vector<Value*> comparisons_of(Value* condition) {
  std::vector<Value*> found;
  SmallPtrSet<Value*, 16> seen;
  std::vector<Value*> work{condition};
  while (!work.empty()) {
    Value* current = work.back();
    work.pop_back();
    if (isa<Constant>(current) || !seen.insert(current).second)
      continue;
    const auto* operation = dyn_cast<Instruction>(current);
    const bool joins = operation && current->getType()->isIntegerTy(1) &&
                       (isa<BinaryOperator>(operation) || isa<SelectInst>(operation));
    if (!joins)
      found.push_back(current);
    else
      work.insert(work.end(), operation->op_begin(), operation->op_end());
  }
  return found;
}

} // namespace

std::set<int> idle_guards(const std::vector<BasicBlock*>& controllers, Value* address) {
  const Origins of_address = origins_of(address, true);
  std::set<int> idle, bounding;
  for (const BasicBlock* controller : controllers) {
    Value* condition = condition_of(*controller);
    if (!condition)
      continue;
    for (Value* comparison : comparisons_of(condition)) {
      // Where the number that is asked about was loaded from, bounds nothing.
      const Origins asked = origins_of(comparison, false);
      const bool meets = std::ranges::any_of(
          asked.places, [&](const std::string& place) { return of_address.places.contains(place); });
      auto& parameters = asked.places.empty() || asked.others || meets ? bounding : idle;
      parameters.insert(asked.parameters.begin(), asked.parameters.end());
    }
  }
  std::erase_if(idle, [&](int parameter) { return bounding.contains(parameter); });
  return idle;
}

std::set<int> bounds_in_address(Value* address, const Controllers& direct) {
  std::set<int> bounds;
  const auto add = [&](Value* value) {
    if (value)
      bounds.merge(origins_of(value, false).parameters);
  };
  SmallPtrSet<Value*, 32> seen;
  std::vector<Value*> work{address};
  while (!work.empty()) {
    auto* current = dyn_cast<Instruction>(work.back());
    work.pop_back();
    // What is loaded is no longer under the bound of the place that it was loaded from.
    if (!current || !seen.insert(current).second || isa<LoadInst>(current))
      continue;
    add(divisor_of_remainder(current));
    if (auto* limit = dyn_cast<MinMaxIntrinsic>(current)) {
      add(limit->getLHS());
      add(limit->getRHS());
    } else if (auto* choice = dyn_cast<SelectInst>(current)) {
      add(choice->getCondition());
    } else if (const auto* meeting = dyn_cast<PHINode>(current)) {
      for (const BasicBlock* from : meeting->blocks())
        add_deciding(from, direct, add);
    }
    for (Value* operand : current->operands())
      if (!isa<BasicBlock>(operand))
        work.push_back(operand);
  }
  return bounds;
}

Guards guards_of(const std::vector<BasicBlock*>& controllers, const Controllers& direct) {
  std::vector<Value*> conditions;
  for (const BasicBlock* controller : controllers)
    if (Value* condition = condition_of(*controller))
      conditions.push_back(condition);
  return {parameters_in(conditions, nullptr), parameters_in(conditions, &direct)};
}

} // namespace lathe::refactor
