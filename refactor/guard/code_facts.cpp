#include "refactor/guard/code_facts.h"

#include "refactor/guard/active_lanes.h"
#include "refactor/guard/address_facts.h"
#include "refactor/guard/device_bitcode.h"
#include "refactor/guard/kernel_ir.h"
#include "refactor/guard/warp_masks.h"
#include "tuner/base/hash.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <cctype>
#include <deque>
#include <mutex>
#include <optional>

namespace lathe::refactor {
namespace {

using namespace llvm;

std::string type_name(Type* type) {
  std::string text;
  raw_string_ostream stream(text);
  type->getScalarType()->print(stream);
  return text;
}

class FactReader {
public:
  FactReader(KernelIr& kernel, CodeFacts& facts)
      : kernel_(kernel), waits_(kernel.function(), is_launch_wait), atomics_(kernel.function(), is_atomic),
        facts_(facts) {}

  void read() {
    for (Instruction& instruction : instructions(kernel_.function()))
      visit(instruction);
    for (const llvm::Argument& argument : kernel_.function().args())
      if (!argument.use_empty()) {
        const int index = static_cast<int>(argument.getArgNo());
        facts_.used_parameters.insert(index);
        if (is_stride(argument))
          facts_.strides.insert(index);
        if (is_divisor(argument))
          facts_.divisors.insert(index);
      }
    facts_.pure = pure_values(kernel_.function());
    facts_.ir = kernel_.normal_text();
  }

private:
  void access(Instruction& instruction, llvm::Value* pointer, bool reads, bool writes, bool atomic) {
    for (const Root& root : kernel_.roots(pointer)) {
      MemoryUse& use = facts_.memory[root];
      use.atomic |= atomic;
      if (atomic) {
        use.atomic_operations.insert(operation_of(instruction));
        use.atomic_result_used |= !instruction.use_empty();
      } else if (reads) {
        use.plain_read = true;
        use.read_before_atomic |= !atomics_.may_be_before(instruction);
      }
      use.address_parameters.merge(kernel_.scalars_in(pointer));
      for (const auto& [from, bits] : index_bits(kernel_, pointer))
        use.index_bits[from].widen(bits);
      use.before_wait |= !waits_.before(instruction);
      const Guards& by_branches = kernel_.guards(instruction);
      const auto note = [&](Guards& common, std::size_t& count, const Guards& guards) {
        if (count++ == 0)
          common = guards;
        else
          for (auto kind : {&Guards::computed, &Guards::with_choices})
            std::erase_if(common.*kind, [&](int parameter) { return !(guards.*kind).contains(parameter); });
      };
      if (reads) {
        use.read = true;
        const std::set<int> idle = kernel_.idle_guards(instruction, pointer);
        if (use.loads == 0)
          use.idle_read_guards = idle;
        else
          std::erase_if(use.idle_read_guards, [&](int parameter) { return !idle.contains(parameter); });
        // A read that goes round at a size, or stops there, needs no branch.
        Guards guards = by_branches;
        guards.with_choices.merge(kernel_.bounds_in_address(pointer));
        note(use.common_read_guards, use.loads, guards);
      }
      if (writes) {
        use.written = true;
        note(use.common_write_guards, use.stores, by_branches);
      }
    }
    facts_.narrow_indices.merge(narrow_indices(pointer));
  }

  // What an atomic access does, and for whom it is atomic.
  std::string operation_of(const Instruction& instruction) const {
    SmallVector<StringRef, 8> scopes;
    instruction.getContext().getSyncScopeNames(scopes);
    const auto scope = [&](SyncScope::ID id) {
      return " " + (id < scopes.size() && !scopes[id].empty() ? scopes[id].str() : std::string("system"));
    };
    if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction))
      return AtomicRMWInst::getOperationName(update->getOperation()).str() + scope(update->getSyncScopeID());
    if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
      return "compare and swap" + scope(exchange->getSyncScopeID());
    const auto* call = dyn_cast<CallBase>(&instruction);
    return call && call->getCalledFunction() ? call->getCalledFunction()->getName().str() : "another";
  }

