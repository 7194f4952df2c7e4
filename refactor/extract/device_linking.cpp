#include "refactor/extract/device_linking.h"

#include <clang/AST/Attr.h>

namespace lathe::refactor {

using namespace clang;

const VarDecl* defined_elsewhere(const std::vector<const Decl*>& declarations) {
  for (const Decl* declaration : declarations) {
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
