#include "refactor/guard/pure_values.h"

#include "refactor/guard/pure_evaluation.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <optional>

namespace lathe::refactor {
namespace {

using namespace llvm;

struct Operation {
  PureOp op = PureOp::leaf;
  unsigned detail = 0;
};

std::optional<PureOp> binary_op(unsigned opcode) {
  switch (opcode) {
  case Instruction::Add:
    return PureOp::add;
  case Instruction::Sub:
    return PureOp::sub;
  case Instruction::Mul:
    return PureOp::mul;
  case Instruction::UDiv:
    return PureOp::udiv;
  case Instruction::SDiv:
    return PureOp::sdiv;
  case Instruction::URem:
    return PureOp::urem;
  case Instruction::SRem:
    return PureOp::srem;
  case Instruction::Shl:
    return PureOp::shl;
  case Instruction::LShr:
    return PureOp::lshr;
  case Instruction::AShr:
    return PureOp::ashr;
  case Instruction::And:
    return PureOp::bit_and;
  case Instruction::Or:
    return PureOp::bit_or;
  case Instruction::Xor:
    return PureOp::bit_xor;
  case Instruction::FAdd:
    return PureOp::fadd;
  case Instruction::FSub:
    return PureOp::fsub;
  case Instruction::FMul:
    return PureOp::fmul;
  case Instruction::FDiv:
    return PureOp::fdiv;
  default:
    return std::nullopt;
  }
}

std::optional<PureOp> cast_op(unsigned opcode) {
  switch (opcode) {
  case Instruction::ZExt:
    return PureOp::zext;
  case Instruction::SExt:
    return PureOp::sext;
  case Instruction::Trunc:
    return PureOp::trunc;
  case Instruction::BitCast:
    return PureOp::bitcast;
  case Instruction::FPToSI:
    return PureOp::to_signed;
  case Instruction::FPToUI:
    return PureOp::to_unsigned;
  case Instruction::SIToFP:
    return PureOp::from_signed;
  case Instruction::UIToFP:
    return PureOp::from_unsigned;
  case Instruction::FPExt:
  case Instruction::FPTrunc:
    return PureOp::resize_real;
  default:
    return std::nullopt;
  }
}

// "llvm.nvvm.f2i.rn", "llvm.nvvm.d2ull.rz.ftz": where real numbers become integers.
std::optional<Operation> nvvm_conversion(StringRef name) {
  if (!name.consume_front("llvm.nvvm.") || !(name.consume_front("f2") || name.consume_front("d2")))
    return std::nullopt;
  const auto [target, way] = name.split('.');
  if (target != "i" && target != "ui" && target != "ll" && target != "ull")
    return std::nullopt;
  std::optional<Toward> toward;
  if (way == "rn")
    toward = Toward::nearest;
  else if (way == "rz")
    toward = Toward::zero;
  else if (way == "rm")
    toward = Toward::below;
  else if (way == "rp")
    toward = Toward::above;
  if (!toward)
    return std::nullopt;
  return Operation{target.starts_with("u") ? PureOp::to_unsigned : PureOp::to_signed,
                   static_cast<unsigned>(*toward)};
}

std::optional<Operation> called_op(const CallBase& call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::smin:
    return Operation{PureOp::smin};
  case Intrinsic::smax:
    return Operation{PureOp::smax};
  case Intrinsic::umin:
    return Operation{PureOp::umin};
  case Intrinsic::umax:
    return Operation{PureOp::umax};
  case Intrinsic::fabs:
    return Operation{PureOp::fabs};
  case Intrinsic::copysign:
    return Operation{PureOp::copysign};
  case Intrinsic::fma:
    return Operation{PureOp::fma};
  case Intrinsic::is_fpclass:
    return Operation{PureOp::is_class};
  case Intrinsic::minnum:
    return Operation{PureOp::fmin};
  case Intrinsic::maxnum:
    return Operation{PureOp::fmax};
  case Intrinsic::floor:
    return Operation{PureOp::floor};
  case Intrinsic::ceil:
    return Operation{PureOp::ceil};
  case Intrinsic::trunc:
    return Operation{PureOp::toward_zero};
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::roundeven:
    return Operation{PureOp::to_nearest};
  case Intrinsic::round:
    return Operation{PureOp::away_from_zero};
  default:
    break;
  }
  const Function* callee = call.getCalledFunction();
  const StringRef name = callee ? callee->getName() : "";
  static const std::map<std::string, PureOp> by_name = {{"llvm.nvvm.mulhi.i", PureOp::mulhi_signed},
                                                        {"llvm.nvvm.mulhi.ll", PureOp::mulhi_signed},
                                                        {"llvm.nvvm.mulhi.ui", PureOp::mulhi_unsigned},
                                                        {"llvm.nvvm.mulhi.ull", PureOp::mulhi_unsigned},
                                                        {"llvm.nvvm.floor.f", PureOp::floor},
                                                        {"llvm.nvvm.floor.d", PureOp::floor},
                                                        {"llvm.nvvm.ceil.f", PureOp::ceil},
                                                        {"llvm.nvvm.ceil.d", PureOp::ceil},
                                                        {"llvm.nvvm.trunc.f", PureOp::toward_zero},
                                                        {"llvm.nvvm.trunc.d", PureOp::toward_zero},
                                                        {"llvm.nvvm.round.f", PureOp::to_nearest},
                                                        {"llvm.nvvm.round.d", PureOp::to_nearest},
                                                        {"llvm.nvvm.fabs.f", PureOp::fabs},
                                                        {"llvm.nvvm.fabs.d", PureOp::fabs},
                                                        {"llvm.nvvm.fmin.f", PureOp::fmin},
                                                        {"llvm.nvvm.fmin.d", PureOp::fmin},
                                                        {"llvm.nvvm.fmax.f", PureOp::fmax},
                                                        {"llvm.nvvm.fmax.d", PureOp::fmax},
                                                        {"llvm.nvvm.bitcast.f2i", PureOp::bitcast},
                                                        {"llvm.nvvm.bitcast.i2f", PureOp::bitcast},
                                                        {"llvm.nvvm.bitcast.d2ll", PureOp::bitcast},
                                                        {"llvm.nvvm.bitcast.ll2d", PureOp::bitcast}};
  if (const auto found = by_name.find(name.str()); found != by_name.end())
    return Operation{found->second};
  return nvvm_conversion(name);
}

std::optional<Operation> operation_of(const Instruction& instruction) {
  if (const auto* comparison = dyn_cast<CmpInst>(&instruction))
    return Operation{isa<ICmpInst>(comparison) ? PureOp::icmp : PureOp::fcmp, comparison->getPredicate()};
  if (isa<SelectInst>(instruction))
    return Operation{PureOp::select};
  if (instruction.getOpcode() == Instruction::FNeg)
    return Operation{PureOp::fneg};
  if (const auto* call = dyn_cast<CallBase>(&instruction))
    return called_op(*call);
  std::optional<PureOp> op = binary_op(instruction.getOpcode());
  if (!op)
    op = cast_op(instruction.getOpcode());
  const bool never_wraps = (op == PureOp::add || op == PureOp::sub) && instruction.hasNoSignedWrap();
  return op ? std::optional(Operation{*op, never_wraps ? NEVER_WRAPS : 0}) : std::nullopt;
}

bool is_number(const Type* type) {
  return type->isFloatTy() || type->isDoubleTy() || (type->isIntegerTy() && type->getIntegerBitWidth() <= 64);
}

unsigned operand_count(const Instruction& instruction) {
  const auto* call = dyn_cast<CallBase>(&instruction);
  return call ? call->arg_size() : instruction.getNumOperands();
}

class Reader {
public:
  explicit Reader(PureValues& values) : values_(values) {}

