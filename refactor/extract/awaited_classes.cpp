#include "refactor/extract/awaited_classes.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

namespace lathe::refactor {

using namespace clang;

namespace {

void add_class(QualType type, std::vector<const NamedDecl*>& classes) {
  if (const auto* instance = dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl()))
    classes.push_back(instance->getSpecializedTemplate());
  else if (const CXXRecordDecl* record = type->getAsCXXRecordDecl())
    classes.push_back(record);
  else if (const auto* specialised = type->getAs<TemplateSpecializationType>())
    if (const TemplateDecl* described = specialised->getTemplateName().getAsTemplateDecl())
      classes.push_back(described);
}

} // namespace

std::vector<const NamedDecl*> classes_of_operator(const NamedDecl& used) {
  std::vector<const NamedDecl*> classes;
  const FunctionDecl* function = used.getAsFunction();
  if (!function || !function->isOverloadedOperator() || isa<CXXMethodDecl>(function))
    return classes;
  for (const ParmVarDecl* parameter : function->parameters())
    add_class(parameter->getType().getNonReferenceType(), classes);
  return classes;
}

std::vector<const NamedDecl*> classes_among_arguments(const ClassTemplateSpecializationDecl& specialised) {
  std::vector<const NamedDecl*> classes;
  for (const TemplateArgument& argument : specialised.getTemplateArgs().asArray())
    if (argument.getKind() == TemplateArgument::Type)
      add_class(argument.getAsType(), classes);
  return classes;
}

} // namespace lathe::refactor
