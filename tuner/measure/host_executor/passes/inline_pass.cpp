// Functions that are handed the address of a thread's own array are put into their callers before
// bounds_pass.cpp looks: which array an address belongs to is only known there. The optimiser would put most
// of them there anyway, when it is too late for checks.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/Analysis/InlineCost.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <vector>

namespace lathe_passes {
namespace {

using namespace llvm;

// What a thread hands on through more functions than this is left to the checks at run time.
constexpr int DEEPEST = 8;
// Instructions, before any optimisation, of a function that is put into another one, and of what that may
// become.
constexpr unsigned LARGEST_CALLEE = 2000, LARGEST_CALLER = 40000;

// Variables that are only loaded and stored become values, so that an address that was kept in one is seen.
void promote_variables(Function& function) {
  DominatorTree dominators(function);
  while (true) {
    std::vector<AllocaInst*> variables;
    for (Instruction& instruction : function.getEntryBlock())
      if (auto* variable = dyn_cast<AllocaInst>(&instruction); variable && isAllocaPromotable(variable))
        variables.push_back(variable);
    if (variables.empty())
      return;
    PromoteMemToReg(variables, dominators);
  }
}

bool is_handed_a_local(const CallBase& call) {
  return std::any_of(call.arg_begin(), call.arg_end(), [](const Use& argument) {
    return argument->getType()->isPointerTy() && banded_variable_of(argument.get()) != nullptr;
  });
}

bool may_be_put_into(const CallBase& call, Function& caller) {
  Function* callee = call.getCalledFunction();
  return callee && callee != &caller && !callee->isDeclaration() &&
         !callee->hasFnAttribute(Attribute::NoInline) && !call.hasFnAttr(Attribute::NoInline) &&
         AttributeFuncs::areInlineCompatible(caller, *callee) && isInlineViable(*callee).isSuccess() &&
         callee->getInstructionCount() <= LARGEST_CALLEE;
}

bool put_functions_into(Function& caller) {
  std::vector<CallBase*> calls;
  for (Instruction& instruction : instructions(caller))
    if (auto* call = dyn_cast<CallBase>(&instruction);
        call && is_handed_a_local(*call) && may_be_put_into(*call, caller))
      calls.push_back(call);
  bool is_changed = false;
  for (CallBase* call : calls) {
    if (caller.getInstructionCount() > LARGEST_CALLER)
      break;
    InlineFunctionInfo information;
    is_changed = InlineFunction(*call, information).isSuccess() || is_changed;
  }
  return is_changed;
}

} // namespace

AllocaInst* banded_variable_of(Value* address) {
  while (isa<GEPOperator>(address) || isa<AddrSpaceCastOperator>(address))
    address = cast<Operator>(address)->getOperand(0);
  auto* variable = dyn_cast<AllocaInst>(address);
  return variable && variable->hasMetadata(BANDED) ? variable : nullptr;
}

PreservedAnalyses InlineForLocals::run(Function& function, FunctionAnalysisManager&) {
  if (!is_kernel_text(function))
    return PreservedAnalyses::all();
  promote_variables(function);
  for (int depth = 0; depth < DEEPEST && put_functions_into(function); ++depth)
    promote_variables(function);
  return PreservedAnalyses::none();
}

} // namespace lathe_passes
