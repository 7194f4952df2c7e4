// A device converts a real number that an integer of 32 or 64 bits cannot hold to the nearest that it can,
// and what is no number to zero (PTX ISA, "cvt"); so does the code that clang makes here. In C++ that is
// undefined, and clang's check would call a kernel faulty that relies on it, such as one that counts
// infinities in its last bin. Of narrower integers a device keeps the low bits of a wider one, which this
// code does not: they stay checked.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace lathe_passes {
namespace {

using namespace llvm;

constexpr unsigned WIDTH_OF_A_DEVICE = 32;

bool is_check(const Instruction& instruction) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() &&
         call->getCalledFunction()->getName() == "__ubsan_handle_float_cast_overflow_minimal";
}

// The check's own block goes on to the conversion.
bool is_as_on_a_device(const Instruction& check) {
  const BasicBlock* next = check.getParent()->getSingleSuccessor();
  if (!next)
    return false;
  for (const Instruction& instruction : *next)
    if (const auto* conversion = dyn_cast<IntrinsicInst>(&instruction);
        conversion && (conversion->getIntrinsicID() == Intrinsic::fptosi_sat ||
                       conversion->getIntrinsicID() == Intrinsic::fptoui_sat))
      return conversion->getType()->getScalarSizeInBits() >= WIDTH_OF_A_DEVICE;
  return false;
}

} // namespace

PreservedAnalyses AllowConversions::run(Function& function, FunctionAnalysisManager&) {
  std::vector<Instruction*> allowed;
  for (Instruction& instruction : instructions(function))
    if (is_check(instruction) && is_as_on_a_device(instruction))
      allowed.push_back(&instruction);
  for (Instruction* check : allowed)
    check->eraseFromParent();
  return allowed.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

} // namespace lathe_passes
