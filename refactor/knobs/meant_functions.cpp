#include "refactor/knobs/meant_functions.h"

#include <clang/AST/ExprCXX.h>

namespace lathe::refactor {

using namespace clang;

const FunctionDecl* definition_of(const FunctionDecl* function) {
  if (const FunctionDecl* pattern = function->getTemplateInstantiationPattern())
    function = pattern;
  const FunctionDecl* definition = nullptr;
  return function->hasBody(definition) ? definition : function;
}

std::vector<const FunctionDecl*> explicit_specialisations(const FunctionTemplateDecl& described) {
  std::vector<const FunctionDecl*> found;
  for (const FunctionDecl* instance : described.specializations())
    if (instance->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
      found.push_back(definition_of(instance));
  return found;
}

std::vector<const FunctionDecl*> functions_meant(const Stmt* name) {
  std::vector<const FunctionDecl*> found;
  if (const auto* reference = dyn_cast<DeclRefExpr>(name)) {
    if (const auto* function = dyn_cast<FunctionDecl>(reference->getDecl()))
      found.push_back(definition_of(function));
  } else if (const auto* lookup = dyn_cast<OverloadExpr>(name)) {
    for (const NamedDecl* declared : lookup->decls()) {
      declared = declared->getUnderlyingDecl();
      if (const auto* of_template = dyn_cast<FunctionTemplateDecl>(declared)) {
        declared = of_template->getTemplatedDecl();
        const auto own = explicit_specialisations(*of_template);
        found.insert(found.end(), own.begin(), own.end());
      }
      if (const auto* function = dyn_cast<FunctionDecl>(declared))
        found.push_back(definition_of(function));
    }
  }
  return found;
}

bool takes(const FunctionDecl* function, unsigned arguments) {
  if (arguments < function->getMinRequiredArguments())
    return false;
  const bool has_pack =
      function->getNumParams() > 0 && function->getParamDecl(function->getNumParams() - 1)->isParameterPack();
  return arguments <= function->getNumParams() || has_pack || function->isVariadic();
}

} // namespace lathe::refactor
