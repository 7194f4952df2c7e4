#include "refactor/guard/kernel_ir.h"

#include "refactor/guard/walk_back.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <regex>
#include <vector>

namespace lathe::refactor {

using namespace llvm;

// What the optimiser remarks (a loop that it could not unroll) is no fault of the template.
struct Quiet : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo&) override { return true; }
};

struct KernelIr::State {
  State() { context.setDiagnosticHandler(std::make_unique<Quiet>()); }
  LLVMContext context;
  std::unique_ptr<TargetMachine> machine;
  std::unique_ptr<Module> module;
  Function* kernel = nullptr;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  Controllers controllers;
  std::map<const BasicBlock*, Guards> guards;
  std::array<std::uint32_t, 3> threads{};                    // of a block
  std::map<Together, std::set<const BasicBlock*>> divergent; // whose branch threads may take differently

  std::vector<BasicBlock*> all_controllers(const BasicBlock* block) {
    std::vector<BasicBlock*> found;
    SmallPtrSet<const BasicBlock*, 16> seen;
    std::vector<const BasicBlock*> work{block};
    while (!work.empty()) {
      const BasicBlock* current = work.back();
      work.pop_back();
      for (BasicBlock* controller : controllers[current])
        if (seen.insert(controller).second) {
          found.push_back(controller);
          work.push_back(controller);
        }
    }
    return found;
  }
};

namespace {

constexpr const char* DIMENSIONS[3] = {"llvm.nvvm.read.ptx.sreg.ntid.x", "llvm.nvvm.read.ptx.sreg.ntid.y",
                                       "llvm.nvvm.read.ptx.sreg.ntid.z"};

std::unique_ptr<TargetMachine> make_machine(const Module& module) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
  });
  std::string problem;
  const Target* target = TargetRegistry::lookupTarget(module.getTargetTriple(), problem);
  if (!target)
    return nullptr;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      module.getTargetTriple(), "sm_90", "+ptx85", {}, std::nullopt, std::nullopt, CodeGenOptLevel::Default));
}

// Everything but the kernel goes: other kernels would keep their helpers alive.
void keep_only(Module& module, Function& kernel) {
  for (Function& function : module)
    if (&function != &kernel && !function.isDeclaration())
      function.setLinkage(GlobalValue::InternalLinkage), function.setComdat(nullptr);
  for (const char* name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable* used = module.getGlobalVariable(name))
      used->eraseFromParent();
  kernel.setLinkage(GlobalValue::ExternalLinkage);
  kernel.setComdat(nullptr);
  if (NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations")) {
    std::vector<MDNode*> kept;
    for (MDNode* node : annotations->operands()) {
      const auto* entry =
          dyn_cast_or_null<ValueAsMetadata>(node->getNumOperands() ? node->getOperand(0).get() : nullptr);
      if (!entry || entry->getValue() == &kernel)
        kept.push_back(node);
    }
    annotations->clearOperands();
    for (MDNode* node : kept)
      annotations->addOperand(node);
  }
}

void fill_in_block(Module& module, const std::array<std::uint32_t, 3>& block) {
  for (int axis = 0; axis < 3; ++axis)
    if (Function* read = module.getFunction(DIMENSIONS[axis])) {
      std::vector<CallInst*> calls;
      for (User* user : read->users())
        if (auto* call = dyn_cast<CallInst>(user))
          calls.push_back(call);
      for (CallInst* call : calls) {
        call->replaceAllUsesWith(ConstantInt::get(call->getType(), block[axis]));
        call->eraseFromParent();
      }
    }
}

void fill_in_arguments(Function& kernel, const FixedArguments& fixed) {
  for (const auto& [parameter, value] : fixed) {
    if (parameter >= static_cast<int>(kernel.arg_size()))
      continue;
    Argument* argument = kernel.getArg(static_cast<unsigned>(parameter));
    if (argument->getType()->isIntegerTy())
      argument->replaceAllUsesWith(ConstantInt::getSigned(cast<IntegerType>(argument->getType()), value));
  }
}

} // namespace