  void note_null_test(ICmpInst& comparison) {
    for (const unsigned side : {0u, 1u})
      if (isa<ConstantPointerNull>(comparison.getOperand(1 - side)))
        if (const auto* argument = dyn_cast<llvm::Argument>(comparison.getOperand(side)->stripPointerCasts()))
          facts_.nullable.insert(static_cast<int>(argument->getArgNo()));
  }

  // What only real parameters and constants have a part in; no parameter of anything else.
  static std::set<int> parameters_alone(const llvm::Value* value, int depth) {
    if (const auto* argument = dyn_cast<llvm::Argument>(value))
      return {static_cast<int>(argument->getArgNo())};
    const auto* operation = dyn_cast<Instruction>(value);
    std::set<int> found;
    if (!operation || depth == 0 || !(isa<BinaryOperator>(operation) || isa<UnaryOperator>(operation)))
      return {};
    for (const llvm::Value* operand : operation->operands())
      if (!isa<Constant>(operand)) {
        const std::set<int> inside = parameters_alone(operand, depth - 1);
        if (inside.empty())
          return {};
        found.insert(inside.begin(), inside.end());
      }
    return found;
  }

  void note_limit(const FCmpInst& comparison) {
    constexpr int DEPTH = 4;
    for (const llvm::Value* side : comparison.operands())
      facts_.compared.merge(parameters_alone(side, DEPTH));
  }

  void visit(Instruction& instruction) {
    note_arithmetic(instruction, facts_.arithmetic);
    if (auto* load = dyn_cast<LoadInst>(&instruction))
      access(instruction, load->getPointerOperand(), true, false, false);
    else if (auto* store = dyn_cast<StoreInst>(&instruction))
      access(instruction, store->getPointerOperand(), false, true, false);
    else if (auto* update = dyn_cast<AtomicRMWInst>(&instruction))
      access(instruction, update->getPointerOperand(), true, true, true);
    else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
      access(instruction, exchange->getPointerOperand(), true, true, true);
    else if (auto* call = dyn_cast<CallBase>(&instruction))
      visit_call(*call);
    else if (auto* comparison = dyn_cast<ICmpInst>(&instruction))
      note_null_test(*comparison);
    else if (auto* limit = dyn_cast<FCmpInst>(&instruction))
      note_limit(*limit);
    else if (isa<FPTruncInst>(instruction))
      facts_.narrowings.insert(type_name(instruction.getOperand(0)->getType()) + "->" +
                               type_name(instruction.getType()));
    else if (isa<FPToSIInst>(instruction) || isa<FPToUIInst>(instruction)) {
      const std::string conversion =
          type_name(instruction.getOperand(0)->getType()) + "->" + type_name(instruction.getType());
      facts_.integers_of_reals.insert(conversion);
      if (kernel_.is_integer_by_way_of_real(instruction))
        facts_.integers_by_way_of_reals.insert(conversion);
    }
    if (auto* operation = dyn_cast<BinaryOperator>(&instruction)) {
      if (auto product = size_product(*operation))
        facts_.products.insert(std::move(*product));
      if (const auto step = KernelIr::block_step(*operation)) {
        auto& [wide, narrow] = facts_.block_steps[step->axis];
        std::uint64_t& most = step->is_wide ? wide : narrow;
        most = std::max(most, step->elements);
      }
    }
    if (const auto* fence = dyn_cast<FenceInst>(&instruction))
      ++facts_.fences["fence of scope " + std::to_string(fence->getSyncScopeID())];
    if (instruction.getOpcode() == Instruction::FDiv && isa<Constant>(instruction.getOperand(0)))
      facts_.approximations.insert("a constant is divided, as for a product with a reciprocal");
    if (isa<BinaryOperator>(instruction) && instruction.getType()->isFPOrFPVectorTy()) {
      facts_.arithmetic_types.insert(type_name(instruction.getType()));
      // clang sets `contract` on all device code, as nvcc fuses multiply and add by default.
      if (instruction.hasAllowReassoc() || instruction.hasApproxFunc() || instruction.hasNoNaNs())
        facts_.approximations.insert("fast-math flags");
    }
  }

