#include "refactor/guard/uniformity.h"

#include "refactor/guard/code_facts.h"

#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>

namespace lathe::refactor {
namespace {

using namespace llvm;

constexpr unsigned WARP_SIZE = 32, WARP_BITS = 5;
constexpr unsigned GENERIC = 0, GLOBAL = 1, CONSTANT = 4; // address spaces (NVPTX usage guide)

// The special register that a call reads, "tid.x"; empty for everything else.
StringRef special_register(const llvm::Value* value) {
  const auto* call = dyn_cast<CallInst>(value);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  StringRef name = callee ? callee->getName() : StringRef();
  return name.consume_front("llvm.nvvm.read.ptx.sreg.") ? name : StringRef();
}

// What the optimiser makes of a warp's number times a power of two: bits of a thread's place, moved and
// masked, of which none says which lane it is.
bool is_masked_number_of_warp(const llvm::Value* moved, std::uint64_t mask) {
  if (const auto* widened = dyn_cast<ZExtInst>(moved))
    moved = widened->getOperand(0);
  const auto* shift = dyn_cast<BinaryOperator>(moved);
  const auto* places = shift ? dyn_cast<ConstantInt>(shift->getOperand(1)) : nullptr;
  if (!places || special_register(shift->getOperand(0)) != "tid.x" || places->getValue().uge(WARP_SIZE))
    return false;
  const auto lowest = static_cast<unsigned>(llvm::countr_zero(mask)),
             by = static_cast<unsigned>(places->getZExtValue());
  return (shift->getOpcode() == Instruction::LShr && lowest + by >= WARP_BITS) ||
         (shift->getOpcode() == Instruction::Shl && lowest >= WARP_BITS + by);
}

// A thread's place in its block, of which only the warp's is left.
bool is_number_of_warp(const Instruction& instruction) {
  const auto* operation = dyn_cast<BinaryOperator>(&instruction);
  if (!operation)
    return false;
  const llvm::Value* place = operation->getOperand(0);
  if (const auto* widened = dyn_cast<ZExtInst>(place))
    place = widened->getOperand(0);
  const auto* number = dyn_cast<ConstantInt>(operation->getOperand(1));
  if (number && operation->getOpcode() == Instruction::And && number->getBitWidth() <= 64 &&
      is_masked_number_of_warp(place, number->getZExtValue()))
    return true;
  if (!number || special_register(place) != "tid.x")
    return false;
  switch (operation->getOpcode()) {
  case Instruction::LShr:
    return number->getValue().uge(WARP_BITS);
  case Instruction::UDiv:
    return number->getValue().urem(WARP_SIZE) == 0;
  case Instruction::And:
    return (number->getZExtValue() & (WARP_SIZE - 1)) == 0;
  default:
    return false;
  }
}

// A thread's place in its block against where a warp begins: what the optimiser makes of "warp == 0".
bool is_beside_warp(const Instruction& instruction) {
  const auto* comparison = dyn_cast<ICmpInst>(&instruction);
  const auto* number = comparison ? dyn_cast<ConstantInt>(comparison->getOperand(1)) : nullptr;
  if (!number || special_register(comparison->getOperand(0)) != "tid.x")
    return false;
  const std::uint64_t lane = number->getValue().urem(WARP_SIZE);
  switch (comparison->getUnsignedPredicate()) {
  case ICmpInst::ICMP_ULT:
  case ICmpInst::ICMP_UGE:
    return lane == 0;
  case ICmpInst::ICMP_UGT:
  case ICmpInst::ICMP_ULE:
    return lane == WARP_SIZE - 1;
  default:
    return false;
  }
}

bool is_same_for_all(const Instruction& instruction, Together together,
                     const std::array<std::uint32_t, 3>& block) {
  const StringRef name = special_register(&instruction);
  if (name.starts_with("ctaid") || name.starts_with("nctaid") || name.starts_with("ntid"))
    return true;
  const bool is_row_of_warps = block[0] % WARP_SIZE == 0, is_flat = block[1] == 1 && block[2] == 1;
  if (together == Together::block)
    return false;
  return (is_row_of_warps && (name == "tid.y" || name == "tid.z")) ||
         ((is_row_of_warps || is_flat) && (is_number_of_warp(instruction) || is_beside_warp(instruction)));
}

// A call of an intrinsic function that follows from its arguments alone, each a number of the result's type
// or a constant.
bool is_arithmetic(const Instruction& instruction) {
  const auto* call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->doesNotAccessMemory() && !call->isConvergent() && special_register(call).empty() &&
         call->getType()->isIntOrIntVectorTy() && all_of(call->args(), [&](const Use& argument) {
           return isa<Constant>(argument) || argument->getType() == call->getType();
         });
}

// The address of a load that is no instruction of its own: by assembly with a cache hint, or through the
// read-only path. Null for every other call.
llvm::Value* address_of_load(const CallInst& call) {
  const Function* callee = call.getCalledFunction();
  if (callee &&
      (callee->getName().starts_with("llvm.nvvm.ldg") || callee->getName().starts_with("llvm.nvvm.ldu")))
    return call.getArgOperand(0);
  const auto* assembly = dyn_cast<InlineAsm>(call.getCalledOperand());
  bool is_store = false;
  if (!assembly || call.arg_size() != 1 || !call.getArgOperand(0)->getType()->isPointerTy() ||
      !is_plain_access(normal_assembly(std::string_view(assembly->getAsmString())), is_store) || is_store)
    return nullptr;
  return call.getArgOperand(0);
}

// Whether both are one computation of the same values, which nothing but these decides.
bool are_equal(const llvm::Value* one, const llvm::Value* other) {
  const auto *first = dyn_cast<Instruction>(one), *second = dyn_cast<Instruction>(other);
  return first && second && !isa<PHINode>(first) && !first->mayReadOrWriteMemory() &&
         !first->mayHaveSideEffects() && first->isIdenticalToWhenDefined(second);
}

// Where ways meet and each brings the same computation of the same values (`stage + 1`, which the optimiser
// computes on either), the value is the same for all threads whichever way each took. It is computed there
// instead: a value that a way brings was computed since its operands were, for it dominates that way's end.
void compute_at_joins(Function& kernel) {
  const DominatorTree tree(kernel);
  for (BasicBlock& block : kernel)
    for (PHINode& joined : make_early_inc_range(block.phis())) {
      const auto* value = dyn_cast<Instruction>(joined.getIncomingValue(0));
      const BasicBlock::iterator place = block.getFirstInsertionPt();
      if (!value || place == block.end() ||
          !all_of(joined.incoming_values(), [&](const Use& other) { return are_equal(value, other); }) ||
          !all_of(value->operands(), [&](const Use& operand) {
            const auto* before = dyn_cast<Instruction>(operand);
            return !before || tree.properlyDominates(before->getParent(), &block);
          }))
        continue;
      Instruction* again = value->clone();
      again->insertBefore(place);
      joined.replaceAllUsesWith(again);
      joined.eraseFromParent();
    }
}

} // namespace

std::vector<bool> divergent_terminators(const Function& kernel, FunctionAnalysisManager& analyses,
                                        Together together, const std::array<std::uint32_t, 3>& block) {
  ValueToValueMapTy copies;
  const std::unique_ptr<Module> module = CloneModule(*kernel.getParent(), copies);
  auto* copy = cast<Function>(copies[&kernel]);
  compute_at_joins(*copy);
  std::vector<Instruction*> same;
  std::vector<CallBase*> calls;
  std::vector<CallInst*> hinted_loads;
  std::vector<LoadInst*> loads;
  for (Instruction& instruction : instructions(copy)) {
    if (is_same_for_all(instruction, together, block))
      same.push_back(&instruction);
    else if (is_arithmetic(instruction))
      calls.push_back(cast<CallBase>(&instruction));
    else if (auto* call = dyn_cast<CallInst>(&instruction); call && address_of_load(*call))
      hinted_loads.push_back(call);
    else if (auto* load = dyn_cast<LoadInst>(&instruction);
             load && load->isSimple() && load->getPointerAddressSpace() == GENERIC &&
             !isa<AllocaInst>(getUnderlyingObject(load->getPointerOperand())))
      loads.push_back(load);
  }
  // What stands for it is read from constant memory.
  for (Instruction* instruction : same) {
    auto* place = new GlobalVariable(*module, instruction->getType(), true, GlobalValue::ExternalLinkage,
                                     nullptr, "lathe_same", nullptr, GlobalValue::NotThreadLocal, CONSTANT);
    IRBuilder<> builder(instruction);
    instruction->replaceAllUsesWith(builder.CreateLoad(instruction->getType(), place));
  }
  // What is computed does not matter, only from what.
  for (CallBase* call : calls) {
    IRBuilder<> builder(call);
    llvm::Value* sum = Constant::getNullValue(call->getType());
    for (llvm::Value* argument : call->args())
      if (argument->getType() == call->getType())
        sum = builder.CreateAdd(sum, argument);
    call->replaceAllUsesWith(sum);
  }
  for (CallInst* call : hinted_loads) {
    IRBuilder<> builder(call);
    LoadInst* load = builder.CreateLoad(call->getType(), address_of_load(*call));
    call->replaceAllUsesWith(load);
    if (load->getPointerAddressSpace() == GENERIC)
      loads.push_back(load);
  }
  for (LoadInst* load : loads) {
    IRBuilder<> builder(load);
    load->setOperand(0, builder.CreateAddrSpaceCast(load->getPointerOperand(),
                                                    PointerType::get(module->getContext(), GLOBAL)));
  }
  auto& uniformity = analyses.getResult<UniformityInfoAnalysis>(*copy);
  std::vector<bool> divergent;
  for (const BasicBlock& basic_block : *copy)
    divergent.push_back(uniformity.hasDivergentTerminator(basic_block));
  analyses.clear(*copy, copy->getName());
  return divergent;
}

} // namespace lathe::refactor
