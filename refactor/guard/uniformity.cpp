#include "refactor/guard/uniformity.h"

#include "refactor/guard/code_facts.h"
#include "refactor/guard/warp_masks.h"

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
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <map>
#include <memory>
#include <set>

namespace lathe::refactor {
namespace {

using namespace llvm;

constexpr unsigned WARP_SIZE = 32;
constexpr unsigned GENERIC = 0, GLOBAL = 1, CONSTANT = 4; // address spaces (NVPTX usage guide)

// The special register that a call reads, "tid.x"; empty for everything else.
StringRef special_register(const llvm::Value* value) {
  const auto* call = dyn_cast<CallInst>(value);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  StringRef name = callee ? callee->getName() : StringRef();
  return name.consume_front("llvm.nvvm.read.ptx.sreg.") ? name : StringRef();
}

// What the optimiser makes of the number of a group of `lanes` threads (a warp's, a tile's) times a power of
// two: bits of a thread's place, moved and masked, of which none says which lane it is.
bool is_masked_number_of_group(const llvm::Value* moved, std::uint64_t mask, unsigned lanes) {
  if (const auto* widened = dyn_cast<ZExtInst>(moved))
    moved = widened->getOperand(0);
  const auto* shift = dyn_cast<BinaryOperator>(moved);
  const auto* places = shift ? dyn_cast<ConstantInt>(shift->getOperand(1)) : nullptr;
  if (!places || special_register(shift->getOperand(0)) != "tid.x" || places->getValue().uge(WARP_SIZE))
    return false;
  const auto bits = static_cast<unsigned>(llvm::countr_zero(lanes)),
             lowest = static_cast<unsigned>(llvm::countr_zero(mask)),
             by = static_cast<unsigned>(places->getZExtValue());
  return (shift->getOpcode() == Instruction::LShr && lowest + by >= bits) ||
         (shift->getOpcode() == Instruction::Shl && lowest >= bits + by);
}

// A thread's place in its block, of which only the group's is left.
bool is_number_of_group(const Instruction& instruction, unsigned lanes) {
  const auto* operation = dyn_cast<BinaryOperator>(&instruction);
  if (!operation)
    return false;
  const llvm::Value* place = operation->getOperand(0);
  if (const auto* widened = dyn_cast<ZExtInst>(place))
    place = widened->getOperand(0);
  const auto* number = dyn_cast<ConstantInt>(operation->getOperand(1));
  if (number && operation->getOpcode() == Instruction::And && number->getBitWidth() <= 64 &&
      is_masked_number_of_group(place, number->getZExtValue(), lanes))
    return true;
  if (!number || special_register(place) != "tid.x")
    return false;
  switch (operation->getOpcode()) {
  case Instruction::LShr:
    return number->getValue().uge(static_cast<std::uint64_t>(llvm::countr_zero(lanes)));
  case Instruction::UDiv:
    return number->getValue().urem(lanes) == 0;
  case Instruction::And:
    return (number->getZExtValue() & (lanes - 1)) == 0;
  default:
    return false;
  }
}

// A thread's place in its block against where a group begins: what the optimiser makes of "warp == 0".
bool is_beside_group(const Instruction& instruction, unsigned lanes) {
  const auto* comparison = dyn_cast<ICmpInst>(&instruction);
  const auto* number = comparison ? dyn_cast<ConstantInt>(comparison->getOperand(1)) : nullptr;
  if (!number || special_register(comparison->getOperand(0)) != "tid.x")
    return false;
  const std::uint64_t lane = number->getValue().urem(lanes);
  switch (comparison->getUnsignedPredicate()) {
  case ICmpInst::ICMP_ULT:
  case ICmpInst::ICMP_UGE:
    return lane == 0;
  case ICmpInst::ICMP_UGT:
  case ICmpInst::ICMP_ULE:
    return lane == lanes - 1;
  default:
    return false;
  }
}

bool is_same_for_all(const Instruction& instruction, Together together,
                     const std::array<std::uint32_t, 3>& block) {
  const StringRef name = special_register(&instruction);
  if (name.starts_with("ctaid") || name.starts_with("nctaid") || name.starts_with("ntid"))
    return true;
  if (together == Together::block)
    return false;
  const auto lanes = static_cast<unsigned>(together);
  const bool is_row_of_groups = block[0] % lanes == 0, is_flat = block[1] == 1 && block[2] == 1;
  return (is_row_of_groups && (name == "tid.y" || name == "tid.z")) ||
         ((is_row_of_groups || is_flat) &&
          (is_number_of_group(instruction, lanes) || is_beside_group(instruction, lanes)));
}

// A vote among these threads, or more of which they are some: each has the same answer.
bool is_vote_among(const Instruction& instruction, Together together,
                   const std::array<std::uint32_t, 3>& block) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  StringRef name = callee ? callee->getName() : StringRef();
  if (!name.consume_front("llvm.nvvm."))
    return false;
  if (name == "barrier0.popc" || name == "barrier0.and" || name == "barrier0.or")
    return true;
  return together != Together::block && (name.starts_with("vote.") || name.starts_with("redux.sync.")) &&
         lanes_of_mask(*call, block) >= static_cast<unsigned>(together);
}

constexpr unsigned LANE = 2, SEGMENTS = 3, WIDTH_AT = 8; // of an exchange: PTX ISA, "shfl.sync"

// Whether each of these threads is handed the value of a lane that it names, all from the same lanes to
// choose.
bool is_handed_round(const CallInst& call, Together together, const std::array<std::uint32_t, 3>& block) {
  const Function* callee = call.getCalledFunction();
  const auto* segments =
      callee && callee->getName().starts_with("llvm.nvvm.shfl.sync.idx.") && call.arg_size() == 4
          ? dyn_cast<ConstantInt>(call.getArgOperand(SEGMENTS))
          : nullptr;
  const bool is_number = call.getType()->isIntegerTy() || call.getType()->isFloatTy();
  if (!segments || !is_number || together == Together::block)
    return false;
  const auto lanes = static_cast<std::uint64_t>(together);
  const bool is_within = WARP_SIZE - (segments->getZExtValue() >> WIDTH_AT) >= lanes;
  return is_within && lanes_of_mask(call, block) >= lanes;
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

// A thread's place is the same number wherever it is read: it is read once, at the kernel's start, and is one
// value where ways meet that the optimiser let read it each.
void read_registers_once(Function& kernel) {
  std::map<StringRef, CallInst*> first;
  std::vector<CallInst*> reads;
  for (Instruction& instruction : instructions(kernel))
    if (special_register(&instruction).starts_with("tid."))
      reads.push_back(cast<CallInst>(&instruction));
  for (CallInst* read : reads) {
    const auto [known, is_new] = first.try_emplace(special_register(read), read);
    if (is_new) {
      read->moveBefore(kernel.getEntryBlock(), kernel.getEntryBlock().getFirstInsertionPt());
    } else {
      read->replaceAllUsesWith(known->second);
      read->eraseFromParent();
    }
  }
  for (BasicBlock& block : kernel)
    for (PHINode& joined : make_early_inc_range(block.phis()))
      if (llvm::Value* value = joined.hasConstantValue();
          value && special_register(value).starts_with("tid.")) {
        joined.replaceAllUsesWith(value);
        joined.eraseFromParent();
      }
}

// The predecessors of a block, together where they bring the same values for all that is joined there. Empty
// where one of them comes in by several edges.
std::vector<SmallVector<BasicBlock*>> predecessors_by_values(BasicBlock& block) {
  std::map<std::vector<llvm::Value*>, SmallVector<BasicBlock*>> by_values;
  std::set<BasicBlock*> seen;
  for (BasicBlock* before : predecessors(&block)) {
    if (!seen.insert(before).second)
      return {};
    std::vector<llvm::Value*> values;
    for (PHINode& joined : block.phis())
      values.push_back(joined.getIncomingValueForBlock(before));
    by_values[values].push_back(before);
  }
  std::vector<SmallVector<BasicBlock*>> groups;
  for (const auto& [values, group] : by_values)
    groups.push_back(group);
  return groups;
}

// Ways that bring the same values to where more ways meet (`continue` behind what one thread stores, in a
// loop that the optimiser unrolled) meet each other first. The function computes the same; and how threads
// came to that place no longer counts as what they bring.
void join_equals_first(Function& kernel) {
  std::vector<BasicBlock*> joins;
  for (BasicBlock& block : kernel)
    if (!block.phis().empty() && !block.isEHPad())
      joins.push_back(&block);
  for (BasicBlock* block : joins) {
    const std::vector<SmallVector<BasicBlock*>> groups = predecessors_by_values(*block);
    for (const SmallVector<BasicBlock*>& group : groups)
      if (groups.size() > 1 && group.size() > 1 && all_of(group, [](BasicBlock* before) {
            return isa<BranchInst, SwitchInst>(before->getTerminator());
          }))
        SplitBlockPredecessors(block, group, ".equal");
  }
}

} // namespace

std::vector<bool> divergent_terminators(const Function& kernel, FunctionAnalysisManager& analyses,
                                        Together together, const std::array<std::uint32_t, 3>& block) {
  ValueToValueMapTy copies;
  const std::unique_ptr<Module> module = CloneModule(*kernel.getParent(), copies);
  auto* copy = cast<Function>(copies[&kernel]);
  std::vector<const BasicBlock*> blocks; // the kernel's own
  for (const BasicBlock& basic_block : *copy)
    blocks.push_back(&basic_block);
  read_registers_once(*copy);
  join_equals_first(*copy);
  compute_at_joins(*copy);
  std::vector<Instruction*> same;
  std::vector<CallBase*> calls;
  std::vector<CallInst*> hinted_loads;
  std::vector<LoadInst*> loads;
  std::vector<CallInst*> handed;
  for (Instruction& instruction : instructions(copy)) {
    auto* const called = dyn_cast<CallInst>(&instruction);
    if (is_same_for_all(instruction, together, block) || is_vote_among(instruction, together, block))
      same.push_back(&instruction);
    else if (called && is_handed_round(*called, together, block))
      handed.push_back(called);
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
  // All that name the same lane are handed the same.
  for (CallInst* call : handed) {
    IRBuilder<> builder(call);
    llvm::Value* lane = call->getArgOperand(LANE);
    call->replaceAllUsesWith(call->getType()->isFloatTy() ? builder.CreateUIToFP(lane, call->getType())
                                                          : builder.CreateZExtOrTrunc(lane, call->getType()));
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
  for (const BasicBlock* basic_block : blocks)
    divergent.push_back(uniformity.hasDivergentTerminator(*basic_block));
  analyses.clear(*copy, copy->getName());
  return divergent;
}

} // namespace lathe::refactor
