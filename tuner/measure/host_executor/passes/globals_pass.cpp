// Variables that outlive a launch: every checked run starts from what they held at first.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace lathe_passes {

using namespace llvm;

namespace {

// __device__ and __constant__ variables and static ones of functions: not shared memory, and not the
// executor's own, which are all named after it.
bool outlives_a_launch(const GlobalVariable& variable) {
  return !variable.isConstant() && variable.hasInitializer() && !variable.isThreadLocal() &&
         variable.getSection() != "lathe_shared" && !variable.getName().contains("lathe") &&
         !variable.getName().starts_with("llvm.");
}

} // namespace

PreservedAnalyses ListGlobals::run(Module& module, ModuleAnalysisManager&) {
  std::vector<std::pair<GlobalVariable*, std::uint64_t>> found;
  for (GlobalVariable& variable : module.globals())
    if (outlives_a_launch(variable))
      found.emplace_back(&variable, module.getDataLayout().getTypeAllocSize(variable.getValueType()));
  if (found.empty())
    return PreservedAnalyses::all();
  leave_table(module, found, "lathe_global_variables");
  return PreservedAnalyses::none();
}

} // namespace lathe_passes
