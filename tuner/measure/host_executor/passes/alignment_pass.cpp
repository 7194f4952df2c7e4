// A GPU traps on a vector access (uint4, float4, ...) whose address is not aligned to it. clang's own
// alignment check sees scalar accesses only: the copy of a structure becomes a memcpy that nothing checks.
// Before the optimiser runs, each such copy still carries the alignments of its two sides.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace lathe_passes {
namespace {

using namespace llvm;

void announce(Instruction& before, Value* address, MaybeAlign alignment) {
  if (!alignment || alignment->value() == 1 || isa<AllocaInst>(address->stripInBoundsOffsets()))
    return;
  IRBuilder<> builder(&before);
  Module& module = *before.getModule();
  const FunctionCallee check = module.getOrInsertFunction("lathe_check_alignment", builder.getVoidTy(),
                                                          builder.getPtrTy(), builder.getInt32Ty());
  CallInst* call =
      builder.CreateCall(check, {address, builder.getInt32(static_cast<unsigned>(alignment->value()))});
  call->setDebugLoc(before.getDebugLoc());
}

} // namespace

PreservedAnalyses AnnounceAlignment::run(Function& function, FunctionAnalysisManager&) {
  // The executor's own functions are not instrumented.
  if (!function.hasFnAttribute(Attribute::SanitizeThread))
    return PreservedAnalyses::all();
  std::vector<MemIntrinsic*> copies;
  for (Instruction& instruction : instructions(function))
    if (auto* copy = dyn_cast<MemIntrinsic>(&instruction))
      copies.push_back(copy);
  for (MemIntrinsic* copy : copies) {
    announce(*copy, copy->getDest(), copy->getDestAlign());
    if (auto* transfer = dyn_cast<MemTransferInst>(copy))
      announce(*copy, transfer->getSource(), transfer->getSourceAlign());
  }
  return copies.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

} // namespace lathe_passes
