#include "refactor/extract/operator_classes.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

namespace lathe::refactor {

using namespace clang;

std::vector<const NamedDecl*> classes_of_operator(const NamedDecl& used) {
  std::vector<const NamedDecl*> classes;
  const FunctionDecl* function = used.getAsFunction();
  if (!function || !function->isOverloadedOperator() || isa<CXXMethodDecl>(function))
    return classes;
  for (const ParmVarDecl* parameter : function->parameters()) {
    const QualType type = parameter->getType().getNonReferenceType();
    if (const auto* instance = dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl()))
      classes.push_back(instance->getSpecializedTemplate());
    else if (const CXXRecordDecl* record = type->getAsCXXRecordDecl())
      classes.push_back(record);
    else if (const auto* specialised = type->getAs<TemplateSpecializationType>())
      if (const TemplateDecl* described = specialised->getTemplateName().getAsTemplateDecl())
        classes.push_back(described);
  }
  return classes;
}

} // namespace lathe::refactor
