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

constexpr unsigned WARP = 32, WIDTH_AT = 8; // of an exchange: PTX ISA, "shfl.sync"

// A lane's number in its warp, or what has it in its lowest bits: a thread's place in a block whose rows are
// warps, or that has one row.
bool has_lane(const llvm::Value* value, const std::array<std::uint32_t, 3>& block) {
  const auto* call = dyn_cast<CallBase>(value);
  if (!call)
    return false;
  if (const auto* assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
    return StringRef(normal_assembly(std::string_view(assembly->getAsmString())))
        .starts_with("mov.u32 $0, %laneid");
  const Function* callee = call->getCalledFunction();
  const StringRef name = callee ? callee->getName() : StringRef();
  return name == "llvm.nvvm.read.ptx.sreg.laneid" ||
         (name == "llvm.nvvm.read.ptx.sreg.tid.x" &&
          (block[0] % WARP == 0 || (block[1] == 1 && block[2] == 1)));
}

// Whether the exchange reaches no further than within aligned groups of so many lanes: its segments are no
// wider, or it is crosswise over a smaller distance.
bool reaches_within(const CallBase& call, unsigned lanes) {
  constexpr unsigned DISTANCE = 2, SEGMENTS = 3;
  const Function* callee = call.getCalledFunction();
  if (!callee || !callee->getName().starts_with("llvm.nvvm.shfl.sync") || call.arg_size() != 4)
    return false;
  const auto* segments = dyn_cast<ConstantInt>(call.getArgOperand(SEGMENTS));
  const auto* distance = dyn_cast<ConstantInt>(call.getArgOperand(DISTANCE));
  return (segments && WARP - (segments->getZExtValue() >> WIDTH_AT) <= lanes) ||
         (callee->getName().contains(".bfly.") && distance && distance->getZExtValue() < lanes);
}

} // namespace

unsigned lanes_of_mask(const CallBase& call, const std::array<std::uint32_t, 3>& block) {
  if (const auto* all = dyn_cast<ConstantInt>(call.getArgOperand(0)))
    return all->getBitWidth() == WARP && all->isMinusOne() ? WARP : 0;
  const auto* mask = dyn_cast<BinaryOperator>(call.getArgOperand(0));
  if (!mask || mask->getOpcode() != Instruction::Shl)
    return 0;
  const auto* lanes = dyn_cast<ConstantInt>(mask->getOperand(0));
  const auto* tile = dyn_cast<BinaryOperator>(mask->getOperand(1));
  if (!lanes || !lanes->getValue().isMask() || !tile || tile->getOpcode() != Instruction::And)
    return 0;
  const unsigned count = lanes->getValue().countr_one();
  const auto* begin = dyn_cast<ConstantInt>(tile->getOperand(1));
  return begin && has_lane(tile->getOperand(0), block) && isPowerOf2_32(count) &&
                 (begin->getZExtValue() & (WARP - 1)) == WARP - count
             ? count
             : 0;
}

std::string warp_mask(const CallBase& call, const std::array<std::uint32_t, 3>& block) {
  // Clang's header hands it first to reductions too (redux.sync).
  if (const auto* mask = dyn_cast<ConstantInt>(call.getArgOperand(0)))
    return "mask=0x" + llvm::utohexstr(mask->getZExtValue() & 0xffffffffu, true);
  if (const unsigned lanes = lanes_of_mask(call, block); lanes > 0 && reaches_within(call, lanes))
    return "tiles of " + std::to_string(lanes);
  return "computed mask";
}

} // namespace lathe::refactor