  void visit_call(CallBase& call) {
    if (const auto* assembly = dyn_cast<InlineAsm>(call.getCalledOperand())) {
      bool is_store = false;
      const std::string text = normal_assembly(std::string_view(assembly->getAsmString()));
      if (is_plain_access(text, is_store))
        for (llvm::Value* operand : call.args())
          if (operand->getType()->isPointerTy() || operand->getType()->isIntegerTy(64)) {
            access(call, operand, !is_store, is_store, false);
            break;
          }
      if (is_async_copy(text) && StringRef(text).contains(".shared.global"))
        for (llvm::Value* operand : call.args())
          if (operand->getType()->isPointerTy() || operand->getType()->isIntegerTy(64)) {
            access(call, operand, true, false, false); // its target is the address of 32 bits before
            break;
          }
      ++(assembly->hasSideEffects() ? facts_.assembly : facts_.pure_assembly)[text];
      if (StringRef(text).contains("bar.") || StringRef(text).contains("barrier."))
        note_barrier(call, false);
      return;
    }
    if (auto* copy = dyn_cast<MemTransferInst>(&call)) {
      access(call, copy->getSource(), true, false, false);
      access(call, copy->getDest(), false, true, false);
      return;
    }
    if (auto* fill = dyn_cast<MemSetInst>(&call)) {
      access(call, fill->getDest(), false, true, false);
      return;
    }
    const Function* callee = call.getCalledFunction();
    const StringRef name = callee ? callee->getName() : "an unknown function";
    if (name.starts_with("llvm.nvvm.membar"))
      ++facts_.fences[name.substr(StringRef("llvm.nvvm.").size()).str()];
    if (name.starts_with("llvm.nvvm.barrier") || name.starts_with("llvm.nvvm.bar.sync"))
      return note_barrier(call, name.starts_with("llvm.nvvm.barrier0") || is_of_block(call));
    if (name.starts_with("llvm.nvvm.shfl.sync") || name.starts_with("llvm.nvvm.vote") ||
        name.starts_with("llvm.nvvm.match") || name.starts_with("llvm.nvvm.redux") ||
        name.starts_with("llvm.nvvm.bar.warp.sync"))
      return note_warp_primitive(call, name);
    if (name == "__nvvm_get_smem_pointer") // <cuda_pipeline.h>: the address in shared memory, as a number
      return;
    if (name.starts_with("llvm.nvvm.ldg") || name.starts_with("llvm.nvvm.ldu")) {
      for (const Root& root : kernel_.roots(call.getArgOperand(0)))
        facts_.memory[root].read_only_path = true;
      return access(call, call.getArgOperand(0), true, false, false);
    }
    if (name.starts_with("llvm.nvvm.atomic"))
      return access(call, call.getArgOperand(0), true, true, true);
    if (name.contains("sreg.clock") || name.contains("sreg.globaltimer") || name.contains("sreg.smid") ||
        name.contains("sreg.pm"))
      ++facts_.calls[name.str()];
    if (name.contains(".approx") || name.contains(".ftz"))
      facts_.approximations.insert(name.substr(StringRef("llvm.nvvm.").size()).str());
    if (callee && callee->isIntrinsic() && callee->doesNotAccessMemory() && !callee->isConvergent())
      return;
    if (isa<AssumeInst>(call) || name.starts_with("llvm.lifetime") || name.starts_with("llvm.dbg") ||
        name.starts_with("llvm.experimental.noalias") || name.starts_with("llvm.nvvm.read.ptx.sreg.tid") ||
        name.starts_with("llvm.nvvm.membar"))
      return;
    ++facts_.calls[name.str()];
    if (!callee || !callee->isIntrinsic())
      for (llvm::Value* operand : call.args())
        if (operand->getType()->isPointerTy())
          access(call, operand, true, !call.onlyReadsMemory(), false);
  }

