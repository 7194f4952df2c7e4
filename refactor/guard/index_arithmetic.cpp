#include "refactor/guard/index_arithmetic.h"

#include "refactor/guard/walk_back.h"

#include <fmt/ranges.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

namespace lathe::refactor {

using namespace llvm;

namespace {

// The lesser or the greater of two integers.
bool is_limit(const CallBase& call) {
  return isa<MinMaxIntrinsic>(call);
}

// The name of a size or a block index; empty for anything else.
std::string name_of(const llvm::Value* value) {
  if (const auto* argument = dyn_cast<Argument>(value))
    return "parameter " + std::to_string(argument->getArgNo() + 1);
  const auto* call = dyn_cast<CallBase>(value);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  StringRef name = callee ? callee->getName() : "";
  return name.consume_front("llvm.nvvm.read.ptx.sreg.ctaid.") ? "blockIdx." + name.str() : std::string();
}

// Sizes and block indices that an integer is computed from; with `limits`, also by way of minima and maxima.
// Returns whether something that was loaded has a part in it.
bool collect_names(llvm::Value* value, std::set<std::string>& names, bool limits = false) {
  bool is_loaded = false;
  walk_back(value, [&](llvm::Value* current) {
    if (std::string name = name_of(current); !name.empty())
      names.insert(std::move(name));
    is_loaded |= isa<LoadInst>(current);
    if (const auto* call = dyn_cast<CallBase>(current)) {
      is_loaded |= call->mayReadFromMemory();
      return limits && is_limit(*call);
    }
    return !isa<LoadInst>(current) && !isa<CmpInst>(current);
  });
  return is_loaded;
}

// The value that a conversion or a product with a constant passes on; null for anything else.
llvm::Value* scaled(llvm::Value* value) {
  if (isa<CastInst>(value) || isa<FreezeInst>(value))
    return cast<Instruction>(value)->getOperand(0);
  auto* operation = dyn_cast<BinaryOperator>(value);
  const bool is_product =
      operation && (operation->getOpcode() == Instruction::Mul || operation->getOpcode() == Instruction::Shl);
  return is_product && isa<ConstantInt>(operation->getOperand(1)) ? operation->getOperand(0) : nullptr;
}

void collect_factors(llvm::Value* value, SizeProduct& product) {
  while (llvm::Value* inside = scaled(value))
    value = inside;
  auto* operation = dyn_cast<BinaryOperator>(value);
  if (operation && operation->getOpcode() == Instruction::Mul) {
    collect_factors(operation->getOperand(0), product);
    collect_factors(operation->getOperand(1), product);
  } else if (std::string name = name_of(value); !name.empty()) {
    product.plain.insert(std::move(name));
  } else if (!isa<Constant>(value)) {
    product.has_others = true;
    product.is_loaded |= collect_names(value, product.within);
  }
}

// The bits that are kept of an integer of more: by a conversion, or as the optimiser writes one to 16 bits
// and back (x << 16 >> 16, x & 0xffff). 0: none are lost.
unsigned bits_kept(const llvm::Value* value) {
  constexpr std::uint64_t SHORT = 16, OF_SHORT = 0xffff;
  if (isa<TruncInst>(value))
    return value->getType()->getScalarSizeInBits();
  const auto* operation = dyn_cast<BinaryOperator>(value);
  const auto* number = operation ? dyn_cast<ConstantInt>(operation->getOperand(1)) : nullptr;
  if (!number || number->getBitWidth() <= SHORT)
    return 0;
  if (operation->getOpcode() == Instruction::And)
    return number->equalsInt(OF_SHORT) ? SHORT : 0;
  const auto* moved = dyn_cast<BinaryOperator>(operation->getOperand(0));
  return operation->getOpcode() == Instruction::AShr && number->equalsInt(number->getBitWidth() - SHORT) &&
                 moved && moved->getOpcode() == Instruction::Shl && moved->getOperand(1) == number
             ? SHORT
             : 0;
}

} // namespace

std::string SizeProduct::text() const {
  return fmt::format("{}", fmt::join(names, " * "));
}

bool SizeProduct::has_factors_of(const SizeProduct& other) const {
  const auto is_block_index = [](const std::string& name) { return name.starts_with("blockIdx"); };
  return std::ranges::includes(plain, other.plain) && (has_others || !other.has_others) &&
         (is_loaded || !other.is_loaded) && std::ranges::all_of(other.within, [&](const std::string& name) {
           return !is_block_index(name) || within.contains(name);
         });
}

unsigned bits_lost(const SizeProduct& product, const std::set<SizeProduct>& raw) {
  unsigned widest = 0;
  bool has_narrow = false, is_same = false, has_factors = false;
  for (const SizeProduct& other : raw) {
    const bool is_narrow = other.bits <= product.bits;
    has_factors |= is_narrow && other.has_factors_of(product);
    if (other.names != product.names)
      continue;
    has_narrow |= is_narrow;
    widest = std::max(widest, is_narrow ? 0 : other.bits);
    is_same |= !is_narrow && other.plain == product.plain && other.within == product.within &&
               other.is_loaded == product.is_loaded;
  }
  const bool is_lost = is_same ? !has_narrow || !has_factors : !has_narrow && !has_factors;
  return is_lost ? widest : 0;
}

std::set<NarrowIndex> narrow_indices(llvm::Value* pointer) {
  constexpr unsigned WIDE = 64, SHORT = 16;
  std::set<NarrowIndex> found;
  walk_back(pointer, [&](llvm::Value* current) {
    const unsigned kept = bits_kept(current);
    if ((kept > 0 || isa<BinaryOperator>(current)) && current->getType()->isIntegerTy() &&
        current->getType()->getIntegerBitWidth() < WIDE) {
      NarrowIndex index{{}, kept > 0 ? kept : current->getType()->getIntegerBitWidth(), kept > 0};
      const bool is_short = index.is_cut && index.bits == SHORT; // what is masked the optimiser keeps in 8
      collect_names(current, index.factors, is_short);
      // One size alone or a block's number has its type's bits, unless it is cut to fewer than sizes have.
      if (index.factors.size() >= 2 || (is_short && !index.factors.empty()))
        found.insert(std::move(index));
    }
    if (const auto* call = dyn_cast<CallBase>(current))
      return is_limit(*call);
    return !isa<LoadInst>(current);
  });
  return found;
}

std::optional<SizeProduct> size_product(BinaryOperator& operation) {
  if (operation.getOpcode() != Instruction::Mul || isa<Constant>(operation.getOperand(0)) ||
      isa<Constant>(operation.getOperand(1)))
    return std::nullopt;
  std::set<std::string> left, right;
  collect_names(operation.getOperand(0), left);
  collect_names(operation.getOperand(1), right);
  SizeProduct product;
  product.names = left;
  product.names.insert(right.begin(), right.end());
  if (left.empty() || right.empty() || product.names.size() < 2)
    return std::nullopt;
  collect_factors(&operation, product);
  product.bits = operation.getType()->getScalarSizeInBits();
  return product;
}

} // namespace lathe::refactor
