#include "refactor/frontend/element_types.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace lathe::refactor {

using namespace clang;

namespace {

// What the parameters of a class template, by depth and index, are bound to where its members are read.
using Bindings = std::map<std::pair<unsigned, unsigned>, QualType>;

// Structures within one another are looked into so deep: where a source has errors, one may hold itself.
constexpr int DEEPEST = 32;

QualType number_in(QualType type, const Bindings& bound, int depth);

// The one number that all bases and members of a structure consist of.
QualType number_of_members(const CXXRecordDecl& record, const Bindings& bound, int depth) {
  QualType common;
  const auto agrees = [&](QualType member) {
    const QualType number = number_in(member, bound, depth + 1);
    if (number.isNull() || (!common.isNull() && number != common))
      return false;
    common = number;
    return true;
  };
  for (const CXXBaseSpecifier& base : record.bases()) {
    const CXXRecordDecl* of = base.getType()->getAsCXXRecordDecl();
    if (!(of && of->hasDefinition() && of->isEmpty()) && !agrees(base.getType()))
      return {};
  }
  for (const FieldDecl* field : record.fields())
    if (field->isBitField() || !agrees(field->getType()))
      return {};
  return common;
}

// Of a type that follows template parameters: Vec<T> consists of T where the class template says so, and none
// of its specialisations may say otherwise.
QualType number_of_dependent(QualType type, const Bindings& bound, int depth) {
  if (const auto* parameter = type->getAs<TemplateTypeParmType>()) {
    const auto found = bound.find({parameter->getDepth(), parameter->getIndex()});
    return found == bound.end() ? type : number_in(found->second, {}, depth + 1);
  }
  if (const auto* array = type->getAsArrayTypeUnsafe())
    return isa<ConstantArrayType, DependentSizedArrayType>(array)
               ? number_in(array->getElementType(), bound, depth)
               : QualType();
  const auto* specialised = type->getAs<TemplateSpecializationType>();
  const auto* described =
      specialised ? dyn_cast_or_null<ClassTemplateDecl>(specialised->getTemplateName().getAsTemplateDecl())
                  : nullptr;
  const CXXRecordDecl* pattern = described ? described->getTemplatedDecl()->getDefinition() : nullptr;
  llvm::SmallVector<ClassTemplatePartialSpecializationDecl*> partial;
  if (described)
    const_cast<ClassTemplateDecl*>(described)->getPartialSpecializations(partial);
  if (!pattern || pattern->isUnion() || !partial.empty() ||
      std::ranges::any_of(described->specializations(), [](const ClassTemplateSpecializationDecl* instance) {
        return instance->isExplicitSpecialization();
      }))
    return {};
  Bindings inner;
  const TemplateParameterList& parameters = *described->getTemplateParameters();
  const llvm::ArrayRef<TemplateArgument> arguments = specialised->template_arguments();
  for (unsigned i = 0; i < parameters.size() && i < arguments.size(); ++i)
    if (const auto* parameter = dyn_cast<TemplateTypeParmDecl>(parameters.getParam(i));
        parameter && arguments[i].getKind() == TemplateArgument::Type) {
      const QualType number = number_in(arguments[i].getAsType(), bound, depth + 1);
      inner[{parameter->getDepth(), parameter->getIndex()}] =
          number.isNull() ? arguments[i].getAsType() : number;
    }
  return number_of_members(*pattern, inner, depth);
}

QualType number_in(QualType type, const Bindings& bound, int depth) {
  if (depth > DEEPEST)
    return {};
  type = type.getUnqualifiedType();
  if (type->isDependentType())
    return number_of_dependent(type, bound, depth);
  type = type.getCanonicalType().getUnqualifiedType();
  if (const auto* array = type->getAsArrayTypeUnsafe())
    return isa<ConstantArrayType>(array) ? number_in(array->getElementType(), {}, depth) : QualType();
  if (const auto* enumeration = type->getAs<EnumType>())
    return enumeration->getDecl()->getIntegerType().isNull()
               ? QualType()
               : enumeration->getDecl()->getIntegerType().getCanonicalType();
  if (type->isBuiltinType())
    return type->isArithmeticType() ? type : QualType();
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  // CUDA's own types of 16 and 8 bits are numbers although they are written as structures.
  if (!record || !record->hasDefinition() || !record->isStandardLayout() || record->isUnion() ||
      record->getName().starts_with("__"))
    return record && record->getName().starts_with("__") ? type : QualType();
  return number_of_members(*record, {}, depth);
}

// The members that a structure has, its bases' too; of a template those that are written there.
class PlainStructure {
public:
  // False where a member is no number, no structure of numbers and no pointer.
  bool read(QualType type, int depth = 0) {
    const CXXRecordDecl* record = type->getAsCXXRecordDecl();
    const auto* specialised = type->getAs<TemplateSpecializationType>();
    if (const auto* described =
            type->isDependentType() && specialised
                ? dyn_cast_or_null<ClassTemplateDecl>(specialised->getTemplateName().getAsTemplateDecl())
                : nullptr)
      record = described->getTemplatedDecl();
    if (depth > DEEPEST || !record || !record->hasDefinition() || record->getDefinition()->isPolymorphic() ||
        (!record->isDependentType() && !record->isTriviallyCopyable()))
      return false;
    record = record->getDefinition();
    return std::ranges::all_of(
               record->bases(),
               [&](const CXXBaseSpecifier& base) { return read(base.getType(), depth + 1); }) &&
           std::ranges::all_of(record->fields(),
                               [&](const FieldDecl* field) { return read_member(*field, depth); });
  }
  std::set<std::string> pointers; // by name

private:
  bool read_member(const FieldDecl& field, int depth) {
    QualType type = field.getType();
    while (const auto* array = type->getAsArrayTypeUnsafe())
      type = array->getElementType();
    if (type->isPointerType())
      pointers.insert(field.getNameAsString());
    return type->isPointerType() || type->isArithmeticType() || type->isEnumeralType() ||
           isa<TemplateTypeParmType, DependentNameType>(type.getTypePtr()->getUnqualifiedDesugaredType()) ||
           read(type, depth + 1);
  }
};

// Whether a function, or one that it calls, names one of the members.
class Names : public RecursiveASTVisitor<Names> {
public:
  explicit Names(const std::set<std::string>& members) : members_(members) {}

