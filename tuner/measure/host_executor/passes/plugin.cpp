// Registers the passes of checked kernels with clang.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

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

} // namespace lathe_passes

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "lathe-checks", "1", [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                  passes.addPass(lathe_passes::SeparateShared());
                  passes.addPass(lathe_passes::ListGlobals());
                  // Before the others add code that is nobody's text.
                  passes.addPass(lathe_passes::MarkReached());
                  llvm::FunctionPassManager functions;
                  functions.addPass(lathe_passes::AnnounceAlignment());
                  functions.addPass(lathe_passes::WatchLocals());
                  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
                });
          }};
}