KernelIr::KernelIr(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelIr::~KernelIr() = default;
Function& KernelIr::function() {
  return *state_->kernel;
}

namespace {

// The optimiser moves a load to the one block that needs its value, and the branches there would look like
// guards that the author wrote. A load with a cache policy stays where it is.
void keep_loads_in_place() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto& options = cl::getRegisteredOptions();
    if (const auto found = options.find("instcombine-code-sinking"); found != options.end())
      static_cast<cl::opt<bool>*>(found->second)->setValue(false);
  });
}

} // namespace

Result<std::unique_ptr<KernelIr>> KernelIr::create(std::string_view bitcode, const std::string& mangled,
                                                   const std::array<std::uint32_t, 3>& block,
                                                   const FixedArguments& fixed) {
  auto state = std::make_unique<State>();
  Expected<std::unique_ptr<Module>> module =
      parseBitcodeFile(MemoryBufferRef(StringRef(bitcode.data(), bitcode.size()), "kernel"), state->context);
  if (!module)
    return Error{"unreadable LLVM IR", llvm::toString(module.takeError()), ""};
  state->module = std::move(*module);
  state->kernel = state->module->getFunction(mangled);
  if (!state->kernel || state->kernel->isDeclaration())
    return Error{"no LLVM IR for the kernel", "'" + mangled + "' is not in the module", ""};
  state->threads = block;
  state->machine = make_machine(*state->module);
  if (!state->machine)
    return Error{"no LLVM IR for the kernel", "this LLVM has no NVPTX target", "install a complete LLVM"};

  // LLVM 19 looks a kernel up in a cache by the module's and the function's addresses and keeps entries of
  // those that are gone: another function's address may say that this is none, and sizes would count as
  // different from thread to thread. The calling convention says it too, and is asked where the cache says
  // nothing.
  state->kernel->setCallingConv(CallingConv::PTX_Kernel);
  keep_only(*state->module, *state->kernel);
  fill_in_block(*state->module, block);
  fill_in_arguments(*state->kernel, fixed);
  PassBuilder builder(state->machine.get());
  builder.registerModuleAnalyses(state->modules);
  builder.registerCGSCCAnalyses(state->components);
  builder.registerFunctionAnalyses(state->functions);
  builder.registerLoopAnalyses(state->loops);
  builder.crossRegisterProxies(state->loops, state->functions, state->components, state->modules);
  keep_loads_in_place();
  ModulePassManager early;
  early.addPass(GlobalDCEPass());
  early.run(*state->module, state->modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(*state->module, state->modules);

  // Control dependence (Ferrante, Ottenstein, Warren 1987): for an edge a->b that b does not post-dominate a
  // by, every block from b up to a's immediate post-dominator depends on a's branch.
  auto& tree = state->functions.getResult<PostDominatorTreeAnalysis>(*state->kernel);
  for (BasicBlock& from : *state->kernel) {
    if (from.getTerminator()->getNumSuccessors() < 2)
      continue;
    const auto* node = tree.getNode(&from);
    const auto* stop = node ? node->getIDom() : nullptr;
    for (BasicBlock* to : successors(&from))
      for (const auto* at = tree.getNode(to); at && at != stop && at->getBlock(); at = at->getIDom())
        state->controllers[at->getBlock()].push_back(&from);
  }
  return std::unique_ptr<KernelIr>(new KernelIr(std::move(state)));
}

std::set<std::string> KernelIr::roots(llvm::Value* pointer) {
  std::set<std::string> found;
  SmallPtrSet<llvm::Value*, 16> seen;
  std::vector<llvm::Value*> work{pointer};
  while (!work.empty()) {
    llvm::Value* current = work.back();
    work.pop_back();
    if (!seen.insert(current).second)
      continue;
    SmallVector<const llvm::Value*, 4> objects;
    getUnderlyingObjects(current, objects, nullptr, 0);
    for (const llvm::Value* object : objects) {
      auto* value = const_cast<llvm::Value*>(object);
      if (const auto* argument = dyn_cast<Argument>(value)) {
        found.insert(std::to_string(argument->getArgNo()));
      } else if (const auto* variable = dyn_cast<GlobalVariable>(value)) {
        found.insert(variable->getAddressSpace() == 3 ? "shared"
                     : variable->getAddressSpace() == 4 || variable->isConstant()
                         ? "constant"
                         : "global " + variable->getName().str());
      } else if (isa<AllocaInst>(value)) {
        found.insert("local");
      } else if (auto* load = dyn_cast<LoadInst>(value)) {
        // A pointer inside a by-value parameter; anything else that was loaded is unknown.
        APInt offset(64, 0);
        const llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
            state_->module->getDataLayout(), offset, true);
        const auto* parameter = dyn_cast<Argument>(base);
        found.insert(parameter && parameter->hasByValAttr()
                         ? std::to_string(parameter->getArgNo()) + "+" + std::to_string(offset.getSExtValue())
                         : "unknown");
      } else if (isa<ConstantPointerNull>(value) || isa<UndefValue>(value)) {
        continue;
      } else if (isa<Instruction>(value) && value != current) {
        work.push_back(value);
      } else if (isa<PtrToIntInst>(value) || isa<IntToPtrInst>(value) || isa<BinaryOperator>(value) ||
                 isa<PHINode>(value) || isa<SelectInst>(value) || isa<CastInst>(value)) {
        for (llvm::Value* operand : cast<Instruction>(value)->operands())
          if (!isa<Constant>(operand))
            work.push_back(operand);
      } else if (auto* call = dyn_cast<CallBase>(value); call && call->arg_size() == 1) {
        work.push_back(call->getArgOperand(0)); // address-space conversions
      } else if (auto* expression = dyn_cast<ConstantExpr>(value)) {
        work.push_back(expression->getOperand(0));
      } else {
        found.insert("unknown");
      }
    }
  }
  return found;
}

