// Which loops went on: what threads exchange in a loop's first round says little of what the next round does
// to it.
#include "tuner/measure/host_executor/passes/passes.h"

#include "tuner/measure/host_executor/device/lathe_abi.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <set>
#include <vector>

namespace lathe_passes {
namespace {

using namespace llvm;

constexpr unsigned ROUNDS = 3;

// Headers of loops that cannot make so many rounds, whatever the arguments. Of a copy whose variables are in
// registers: as clang writes it, a counter is memory that anybody may change.
std::set<const BasicBlock*> short_loops(Function& function, FunctionAnalysisManager& analyses) {
  ValueToValueMapTy copies;
  Function* copy = CloneFunction(&function, copies);
  FunctionPassManager simplify;
  simplify.addPass(SROAPass(SROAOptions::PreserveCFG));
  simplify.run(*copy, analyses);
  analyses.invalidate(*copy, PreservedAnalyses::none());
  auto& loops = analyses.getResult<LoopAnalysis>(*copy);
  auto& evolution = analyses.getResult<ScalarEvolutionAnalysis>(*copy);
  std::set<const Value*> of_copy;
  for (const Loop* loop : loops.getLoopsInPreorder())
    // That is how often the header is entered.
    if (const unsigned most = evolution.getSmallConstantMaxTripCount(loop); most > 0 && most <= ROUNDS)
      of_copy.insert(loop->getHeader());
  std::set<const BasicBlock*> found;
  for (const BasicBlock& block : function)
    if (of_copy.contains(copies.lookup(&block)))
      found.insert(&block);
  analyses.clear(*copy, copy->getName());
  copy->eraseFromParent();
  return found;
}

// What of one loop is needed to change it: analyses do not outlive the first change.
struct WatchedLoop {
  Function* function = nullptr;
  BasicBlock* header = nullptr;
  std::vector<Instruction*> entries, exits; // branches into it from outside, and out of it
  unsigned line = 0, column = 0;
};

std::vector<WatchedLoop> watched_loops(Function& function, FunctionAnalysisManager& analyses) {
  std::vector<WatchedLoop> found;
  auto& loops = analyses.getResult<LoopAnalysis>(function);
  if (loops.empty())
    return found;
  const std::set<const BasicBlock*> too_short = short_loops(function, analyses);
  for (const Loop* loop : loops.getLoopsInPreorder()) {
    const DebugLoc place = loop->getStartLoc();
    if (!place || place.getLine() == 0 || too_short.contains(loop->getHeader()))
      continue;
    WatchedLoop& watched = found.emplace_back();
    watched.function = &function;
    watched.header = loop->getHeader();
    watched.line = place.getLine();
    watched.column = place.getCol();
    for (BasicBlock* before : predecessors(watched.header))
      if (!loop->contains(before))
        watched.entries.push_back(before->getTerminator());
    SmallVector<BasicBlock*, 8> exiting;
    loop->getExitingBlocks(exiting);
    for (BasicBlock* block : exiting)
      watched.exits.push_back(block->getTerminator());
  }
  return found;
}

Instruction* unwatched(Instruction* instruction) {
  instruction->setNoSanitizeMetadata();
  return instruction;
}

class Marker {
public:
  Marker(const WatchedLoop& loop, Value* mark, GlobalVariable* exchanges)
      : loop_(loop), mark_(mark), exchanges_(exchanges),
        word_(Type::getInt32Ty(loop.function->getContext())) {}

  void run() {
    IRBuilder<> entry(&*loop_.function->getEntryBlock().getFirstInsertionPt());
    entry.SetCurrentDebugLocation({});
    rounds_ = entry.CreateAlloca(word_);
    before_ = entry.CreateAlloca(word_);
    for (Instruction* at : loop_.entries) {
      IRBuilder<> builder(at);
      builder.SetCurrentDebugLocation({});
      unwatched(builder.CreateStore(builder.getInt32(0), rounds_));
      unwatched(builder.CreateStore(exchanges_now(builder), before_));
    }
    for (Instruction* at : loop_.exits) {
      IRBuilder<> builder(at);
      builder.SetCurrentDebugLocation({});
      mark(builder, unwatched(builder.CreateLoad(word_, rounds_)));
    }
    IRBuilder<> builder(&*loop_.header->getFirstInsertionPt());
    builder.SetCurrentDebugLocation({});
    Value* rounds = builder.CreateAdd(unwatched(builder.CreateLoad(word_, rounds_)), builder.getInt32(1));
    unwatched(builder.CreateStore(rounds, rounds_));
    mark(builder, rounds);
  }

private:
  // Volatile: the executor counts while the kernel runs.
  Value* exchanges_now(IRBuilder<>& builder) const {
    return unwatched(builder.CreateLoad(word_, exchanges_, true));
  }

  // `rounds`: how often the loop's header was entered, so that one round less is finished.
  void mark(IRBuilder<>& builder, Value* rounds) const {
    Type* byte = builder.getInt8Ty();
    Value* before = unwatched(builder.CreateLoad(word_, before_));
    Value* exchanges = builder.CreateICmpNE(exchanges_now(builder), before);
    Value* went_on = builder.CreateAnd(exchanges, builder.CreateICmpUGT(rounds, builder.getInt32(ROUNDS)));
    Value* bits = builder.CreateOr(
        builder.CreateSelect(exchanges, builder.getInt8(lathe_host::LOOP_EXCHANGES), builder.getInt8(0)),
        builder.CreateSelect(went_on, builder.getInt8(lathe_host::LOOP_WENT_ON), builder.getInt8(0)));
    Value* old = unwatched(builder.CreateLoad(byte, mark_, true));
    unwatched(builder.CreateStore(builder.CreateOr(old, bits), mark_, true));
  }

  const WatchedLoop& loop_;
  Value* mark_;
  GlobalVariable* exchanges_;
  Type* word_;
  AllocaInst *rounds_ = nullptr, *before_ = nullptr;
};

} // namespace

PreservedAnalyses MarkRounds::run(Module& module, ModuleAnalysisManager& manager) {
  auto& analyses = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  std::vector<Function*> functions; // copies are made while they are looked at
  for (Function& function : module)
    if (!function.isDeclaration() && is_kernel_text(function))
      functions.push_back(&function);
  std::vector<WatchedLoop> loops;
  for (Function* function : functions)
    for (WatchedLoop& loop : watched_loops(*function, analyses))
      loops.push_back(std::move(loop));
  if (loops.empty())
    return PreservedAnalyses::all();
  Type* word = Type::getInt32Ty(module.getContext());
  Type* marks_type = ArrayType::get(Type::getInt8Ty(module.getContext()), loops.size());
  GlobalVariable* marks =
      leave_variable(module, Constant::getNullValue(marks_type), "lathe_loop_marks", false);
  GlobalVariable* exchanges = leave_variable(module, ConstantInt::get(word, 0), "lathe_exchanges", false);
  std::vector<Constant*> places;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    places.push_back(ConstantInt::get(word, loops[i].line));
    places.push_back(ConstantInt::get(word, loops[i].column));
    IRBuilder<> builder(module.getContext());
    Marker(loops[i], builder.CreateConstInBoundsGEP2_64(marks_type, marks, 0, i), exchanges).run();
  }
  leave_variable(module, ConstantArray::get(ArrayType::get(word, places.size()), places), "lathe_loops",
                 true);
  leave_variable(module, ConstantInt::get(word, loops.size()), "lathe_loop_count", true);
  return PreservedAnalyses::none();
}

} // namespace lathe_passes