  // Of a barrier by number: the usual one, without a count of threads.
  static bool is_of_block(const CallBase& call) {
    const auto* number = call.arg_size() == 1 ? dyn_cast<ConstantInt>(call.getArgOperand(0)) : nullptr;
    return number && number->isZero();
  }

  void note_barrier(Instruction& instruction, bool is_of_block) {
    ++facts_.barriers;
    facts_.partial_barriers += !is_of_block;
    facts_.divergent_barriers += kernel_.is_divergent(instruction, Together::block);
  }

  void note_warp_primitive(CallBase& call, StringRef name) {
    ++facts_.warp_primitives[name.substr(StringRef("llvm.nvvm.").size()).str() + " " +
                             warp_mask(call, kernel_.threads())];
    // One that is among the lanes of a tile wants these alone to come there together.
    const unsigned lanes = lanes_of_mask(call, kernel_.threads());
    const auto* mask = dyn_cast<CallBase>(call.getArgOperand(0));
    const bool is_of_present =
        mask && mask->getCalledFunction() && mask->getCalledFunction()->getName() == ACTIVE_MASK;
    if (!is_of_present) // who is there came there together
      facts_.divergent_warp_primitives +=
          kernel_.is_divergent(call, lanes ? Together{lanes} : Together::warp);
  }

  KernelIr& kernel_;
  Milestones waits_, atomics_;
  CodeFacts& facts_;
};

CodeFacts read_facts(KernelIr& kernel) {
  CodeFacts facts;
  FactReader(kernel, facts).read();
  return facts;
}

// The facts of the last requests: those of a raw kernel are wanted again for every candidate.
class KnownFacts {
public:
  std::optional<CodeFacts> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, facts] : known_)
      if (name == key)
        return facts;
    return std::nullopt;
  }
  void keep(const std::string& key, const CodeFacts& facts) {
    constexpr std::size_t KEPT = 96; // a few kernels with a dozen instances each
    const std::lock_guard lock(mutex_);
    known_.emplace_front(key, facts);
    if (known_.size() > KEPT)
      known_.pop_back();
  }

private:
  std::mutex mutex_;
  std::deque<std::pair<std::string, CodeFacts>> known_;
};

} // namespace

std::string normal_assembly(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)) || (!out.empty() && out.back() != ' '))
      out.push_back(std::isspace(static_cast<unsigned char>(c)) ? ' ' : c);
  return out;
}

bool is_plain_access(std::string_view text, bool& is_store) {
  const StringRef code = StringRef(text).ltrim(" {\t\n");
  is_store = code.starts_with("st.");
  const bool is_load = code.starts_with("ld.");
  return (is_load || is_store) && code.count(';') <= 1;
}

bool is_async_copy(std::string_view text) {
  return text.starts_with("cp.async") && text.find("bulk") == std::string_view::npos &&
         text.find("mbarrier") == std::string_view::npos;
}

Result<std::vector<CodeFacts>> code_facts(const std::string& text, const std::filesystem::path& file,
                                          const std::vector<std::string>& arguments,
                                          const std::vector<CodeRequest>& requests) {
  static KnownFacts known;
  std::string compilation = text;
  for (const std::string& argument : arguments)
    compilation += '\n' + argument;
  compilation = content_hash(compilation);
  std::vector<CodeFacts> results;
  for (const CodeRequest& request : requests) {
    std::string key = compilation + request.mangled;
    for (const std::uint32_t threads : request.block)
      key += " " + std::to_string(threads);
    for (const auto& [parameter, value] : request.fixed)
      key += " " + std::to_string(parameter) + "=" + std::to_string(value);
    std::optional<CodeFacts> facts = known.find(key);
    if (!facts) {
      LATHE_TRY(const auto bitcode, device_bitcode(text, file, arguments));
      LATHE_TRY(const std::unique_ptr<KernelIr> kernel,
                KernelIr::create(*bitcode, request.mangled, request.block, request.fixed));
      facts = read_facts(*kernel);
      known.keep(key, *facts);
    }
    results.push_back(std::move(*facts));
  }
  return results;
}

} // namespace lathe::refactor