const Guards& KernelIr::guards(const Instruction& instruction) {
  const BasicBlock* block = instruction.getParent();
  const auto known = state_->guards.find(block);
  if (known != state_->guards.end())
    return known->second;
  return state_->guards.emplace(block, guards_of(state_->all_controllers(block), state_->controllers))
      .first->second;
}

std::set<int> KernelIr::idle_guards(const Instruction& instruction, llvm::Value* address) {
  return refactor::idle_guards(state_->all_controllers(instruction.getParent()), address);
}

std::set<int> KernelIr::bounds_in_address(llvm::Value* address) {
  return refactor::bounds_in_address(address, state_->controllers);
}

const std::array<std::uint32_t, 3>& KernelIr::threads() const {
  return state_->threads;
}

bool KernelIr::is_divergent(const Instruction& instruction, Together together) {
  if (together == Together::thread) // a thread goes where it goes
    return false;
  const auto [known, is_new] = state_->divergent.try_emplace(together);
  if (is_new) {
    const std::vector<bool> divergent =
        divergent_terminators(*state_->kernel, state_->functions, together, state_->threads);
    std::size_t index = 0;
    for (const BasicBlock& block : *state_->kernel)
      if (divergent[index++])
        known->second.insert(&block);
  }
  const std::set<const BasicBlock*>& divergent = known->second;
  return std::ranges::any_of(state_->all_controllers(instruction.getParent()),
                             [&](const BasicBlock* controller) { return divergent.contains(controller); });
}

namespace {

// Whether the value is made of an address: sums and products on the way to it.
bool is_of_address(const llvm::Value* value, int steps) {
  if (isa<PtrToIntInst>(value))
    return true;
  const auto* instruction = dyn_cast<Instruction>(value);
  if (steps == 0 || !instruction || (!isa<CastInst>(value) && !isa<BinaryOperator>(value)))
    return false;
  return std::ranges::any_of(instruction->operands(), [&](const llvm::Use& operand) {
    return is_of_address(operand.get(), steps - 1);
  });
}

// Whether the value is the low bits of an address alone: how it is aligned, by which packs are chosen and
// elements in front of them counted.
bool is_alignment(const llvm::Value* value) {
  constexpr std::uint64_t LARGEST_PACK = 256; // bytes
  constexpr int MOST_STEPS = 6;               // of arithmetic between the address and its bits
  const auto* bits = dyn_cast<BinaryOperator>(value);
  const auto* mask = bits ? dyn_cast<ConstantInt>(bits->getOperand(1)) : nullptr;
  return mask && mask->getValue().getLimitedValue() <= LARGEST_PACK &&
         (bits->getOpcode() == Instruction::And || bits->getOpcode() == Instruction::URem) &&
         is_of_address(bits->getOperand(0), MOST_STEPS);
}

} // namespace