  int node_of(const llvm::Value* value) {
    if (const auto* frozen = dyn_cast<FreezeInst>(value))
      value = frozen->getOperand(0);
    if (const auto found = numbers_.find(value); found != numbers_.end())
      return found->second;
    const int number = static_cast<int>(values_.nodes.size());
    numbers_[value] = number;
    PureNode& node = values_.nodes.emplace_back();
    values_.users.emplace_back();
    node.is_real = value->getType()->isFloatingPointTy();
    node.bits =
        static_cast<std::uint8_t>(is_number(value->getType()) ? value->getType()->getScalarSizeInBits() : 0);
    if (const auto* integer = dyn_cast<ConstantInt>(value); integer && node.bits > 0) {
      node.op = PureOp::constant;
      node.constant = integer->getZExtValue();
    } else if (const auto* real = dyn_cast<ConstantFP>(value); real && node.bits > 0) {
      node.op = PureOp::constant;
      node.constant = real->getValue().bitcastToAPInt().getZExtValue();
    }
    return number;
  }

  void read(const Instruction& instruction) {
    if (isa<FreezeInst>(instruction))
      return;
    const auto operation = is_number(instruction.getType()) ? operation_of(instruction) : std::nullopt;
    const bool is_pure =
        operation && operand_count(instruction) <= 3 && all_of(instruction.operands(), [&](const Use& use) {
          return is_number(use->getType()) || use.getOperandNo() >= operand_count(instruction);
        });
    const int number = instruction.getType()->isVoidTy() ? -1 : node_of(&instruction);
    if (is_pure) {
      values_.nodes[static_cast<std::size_t>(number)].op = operation->op;
      values_.nodes[static_cast<std::size_t>(number)].detail = operation->detail;
    }
    for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
      const llvm::Value* operand = instruction.getOperand(i);
      if (!is_number(operand->getType()))
        continue;
      const int from = node_of(operand);
      values_.users[static_cast<std::size_t>(from)].push_back(is_pure ? number : -1);
      if (is_pure)
        values_.nodes[static_cast<std::size_t>(number)].from[i] = from;
    }
  }

private:
  PureValues& values_;
  std::map<const llvm::Value*, int> numbers_;
};

} // namespace

