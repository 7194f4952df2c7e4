// A thread's own arrays: on a GPU a write behind one lands in another variable, or in nothing that anybody
// looks at. Here each array or structure stands between two bands of known bytes, looked at where its
// lifetime ends. And what is read before it was written must not be what the compiler happens to find: it is
// the poison that a run chooses.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <vector>

namespace lathe_passes {
namespace {

using namespace llvm;

constexpr std::uint64_t BAND = 64; // bytes on either side, a multiple of every alignment that CUDA knows
constexpr std::uint8_t BAND_BYTE = 0xc5;
constexpr std::uint64_t WIDEST_VALUE_BITS = 128; // of a number, or a vector of a register

Instruction* unwatched(Instruction* instruction) {
  instruction->setNoSanitizeMetadata();
  return instruction;
}

// Where the variable's life begins and ends. Without markers: the whole function.
struct Lifetime {
  std::vector<IntrinsicInst*> starts, ends;
};

Lifetime lifetime_of(AllocaInst& variable) {
  Lifetime lifetime;
  for (User* user : variable.users())
    if (auto* call = dyn_cast<IntrinsicInst>(user)) {
      if (call->getIntrinsicID() == Intrinsic::lifetime_start)
        lifetime.starts.push_back(call);
      else if (call->getIntrinsicID() == Intrinsic::lifetime_end)
        lifetime.ends.push_back(call);
    }
  return lifetime;
}

// Scalars are only ever accessed whole, but where code computes with their address.
bool can_be_overrun(AllocaInst& variable) {
  if (variable.getAllocatedType()->isAggregateType())
    return true;
  return std::any_of(variable.user_begin(), variable.user_end(),
                     [](User* user) { return isa<GetElementPtrInst>(user); });
}

class Watcher {
public:
  Watcher(Function& function, AllocaInst& variable)
      : function_(function), module_(*function.getParent()), variable_(variable),
        lifetime_(lifetime_of(variable)),
        size_(module_.getDataLayout().getTypeAllocSize(variable.getAllocatedType())) {}

  void watch() {
    std::vector<Instruction*> births;
    for (IntrinsicInst* start : lifetime_.starts)
      births.push_back(start->getNextNode());
    if (births.empty()) {
      Instruction* at = variable_.getNextNode();
      while (isa<AllocaInst>(at))
        at = at->getNextNode();
      births.push_back(at);
    }
    AllocaInst* banded = can_be_overrun(variable_) ? add_bands() : nullptr;
    for (Instruction* birth : births)
      poison(*birth, banded);
    if (!banded)
      return;
    for (Instruction* end : deaths())
      check(*end, *banded);
    variable_.eraseFromParent();
  }

private:
  // The variable's uses go to the middle of a larger one.
  AllocaInst* add_bands() {
    LLVMContext& context = function_.getContext();
    Type* band = ArrayType::get(Type::getInt8Ty(context), BAND);
    auto* type = StructType::get(context, {band, variable_.getAllocatedType(), band});
    IRBuilder<> builder(&variable_);
    AllocaInst* larger = builder.CreateAlloca(type);
    larger->setAlignment(variable_.getAlign());
    larger->setMetadata(BANDED, MDNode::get(context, {}));
    Value* middle = builder.CreateStructGEP(type, larger, 1);
    const std::uint64_t whole = module_.getDataLayout().getTypeAllocSize(type);
    for (auto* list : {&lifetime_.starts, &lifetime_.ends})
      for (IntrinsicInst* marker : *list) {
        marker->setArgOperand(0, builder.getInt64(whole));
        marker->setArgOperand(1, larger);
      }
    variable_.replaceAllUsesWith(middle);
    middle_ = middle;
    return larger;
  }

  void poison(Instruction& birth, AllocaInst* banded) {
    IRBuilder<> builder(&birth);
    auto* byte = cast<GlobalVariable>(module_.getOrInsertGlobal("lathe_local_poison", builder.getInt8Ty()));
    Value* value = unwatched(builder.CreateLoad(builder.getInt8Ty(), byte));
    if (banded) {
      const std::uint64_t whole = module_.getDataLayout().getTypeAllocSize(banded->getAllocatedType());
      unwatched(builder.CreateMemSet(banded, builder.getInt8(BAND_BYTE), whole, banded->getAlign()));
    }
    if (!banded && store_poison(builder, value))
      return;
    unwatched(builder.CreateMemSet(banded ? middle_ : &variable_, value, size_, variable_.getAlign()));
  }

  // As one value where the variable is one: it can be promoted then.
  bool store_poison(IRBuilder<>& builder, Value* byte) {
    Type* type = variable_.getAllocatedType();
    const std::uint64_t bits = size_ * 8;
    if (module_.getDataLayout().getTypeSizeInBits(type) != bits || bits > WIDEST_VALUE_BITS)
      return false;
    Type* integer = builder.getIntNTy(static_cast<unsigned>(bits));
    const APInt ones = APInt::getSplat(static_cast<unsigned>(bits), APInt(8, 1));
    Value* bytes = builder.CreateMul(builder.CreateZExt(byte, integer), ConstantInt::get(integer, ones));
    Value* poison =
        type->isPointerTy() ? builder.CreateIntToPtr(bytes, type) : builder.CreateBitCast(bytes, type);
    unwatched(builder.CreateAlignedStore(poison, &variable_, variable_.getAlign()));
    return true;
  }

  std::vector<Instruction*> deaths() {
    std::vector<Instruction*> places;
    for (IntrinsicInst* end : lifetime_.ends)
      places.push_back(end);
    if (places.empty())
      for (BasicBlock& block : function_)
        if (isa<ReturnInst>(block.getTerminator()))
          places.push_back(block.getTerminator());
    return places;
  }

  void check(Instruction& end, AllocaInst& banded) {
    IRBuilder<> builder(&end);
    Type* wide = builder.getIntNTy(static_cast<unsigned>(BAND * 8));
    const APInt kept = APInt::getSplat(static_cast<unsigned>(BAND * 8), APInt(8, BAND_BYTE));
    const auto is_changed = [&](unsigned field) {
      Value* band = builder.CreateStructGEP(banded.getAllocatedType(), &banded, field);
      Value* bytes = unwatched(builder.CreateAlignedLoad(wide, band, Align(1)));
      return builder.CreateICmpNE(bytes, ConstantInt::get(function_.getContext(), kept));
    };
    Value* changed = builder.CreateOr(is_changed(0), is_changed(2));
    Instruction* then = SplitBlockAndInsertIfThen(changed, &end, false);
    IRBuilder<> inside(then);
    const FunctionCallee overrun = module_.getOrInsertFunction("lathe_local_overrun", inside.getVoidTy());
    CallInst* call = inside.CreateCall(overrun);
    call->setDebugLoc(end.getDebugLoc());
  }

  Function& function_;
  Module& module_;
  AllocaInst& variable_;
  Lifetime lifetime_;
  std::uint64_t size_;
  Value* middle_ = nullptr;
};

} // namespace

PreservedAnalyses WatchLocals::run(Function& function, FunctionAnalysisManager&) {
  if (!is_kernel_text(function))
    return PreservedAnalyses::all();
  std::vector<AllocaInst*> variables;
  for (Instruction& instruction : instructions(function))
    if (auto* variable = dyn_cast<AllocaInst>(&instruction); variable && variable->isStaticAlloca() &&
                                                             !variable->isArrayAllocation() &&
                                                             variable->getAlign().value() <= BAND)
      variables.push_back(variable);
  for (AllocaInst* variable : variables)
    Watcher(function, *variable).watch();
  return variables.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

} // namespace lathe_passes
