#include "refactor/guard/address_facts.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <utility>

namespace lathe::refactor {

using namespace llvm;

namespace {

// Operations through which an address stays a sum of products.
bool is_linear(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::Shl:
  case Instruction::Or: // of disjoint bits: a sum
  case Instruction::ZExt:
  case Instruction::SExt:
  case Instruction::Trunc:
  case Instruction::PHI:
  case Instruction::Freeze:
  case Instruction::GetElementPtr:
  case Instruction::PtrToInt:
  case Instruction::IntToPtr:
  case Instruction::BitCast:
  case Instruction::AddrSpaceCast:
  case Instruction::Select:
    return true;
  default:
    return false;
  }
}

// Whether this use of a value is the address of an access.
bool is_address(const Use& use) {
  const User* user = use.getUser();
  if (isa<StoreInst>(user))
    return use.getOperandNo() == StoreInst::getPointerOperandIndex();
  return (isa<LoadInst>(user) || isa<AtomicRMWInst>(user) || isa<AtomicCmpXchgInst>(user) ||
          isa<CallBase>(user)) &&
         use.get()->getType()->isPointerTy();
}

// The bits of a value that an operation on it lets through.
unsigned bits_through(const llvm::Value* value) {
  constexpr unsigned ALL = 64;
  const auto* instruction = dyn_cast<Instruction>(value);
  if (!instruction || !value->getType()->isIntegerTy())
    return ALL;
  const unsigned width = value->getType()->getScalarSizeInBits();
  if (isa<ZExtInst>(instruction) || isa<SExtInst>(instruction))
    return instruction->getOperand(0)->getType()->getScalarSizeInBits();
  const auto* operation = dyn_cast<BinaryOperator>(instruction);
  const auto* constant = operation ? dyn_cast<ConstantInt>(operation->getOperand(1)) : nullptr;
  if (constant && operation->getOpcode() == Instruction::And && !constant->isNegative())
    return constant->getValue().getActiveBits();
  if (constant && operation->getOpcode() == Instruction::URem && !constant->isZero())
    return (constant->getValue() - 1).getActiveBits();
  if (constant &&
      (operation->getOpcode() == Instruction::LShr || operation->getOpcode() == Instruction::AShr))
    return width - static_cast<unsigned>(std::min<std::uint64_t>(constant->getZExtValue(), width));
  return width;
}

// The address that an instruction loads an integer from, or null.
llvm::Value* loaded_from(Instruction& instruction) {
  if (auto* load = dyn_cast<LoadInst>(&instruction))
    return load->getPointerOperand();
  auto* call = dyn_cast<CallBase>(&instruction);
  if (!call || call->arg_empty())
    return nullptr;
  const Function* callee = call->getCalledFunction();
  if (callee &&
      (callee->getName().starts_with("llvm.nvvm.ldg") || callee->getName().starts_with("llvm.nvvm.ldu")))
    return call->getArgOperand(0);
  if (const auto* assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
    if (StringRef(assembly->getAsmString()).ltrim(" {\t\n").starts_with("ld."))
      for (llvm::Value* operand : call->args())
        if (operand->getType()->isPointerTy() || operand->getType()->isIntegerTy(64))
          return operand;
  return nullptr;
}

// Whether an instruction divides by this use of a value, or takes a remainder.
bool is_division_by(const Use& use) {
  const auto* operation = dyn_cast<BinaryOperator>(use.getUser());
  if (!operation || use.getOperandNo() != 1)
    return false;
  const auto opcode = operation->getOpcode();
  return opcode == Instruction::SDiv || opcode == Instruction::UDiv || opcode == Instruction::SRem ||
         opcode == Instruction::URem;
}

// What a scalar parameter is for: to scale addresses alone, to divide as well, or for something else.
enum class ScalarUse { scales, divides, other };
ScalarUse use_of(const Argument& parameter) {
  if (!parameter.getType()->isIntegerTy() || parameter.use_empty())
    return ScalarUse::other;
  bool divides = false;
  SmallPtrSet<const llvm::Value*, 32> seen;
  std::vector<const llvm::Value*> work{&parameter};
  while (!work.empty()) {
    const llvm::Value* value = work.back();
    work.pop_back();
    if (!seen.insert(value).second)
      continue;
    for (const Use& use : value->uses()) {
      if (is_address(use))
        continue;
      if (is_division_by(use)) {
        divides = true;
        continue;
      }
      const auto* user = dyn_cast<Instruction>(use.getUser());
      if (!user || !is_linear(*user) || (isa<SelectInst>(user) && use.getOperandNo() == 0))
        return ScalarUse::other;
      work.push_back(user);
    }
  }
  return divides ? ScalarUse::divides : ScalarUse::scales;
}

} // namespace

bool is_stride(const Argument& parameter) {
  return use_of(parameter) == ScalarUse::scales;
}

bool is_divisor(const Argument& parameter) {
  return use_of(parameter) == ScalarUse::divides;
}

void IndexBits::widen(const IndexBits& other) {
  arriving = std::max(arriving, other.arriving);
  is_piece = is_piece && other.is_piece;
}

std::map<std::string, IndexBits> index_bits(KernelIr& kernel, llvm::Value* pointer) {
  // `shifted`: by how much the value is moved up where it is put together from pieces.
  struct Reached {
    llvm::Value* value;
    unsigned bits, shifted;
  };
  std::map<std::string, IndexBits> found;
  std::map<const llvm::Value*, unsigned> most; // bits of the address that each value was reached with
  std::vector<Reached> work{{pointer, 64, 0}};
  while (!work.empty()) {
    const Reached at = work.back();
    work.pop_back();
    auto* instruction = dyn_cast<Instruction>(at.value);
    const unsigned bits = std::min(at.bits, bits_through(at.value) + at.shifted);
    if (!instruction || isa<CmpInst>(instruction) || most[at.value] >= bits)
      continue;
    most[at.value] = bits;
    if (llvm::Value* address = loaded_from(*instruction)) {
      if (!instruction->getType()->isPointerTy())
        for (const std::string& root : kernel.roots(address))
          found[root].widen({bits, bits < instruction->getType()->getScalarSizeInBits()});
      continue;
    }
    unsigned shifted = at.shifted;
    constexpr std::uint64_t PIECE = 8; // smaller shifts are products
    if (instruction->getOpcode() == Instruction::Shl)
      if (const auto* by = dyn_cast<ConstantInt>(instruction->getOperand(1));
          by && by->getZExtValue() >= PIECE && by->getZExtValue() < 64)
        shifted += static_cast<unsigned>(by->getZExtValue());
    for (llvm::Value* operand : instruction->operands())
      if (!isa<BasicBlock>(operand) && !isa<Constant>(operand))
        work.push_back({operand, bits, shifted});
  }
  return found;
}

bool is_launch_wait(const Instruction& instruction) {
  const auto* call = dyn_cast<CallBase>(&instruction);
  const auto* assembly = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && StringRef(assembly->getAsmString()).contains("griddepcontrol.wait");
}

bool is_atomic(const Instruction& instruction) {
  const auto* call = dyn_cast<CallBase>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return isa<AtomicRMWInst>(instruction) || isa<AtomicCmpXchgInst>(instruction) ||
         (callee && callee->getName().starts_with("llvm.nvvm.atomic"));
}

Milestones::Milestones(Function& kernel, bool (*is_one)(const Instruction&)) : tree_(kernel) {
  for (const Instruction& instruction : instructions(kernel))
    if (is_one(instruction))
      places_.push_back(&instruction);
}

bool Milestones::before(const Instruction& instruction) const {
  return std::ranges::any_of(places_, [&](const Instruction* place) {
    return place != &instruction && tree_.dominates(place, &instruction);
  });
}

bool Milestones::may_be_before(const Instruction& instruction) const {
  return std::ranges::any_of(places_, [&](const Instruction* place) {
    return place != &instruction && isPotentiallyReachable(place, &instruction, nullptr, &tree_);
  });
}

} // namespace lathe::refactor
