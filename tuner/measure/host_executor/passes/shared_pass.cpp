// Two arrays in shared memory: what runs over the end of one is seen only where the next does not begin at
// once.
#include "tuner/measure/host_executor/passes/passes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace lathe_passes {

using namespace llvm;

PreservedAnalyses SeparateShared::run(Module& module, ModuleAnalysisManager&) {
  constexpr std::uint64_t GAP = 64; // bytes behind each variable that are nobody's
  std::vector<GlobalVariable*> variables;
  for (GlobalVariable& variable : module.globals())
    if (variable.getSection() == "lathe_shared" && variable.hasInitializer() &&
        !variable.getName().contains("lathe_shared_guard"))
      variables.push_back(&variable);
  if (variables.empty())
    return PreservedAnalyses::all();
  LLVMContext& context = module.getContext();
  auto* gap = ArrayType::get(Type::getInt8Ty(context), GAP);
  std::vector<std::pair<GlobalVariable*, std::uint64_t>> apart;
  for (GlobalVariable* variable : variables) {
    // Nothing outside this unit knows the variable.
    auto* type = StructType::get(context, {variable->getValueType(), gap});
    auto* larger = new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                      Constant::getNullValue(type), variable->getName() + ".apart");
    larger->setSection("lathe_shared");
    larger->setAlignment(variable->getAlign());
    const std::uint64_t size = module.getDataLayout().getTypeAllocSize(variable->getValueType());
    variable->replaceAllUsesWith(larger);
    variable->eraseFromParent();
    apart.emplace_back(larger, size);
  }
  leave_table(module, apart, "lathe_shared_variables");
  return PreservedAnalyses::none();
}

} // namespace lathe_passes
