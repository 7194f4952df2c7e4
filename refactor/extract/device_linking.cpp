#include "refactor/extract/device_linking.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>

namespace lathe::refactor {

using namespace clang;

namespace {

bool is_function_elsewhere(const Decl* declaration) {
  const auto* function = dyn_cast<FunctionDecl>(declaration);
  return function && function->hasAttr<CUDADeviceAttr>() && !function->isDefined() &&
         !function->getBuiltinID() && !function->isTemplated() && !isa<CXXMethodDecl>(function) &&
         function->getIdentifier() && !function->getName().starts_with("__nv") &&
         function->getName() != "vprintf";
}

} // namespace

const NamedDecl* defined_elsewhere(const std::vector<const Decl*>& declarations) {
  for (const Decl* declaration : declarations) {
    if (is_function_elsewhere(declaration))
      return cast<NamedDecl>(declaration);
    const auto* variable = dyn_cast<VarDecl>(declaration);
    if (!variable || variable->hasAttr<CUDASharedAttr>() || !variable->hasExternalStorage())
      continue;
    if ((variable->hasAttr<CUDADeviceAttr>() || variable->hasAttr<CUDAConstantAttr>()) &&
        !variable->getDefinition())
      return variable;
  }
  return nullptr;
}

} // namespace lathe::refactor
