#include "refactor/guard/warp_masks.h"

#include "refactor/guard/code_facts.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Support/MathExtras.h>

#include <cstdint>

namespace lathe::refactor {
namespace {

using namespace llvm;

constexpr std::uint64_t WARP = 32, WIDTH_AT = 8; // of an exchange: PTX ISA, "shfl.sync"

// A lane's number in its warp.
bool is_lane(const llvm::Value* value) {
  const auto* call = dyn_cast<CallBase>(value);
  if (!call)
    return false;
  if (const auto* assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
    return StringRef(normal_assembly(std::string_view(assembly->getAsmString())))
        .starts_with("mov.u32 $0, %laneid");
  const Function* callee = call->getCalledFunction();
  return callee && callee->getName() == "llvm.nvvm.read.ptx.sreg.laneid";
}

// Of an exchange among the lanes of a tile, each lane's own (0xff << (lane & 24)), that reaches no further:
// how many lanes it has. 0: it is none.
unsigned lanes_of_tile(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  const auto* mask = dyn_cast<BinaryOperator>(call.getArgOperand(0));
  const auto* clamp = call.arg_size() == 4 ? dyn_cast<ConstantInt>(call.getArgOperand(3)) : nullptr;
  if (!callee || !callee->getName().starts_with("llvm.nvvm.shfl.sync") || !mask || !clamp ||
      mask->getOpcode() != Instruction::Shl)
    return 0;
  const auto* lanes = dyn_cast<ConstantInt>(mask->getOperand(0));
  const auto* tile = dyn_cast<BinaryOperator>(mask->getOperand(1));
  if (!lanes || !lanes->getValue().isMask() || !tile || tile->getOpcode() != Instruction::And)
    return 0;
  const unsigned count = lanes->getValue().countr_one();
  const auto* begin = dyn_cast<ConstantInt>(tile->getOperand(1));
  const std::uint64_t reach = WARP - (clamp->getZExtValue() >> WIDTH_AT);
  return begin && is_lane(tile->getOperand(0)) && isPowerOf2_32(count) &&
                 (begin->getZExtValue() & (WARP - 1)) == WARP - count && reach <= count
             ? count
             : 0;
}

} // namespace

std::string warp_mask(const CallBase& call) {
  // Clang's header hands it first to reductions too (redux.sync).
  if (const auto* mask = dyn_cast<ConstantInt>(call.getArgOperand(0)))
    return "mask=0x" + llvm::utohexstr(mask->getZExtValue() & 0xffffffffu, true);
  if (const unsigned lanes = lanes_of_tile(call))
    return "tiles of " + std::to_string(lanes);
  return "computed mask";
}

} // namespace lathe::refactor
