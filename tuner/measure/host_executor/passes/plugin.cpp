// Registers the passes of checked kernels with clang.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace lathe_passes {

bool is_kernel_text(const llvm::Function& function) {
  // The executor's own functions are not instrumented.
  if (!function.hasFnAttribute(llvm::Attribute::SanitizeThread) || !function.getSubprogram())
    return false;
  const llvm::GlobalVariable* name = function.getParent()->getNamedGlobal("lathe_kernel_file");
  const auto* text = name && name->hasInitializer()
                         ? llvm::dyn_cast<llvm::ConstantDataSequential>(name->getInitializer())
                         : nullptr;
  const auto base = [](llvm::StringRef path) { return path.substr(path.rfind('/') + 1); };
  return text && text->isCString() &&
         base(text->getAsCString()) == base(function.getSubprogram()->getFilename());
}

llvm::GlobalVariable* leave_variable(llvm::Module& module, llvm::Constant* content, const char* name,
                                     bool is_constant) {
  auto* variable = new llvm::GlobalVariable(module, content->getType(), is_constant,
                                            llvm::GlobalValue::ExternalLinkage, content, name);
  variable->setVisibility(llvm::GlobalValue::DefaultVisibility);
  llvm::appendToUsed(module, {variable});
  return variable;
}

void leave_table(llvm::Module& module,
                 const std::vector<std::pair<llvm::GlobalVariable*, std::uint64_t>>& variables,
                 const char* name) {
  llvm::LLVMContext& context = module.getContext();
  auto* number = llvm::Type::getInt64Ty(context);
  auto* entry = llvm::StructType::get(context, {llvm::PointerType::getUnqual(context), number});
  std::vector<llvm::Constant*> table;
  for (const auto& [variable, bytes] : variables)
    table.push_back(llvm::ConstantStruct::get(entry, {variable, llvm::ConstantInt::get(number, bytes)}));
  table.push_back(llvm::Constant::getNullValue(entry));
  leave_variable(module, llvm::ConstantArray::get(llvm::ArrayType::get(entry, table.size()), table), name,
                 true);
}

} // namespace lathe_passes

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "lathe-checks", "1", [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                  passes.addPass(lathe_passes::SeparateShared());
                  passes.addPass(lathe_passes::ListGlobals());
                  // Before the others add code that is nobody's text.
                  passes.addPass(lathe_passes::MarkReached());
                  passes.addPass(lathe_passes::MarkRounds());
                  llvm::FunctionPassManager functions;
                  functions.addPass(lathe_passes::AnnounceAlignment());
                  functions.addPass(lathe_passes::AllowConversions());
                  functions.addPass(lathe_passes::WatchLocals());
                  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
                  passes.addPass(llvm::AlwaysInlinerPass());
                  llvm::FunctionPassManager inlined;
                  inlined.addPass(lathe_passes::InlineForLocals());
                  inlined.addPass(lathe_passes::CheckLocalBounds());
                  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(inlined)));
                });
          }};
}