  bool in(const FunctionDecl* function) {
    const FunctionDecl* definition = nullptr;
    if (function->isDefined(definition) && seen_.insert(definition).second)
      TraverseStmt(definition->getBody());
    return is_named_;
  }
  bool VisitMemberExpr(MemberExpr* member) { return note(member->getMemberNameInfo().getAsString()); }
  bool VisitCXXDependentScopeMemberExpr(CXXDependentScopeMemberExpr* member) {
    return note(member->getMember().getAsString());
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (const auto* function = dyn_cast<FunctionDecl>(reference->getDecl()))
      in(function);
    return !is_named_;
  }
  bool VisitOverloadExpr(OverloadExpr* overloads) {
    for (const NamedDecl* candidate : overloads->decls())
      if (const FunctionDecl* function = candidate->getUnderlyingDecl()->getAsFunction())
        in(function);
    return !is_named_;
  }

private:
  bool note(const std::string& name) {
    is_named_ |= members_.contains(name);
    return !is_named_;
  }

  const std::set<std::string>& members_;
  std::set<const FunctionDecl*> seen_;
  bool is_named_ = false;
};

} // namespace

QualType number_of(QualType type) {
  return number_in(type, {}, 0);
}

bool is_plain_structure(QualType type, const ParmVarDecl& parameter) {
  PlainStructure structure;
  if (!structure.read(type.getUnqualifiedType()))
    return false;
  const auto* kernel = dyn_cast<FunctionDecl>(parameter.getDeclContext());
  return structure.pointers.empty() || (kernel && !Names(structure.pointers).in(kernel));
}

QualType type_in_instances(const FunctionDecl& kernel, unsigned index) {
  const FunctionTemplateDecl* described = kernel.getDescribedFunctionTemplate();
  const QualType written = kernel.getParamDecl(index)->getType();
  if (!described || !written->isDependentType() || isa<TemplateTypeParmType>(written.getCanonicalType()))
    return {};
  std::map<const clang::Type*, int> votes;
  for (const FunctionDecl* instance : described->specializations()) {
    if (index >= instance->getNumParams())
      continue;
    const QualType type = instance->getParamDecl(index)->getType().getCanonicalType().getUnqualifiedType();
    if (type->isBuiltinType())
      ++votes[type.getTypePtr()];
  }
  const auto most = std::max_element(votes.begin(), votes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == votes.end() ? QualType() : QualType(most->first, 0);
}

std::string element_in_instances(const FunctionDecl& kernel, unsigned index, ASTContext& context) {
  const FunctionTemplateDecl* described = kernel.getDescribedFunctionTemplate();
  const QualType written = kernel.getParamDecl(index)->getType();
  if (!described || !written->isPointerType() || !written->isDependentType())
    return "";
  std::optional<std::set<std::string>> common; // names that fit all instances
  for (const FunctionDecl* instance : described->specializations()) {
    const TemplateArgumentList* arguments = instance->getTemplateSpecializationArgs();
    if (index >= instance->getNumParams() || !instance->getParamDecl(index)->getType()->isPointerType())
      return "";
    const QualType number = number_of(instance->getParamDecl(index)->getType()->getPointeeType());
    if (number.isNull() || !arguments)
      return "";
    std::set<std::string> fitting{number.getAsString(PrintingPolicy(context.getLangOpts()))};
    for (unsigned i = 0; i < arguments->size() && i < described->getTemplateParameters()->size(); ++i)
      if (arguments->get(i).getKind() == TemplateArgument::Type &&
          arguments->get(i).getAsType().getCanonicalType().getUnqualifiedType() == number)
        fitting.insert(described->getTemplateParameters()->getParam(i)->getNameAsString());
    if (common)
      std::erase_if(*common, [&](const std::string& name) { return !fitting.contains(name); });
    else
      common = std::move(fitting);
  }
  if (!common || common->empty())
    return "";
  // A parameter says more than the number that it is here.
  const auto parameter = std::ranges::find_if(*common, [&](const std::string& name) {
    return std::ranges::any_of(*described->getTemplateParameters(),
                               [&](const NamedDecl* own) { return own->getName() == name; });
  });
  return parameter == common->end() ? *common->begin() : *parameter;
}

} // namespace lathe::refactor