PureValues pure_values(Function& function) {
  PureValues values;
  Reader reader(values);
  for (const Instruction& instruction : instructions(function))
    reader.read(instruction);
  return values;
}

bool is_rounding(const PureValues& /*values*/, const PureNode& node) {
  switch (node.op) {
  case PureOp::floor:
  case PureOp::ceil:
  case PureOp::toward_zero:
  case PureOp::to_nearest:
  case PureOp::away_from_zero:
  case PureOp::to_signed:
  case PureOp::to_unsigned:
    return true;
  default:
    return false;
  }
}

bool is_upper_product(const PureValues& /*values*/, const PureNode& node) {
  return node.op == PureOp::mulhi_signed || node.op == PureOp::mulhi_unsigned;
}

bool asks_for(const PureValues& values, const PureNode& node, std::uint64_t number) {
  const auto constant = [&](std::size_t side) {
    const PureNode& operand = values.nodes[static_cast<std::size_t>(node.from[side])];
    return operand.op == PureOp::constant ? std::optional(operand.constant) : std::nullopt;
  };
  constexpr std::uint64_t SINGLE = 0x7f800000, DOUBLE = 0x7ff0000000000000, DOUBLE_WORD = 0x7ff00000;
  const bool is_of_kinds = number == SINGLE || number == DOUBLE || number == DOUBLE_WORD;
  if (is_of_kinds && node.op == PureOp::is_class)
    return true;
  if (node.op == PureOp::icmp)
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
      if (const auto value = constant(side);
          value && (*value == number - 1 || *value == number || *value == number + 1))
        return true;
  if (!is_of_kinds || node.op != PureOp::fcmp)
    return false;
  const auto limit = constant(1);
  return limit == SINGLE || limit == DOUBLE || node.detail == llvm::CmpInst::FCMP_UNO ||
         node.detail == llvm::CmpInst::FCMP_ORD;
}

} // namespace lathe::refactor
