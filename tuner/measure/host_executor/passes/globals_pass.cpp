// Variables that outlive a launch: every checked run starts from what they held at first.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

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
  LLVMContext& context = module.getContext();
  auto* entry = StructType::get(context, {PointerType::getUnqual(context), Type::getInt64Ty(context)});
  std::vector<Constant*> table;
  for (GlobalVariable& variable : module.globals())
    if (outlives_a_launch(variable)) {
      const std::uint64_t size = module.getDataLayout().getTypeAllocSize(variable.getValueType());
      table.push_back(
          ConstantStruct::get(entry, {&variable, ConstantInt::get(Type::getInt64Ty(context), size)}));
    }
  if (table.empty())
    return PreservedAnalyses::all();
  table.push_back(Constant::getNullValue(entry));
  auto* type = ArrayType::get(entry, table.size());
  auto* places = new GlobalVariable(module, type, true, GlobalValue::ExternalLinkage,
                                    ConstantArray::get(type, table), "lathe_global_variables");
  places->setVisibility(GlobalValue::DefaultVisibility);
  appendToUsed(module, {places});
  return PreservedAnalyses::none();
}

} // namespace lathe_passes