std::set<int> KernelIr::scalars_in(llvm::Value* value) {
  std::set<int> parameters;
  walk_back(value, [&](llvm::Value* current) {
    if (const auto* argument = dyn_cast<Argument>(current); argument && !argument->getType()->isPointerTy())
      parameters.insert(static_cast<int>(argument->getArgNo()));
    return !isa<LoadInst>(current) && !is_alignment(current);
  });
  return parameters;
}

std::optional<BlockStep> KernelIr::block_step(const BinaryOperator& product) {
  const bool is_shift = product.getOpcode() == Instruction::Shl;
  const auto* number = dyn_cast<ConstantInt>(product.getOperand(1));
  const llvm::Value* block = product.getOperand(0);
  while (const auto* cast = dyn_cast<CastInst>(block))
    block = cast->getOperand(0);
  const auto* call = dyn_cast<CallBase>(block);
  StringRef name = call && call->getCalledFunction() ? call->getCalledFunction()->getName() : StringRef();
  if (!number || (!is_shift && product.getOpcode() != Instruction::Mul) ||
      !name.consume_front("llvm.nvvm.read.ptx.sreg.ctaid."))
    return std::nullopt;
  constexpr unsigned WIDE = 64;
  const std::uint64_t written = number->getValue().getLimitedValue();
  return BlockStep{"blockIdx." + name.str(),
                   is_shift ? std::uint64_t{1} << std::min<std::uint64_t>(written, WIDE - 1) : written,
                   product.hasNoUnsignedWrap() || product.getType()->getScalarSizeInBits() >= WIDE};
}

bool KernelIr::is_integer_by_way_of_real(Instruction& conversion) {
  bool found = false;
  walk_back(&conversion, [&](llvm::Value* current) {
    found |= isa<SIToFPInst>(current) || isa<UIToFPInst>(current);
    return !isa<LoadInst>(current) && !isa<CallBase>(current) && !isa<PHINode>(current);
  });
  return found;
}

std::string KernelIr::normal_text() {
  std::string text;
  raw_string_ostream stream(text);
  state_->kernel->print(stream);
  static const std::regex comment(";[^\n]*"), attributes(" #[0-9]+"), metadata("(, )?!([a-z._]+ )?!?[0-9]+"),
      type("%\"?(struct|class|union)\\.[A-Za-z0-9_.:<>, ]+\"?");
  text = std::regex_replace(text, comment, "");
  text = std::regex_replace(text, attributes, "");
  text = std::regex_replace(text, metadata, "");
  text = std::regex_replace(text, type, "%type");
  // Globals by order of appearance; intrinsics keep their names, which say what is done.
  static const std::regex global("@(\"[^\"]*\"|[-A-Za-z$._0-9]+)");
  std::map<std::string, std::string> names;
  std::string normal;
  std::sregex_iterator at(text.begin(), text.end(), global), end;
  std::size_t done = 0;
  for (; at != end; ++at) {
    const std::string name = at->str();
    normal.append(text, done, static_cast<std::size_t>(at->position()) - done);
    if (name.starts_with("@llvm.") || name.starts_with("@__nv_") || name == "@vprintf")
      normal += name;
    else
      normal += names.emplace(name, "@g" + std::to_string(names.size())).first->second;
    done = static_cast<std::size_t>(at->position() + at->length());
  }
  normal.append(text, done);
  return normal;
}

} // namespace lathe::refactor
