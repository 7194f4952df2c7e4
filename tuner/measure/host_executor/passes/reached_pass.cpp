// Which pieces of a kernel's text ran: code that no run has entered has not been tested.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace lathe_passes {
namespace {

using namespace llvm;

// The first place in the text that a block stands for; none for what clang added to report undefined
// behaviour.
const DILocation* place_of(const BasicBlock& block) {
  for (const Instruction& instruction : block)
    if (const auto* call = dyn_cast<CallBase>(&instruction);
        call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with("__ubsan"))
      return nullptr;
  for (const Instruction& instruction : block)
    if (const DILocation* location = instruction.getDebugLoc(); location && location->getLine() > 0)
      return location;
  return nullptr;
}

// Blocks that some value of the arguments may lead to: conditions that are already constants lead one way.
std::vector<BasicBlock*> live_blocks(Function& function) {
  std::vector<BasicBlock*> found{&function.getEntryBlock()};
  SmallPtrSet<BasicBlock*, 32> seen{found.front()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto* branch = dyn_cast<BranchInst>(found[i]->getTerminator());
    const auto* condition =
        branch && branch->isConditional() ? dyn_cast<ConstantInt>(branch->getCondition()) : nullptr;
    for (unsigned s = 0; s < found[i]->getTerminator()->getNumSuccessors(); ++s)
      if ((!condition || s == (condition->isZero() ? 1u : 0u)) &&
          seen.insert(found[i]->getTerminator()->getSuccessor(s)).second)
        found.push_back(found[i]->getTerminator()->getSuccessor(s));
  }
  return found;
}

} // namespace

PreservedAnalyses MarkReached::run(Module& module, ModuleAnalysisManager&) {
  LLVMContext& context = module.getContext();
  Type* word = Type::getInt32Ty(context);
  std::vector<BasicBlock*> blocks;
  std::vector<Constant*> places;
  for (Function& function : module) {
    if (function.isDeclaration() || !is_kernel_text(function))
      continue;
    const std::size_t entry = blocks.size();
    for (BasicBlock* block : live_blocks(function))
      if (const DILocation* location = place_of(*block)) {
        blocks.push_back(block);
        places.push_back(ConstantInt::get(word, location->getLine()));
        places.push_back(ConstantInt::get(word, location->getColumn()));
        places.push_back(ConstantInt::get(word, entry));
      }
  }
  if (blocks.empty())
    return PreservedAnalyses::all();
  Type* marks = ArrayType::get(Type::getInt8Ty(context), blocks.size());
  GlobalVariable* reached = leave_variable(module, Constant::getNullValue(marks), "lathe_reached", false);
  leave_variable(module, ConstantArray::get(ArrayType::get(word, places.size()), places), "lathe_places",
                 true);
  leave_variable(module, ConstantInt::get(word, blocks.size()), "lathe_place_count", true);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    IRBuilder<> builder(&*blocks[i]->getFirstInsertionPt());
    builder.SetCurrentDebugLocation({});
    Value* mark = builder.CreateConstInBoundsGEP2_64(marks, reached, 0, i);
    // Volatile: a mark says that the block ran, and must not move to where another does.
    builder.CreateStore(builder.getInt8(1), mark, true)->setNoSanitizeMetadata();
  }
  return PreservedAnalyses::none();
}

} // namespace lathe_passes
