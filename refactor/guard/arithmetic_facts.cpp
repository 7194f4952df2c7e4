#include "refactor/guard/arithmetic_facts.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/raw_ostream.h>

#include <initializer_list>
#include <vector>

namespace lathe::refactor {
namespace {

using namespace llvm;

// A sum's terms with their signs, however it is written: a + b, a - b, __fadd_rn(a, -b).
struct Term {
  const llvm::Value* value;
  bool negative;
};

Term term_of(const llvm::Value* value, bool negative) {
  if (const auto* operation = dyn_cast<UnaryOperator>(value);
      operation && operation->getOpcode() == Instruction::FNeg)
    return {operation->getOperand(0), !negative};
  return {value, negative};
}

bool calls(const llvm::Value* value, std::initializer_list<StringRef> parts) {
  const auto* call = dyn_cast<CallBase>(value);
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && llvm::any_of(parts, [&](StringRef part) { return callee->getName().contains(part); });
}

std::vector<Term> terms_of(const llvm::Value* value) {
  if (const auto* operation = dyn_cast<BinaryOperator>(value);
      operation &&
      (operation->getOpcode() == Instruction::FAdd || operation->getOpcode() == Instruction::FSub))
    return {term_of(operation->getOperand(0), false),
            term_of(operation->getOperand(1), operation->getOpcode() == Instruction::FSub)};
  if (calls(value, {"nvvm.add.rn.", "nv_fadd_rn", "nv_dadd_rn"}))
    return {term_of(cast<CallBase>(value)->getArgOperand(0), false),
            term_of(cast<CallBase>(value)->getArgOperand(1), false)};
  if (calls(value, {"nv_fsub_rn", "nv_dsub_rn"}))
    return {term_of(cast<CallBase>(value)->getArgOperand(0), false),
            term_of(cast<CallBase>(value)->getArgOperand(1), true)};
  return {};
}

// What is left of a sum once one of its own terms is taken away again: its rounding error, or what was added
// less that (T. J. Dekker, "A floating-point technique for extending the available precision", 1971). No
// compiler that keeps the order of operations makes it vanish.
bool recovers_error_of_sum(const llvm::Value& value) {
  const std::vector<Term> outer = terms_of(&value);
  for (std::size_t i = 0; i < outer.size(); ++i) {
    const Term& sum = outer[i];
    const Term& other = outer[1 - i];
    for (const Term& inner : terms_of(sum.value))
      if (inner.value == other.value && (inner.negative != sum.negative) != other.negative)
        return true;
  }
  return false;
}

// fma(a, b, -(a * b)): what the product was rounded by.
bool recovers_error_of_product(const llvm::Value& value) {
  if (!calls(&value, {"llvm.fma.", "nvvm.fma.rn.", "nv_fmaf_rn", "nv_fma_rn"}) ||
      cast<CallBase>(value).arg_size() != 3)
    return false;
  const auto& call = cast<CallBase>(value);
  const Term third = term_of(call.getArgOperand(2), false);
  const auto* product = dyn_cast<llvm::User>(third.value);
  const bool is_product =
      product &&
      ((isa<BinaryOperator>(product) && cast<BinaryOperator>(product)->getOpcode() == Instruction::FMul) ||
       calls(product, {"nvvm.mul.rn.", "nv_fmul_rn", "nv_dmul_rn"}));
  if (!third.negative || !is_product)
    return false;
  const llvm::Value *a = call.getArgOperand(0), *b = call.getArgOperand(1);
  return (product->getOperand(0) == a && product->getOperand(1) == b) ||
         (product->getOperand(0) == b && product->getOperand(1) == a);
}

// The type and the digits of a constant.
std::string digits(Type* type, const APFloat& number) {
  std::string text;
  raw_string_ostream stream(text);
  type->print(stream);
  SmallString<32> value;
  number.toString(value);
  return text + " " + std::string(value);
}

void note_factor(const llvm::Value* value, ArithmeticFacts& facts) {
  if (const auto* number = dyn_cast<ConstantFP>(value))
    facts.factors.insert(digits(number->getType(), number->getValue()));
}

// By a power of two the product with the reciprocal is the quotient.
void note_divisor(const llvm::Value* value, ArithmeticFacts& facts) {
  const auto* number = dyn_cast<ConstantFP>(value);
  if (!number || number->getValue().getExactInverse(nullptr) || !number->getValue().isFiniteNonZero())
    return;
  APFloat reciprocal = APFloat::getOne(number->getValue().getSemantics());
  reciprocal.divide(number->getValue(), APFloat::rmNearestTiesToEven);
  facts.reciprocals.insert(digits(number->getType(), reciprocal));
}

} // namespace

void note_arithmetic(const Instruction& instruction, ArithmeticFacts& facts) {
  facts.compensations += recovers_error_of_sum(instruction) || recovers_error_of_product(instruction);
  if (instruction.getOpcode() == Instruction::FDiv) {
    note_divisor(instruction.getOperand(1), facts);
  } else if (instruction.getOpcode() == Instruction::FMul ||
             calls(&instruction, {"llvm.fma.", "nvvm.fma.rn.", "nvvm.mul.rn."})) {
    note_factor(instruction.getOperand(0), facts);
    note_factor(instruction.getOperand(1), facts);
  }
}

} // namespace lathe::refactor
