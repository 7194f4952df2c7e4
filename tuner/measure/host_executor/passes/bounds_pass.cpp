// A thread's own arrays, at every access: the bands around them (local_pass.cpp) show what was written beside
// an array, not what was read there, nor what lies further away. Where it is plain which array an address was
// computed from, its distance from the array's beginning is compared with the array's size.
//
// Functions that are handed an array are part of those that hand it to them by then (inline_pass.cpp).
// Distances are summed from the steps of the address and not from the address itself, which would keep the
// array in memory where the optimiser can do without it.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/Analysis/DemandedBits.h>
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <vector>

namespace lathe_passes {
namespace {

using namespace llvm;

// One piece of memory that an instruction reads or writes, `bytes` long.
struct Access {
  Instruction* instruction;
  Value* address;
  Value* bytes;
};

// The instruction has what no sanitizer is to look at: the checks' own, and clang's.
bool is_unwatched(const Instruction& instruction) {
  return instruction.hasMetadata(LLVMContext::MD_nosanitize);
}

// Of how many bytes of a loaded number anything is used: CUTLASS reads what it packs into words as words, and
// takes the low bits of them.
std::uint64_t used_bytes(LoadInst& load, std::uint64_t bytes, DemandedBits& demanded) {
  if (!load.getType()->isIntegerTy())
    return bytes;
  const std::uint64_t bits = demanded.getDemandedBits(&load).getActiveBits();
  return std::clamp<std::uint64_t>((bits + 7) / 8, 1, bytes);
}

void add_accesses(Instruction& instruction, const DataLayout& layout, DemandedBits& demanded,
                  std::vector<Access>& accesses) {
  if (is_unwatched(instruction))
    return;
  const auto add = [&](Value* address, Type* type) {
    const TypeSize size = layout.getTypeStoreSize(type);
    if (size.isScalable())
      return;
    std::uint64_t bytes = size.getFixedValue();
    if (auto* load = dyn_cast<LoadInst>(&instruction))
      bytes = used_bytes(*load, bytes, demanded);
    accesses.push_back(
        {&instruction, address, ConstantInt::get(Type::getInt64Ty(instruction.getContext()), bytes)});
  };
  if (auto* load = dyn_cast<LoadInst>(&instruction))
    add(load->getPointerOperand(), load->getType());
  else if (auto* store = dyn_cast<StoreInst>(&instruction))
    add(store->getPointerOperand(), store->getValueOperand()->getType());
  else if (auto* update = dyn_cast<AtomicRMWInst>(&instruction))
    add(update->getPointerOperand(), update->getType());
  else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    add(exchange->getPointerOperand(), exchange->getNewValOperand()->getType());
  else if (auto* move = dyn_cast<MemIntrinsic>(&instruction)) {
    accesses.push_back({move, move->getRawDest(), move->getLength()});
    if (auto* transfer = dyn_cast<MemTransferInst>(move))
      accesses.push_back({move, transfer->getRawSource(), transfer->getLength()});
  }
}

// What is added to the beginning of a variable's first band.
std::vector<GEPOperator*> steps_to(Value* address) {
  std::vector<GEPOperator*> steps;
  for (; !isa<AllocaInst>(address); address = cast<Operator>(address)->getOperand(0))
    if (auto* step = dyn_cast<GEPOperator>(address))
      steps.push_back(step);
  return steps;
}

void check(const Access& access, AllocaInst& variable, const DataLayout& layout) {
  auto* banded = cast<StructType>(variable.getAllocatedType());
  const std::uint64_t begin = layout.getStructLayout(banded)->getElementOffset(1),
                      size = layout.getTypeAllocSize(banded->getElementType(1));
  IRBuilder<> builder(access.instruction);
  Type* number = builder.getInt64Ty();
  Value* offset = ConstantInt::get(number, -begin, true);
  for (GEPOperator* step : steps_to(access.address))
    offset = builder.CreateAdd(
        offset, builder.CreateSExtOrTrunc(emitGEPOffset(&builder, layout, step, true), number));
  // Both as numbers without a sign: what lies in front of the variable is far behind it.
  Value* bytes = builder.CreateZExtOrTrunc(access.bytes, number);
  Value* whole = ConstantInt::get(number, size);
  Value* outside = builder.CreateOr(builder.CreateICmpUGT(offset, whole),
                                    builder.CreateICmpUGT(bytes, builder.CreateSub(whole, offset)));
  if (auto* known = dyn_cast<ConstantInt>(outside); known && known->isZero())
    return;
  Instruction* then = SplitBlockAndInsertIfThen(outside, access.instruction, false);
  IRBuilder<> inside(then);
  const FunctionCallee report =
      access.instruction->getModule()->getOrInsertFunction("lathe_outside_local", inside.getVoidTy());
  inside.CreateCall(report)->setDebugLoc(access.instruction->getDebugLoc());
}

} // namespace

PreservedAnalyses CheckLocalBounds::run(Function& function, FunctionAnalysisManager& manager) {
  const DataLayout& layout = function.getParent()->getDataLayout();
  DemandedBits& demanded = manager.getResult<DemandedBitsAnalysis>(function);
  std::vector<Access> accesses;
  for (Instruction& instruction : instructions(function))
    add_accesses(instruction, layout, demanded, accesses);
  bool is_changed = false;
  for (const Access& access : accesses)
    if (AllocaInst* variable = banded_variable_of(access.address)) {
      check(access, *variable, layout);
      is_changed = true;
    }
  return is_changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace lathe_passes
