// What members of objects and of classes are, among the host's expressions.
#include "refactor/frontend/constant_variables.h"
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"
#include "refactor/frontend/initial_members.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

// The type that a field has in all instances of a class template, where it is one: `dst.cols` of a matrix of
// T.
QualType field_of_template(QualType type, const std::string& name) {
  constexpr int DEEPEST = 8;
  std::vector<std::pair<QualType, int>> left{{type.getNonReferenceType(), 0}};
  while (!left.empty()) {
    const auto [of, depth] = left.back();
    left.pop_back();
    const CXXRecordDecl* record = of->getAsCXXRecordDecl();
    if (const auto* specialised = of->getAs<TemplateSpecializationType>(); !record && specialised)
      if (const auto* described =
              dyn_cast_or_null<ClassTemplateDecl>(specialised->getTemplateName().getAsTemplateDecl()))
        record = described->getTemplatedDecl();
    if (!record || !record->hasDefinition() || depth > DEEPEST)
      continue;
    for (const FieldDecl* field : record->getDefinition()->fields())
      if (field->getName() == name)
        return field->getType();
    for (const CXXBaseSpecifier& parent : record->getDefinition()->bases())
      left.emplace_back(parent.getType(), depth + 1);
  }
  return {};
}

// A device's compute capability: other structures have members of these names too.
std::string capability(QualType object, const std::string& member_name) {
  if (object.isNull() || (member_name != "major" && member_name != "minor"))
    return "";
  if (object->isPointerType())
    object = object->getPointeeType();
  const auto* record = object.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getName() == "cudaDeviceProp" ? "device.compute_" + member_name : "";
}

// A whole number that a class, or one that it derives from, has under this name.
std::optional<std::string> constant_of_class(const CXXRecordDecl& record, const std::string& name) {
  if (!record.hasDefinition())
    return std::nullopt;
  const CXXRecordDecl& known = *record.getDefinition();
  for (const Decl* declared : known.decls()) {
    if (const auto* variable = dyn_cast<VarDecl>(declared); variable && variable->getName() == name)
      if (const APValue* value = constant_value(*variable); value && value->isInt())
        return variable->getType()->isBooleanType() ? (value->getInt().getBoolValue() ? "true" : "false")
                                                    : llvm::toString(value->getInt(), 10);
    if (const auto* enumeration = dyn_cast<EnumDecl>(declared))
      for (const EnumConstantDecl* constant : enumeration->enumerators())
        if (constant->getName() == name)
          return number_of(*constant);
  }
  for (const CXXBaseSpecifier& base : known.bases())
    if (const CXXRecordDecl* of = base.getType()->getAsCXXRecordDecl())
      if (auto value = constant_of_class(*of, name))
        return value;
  return std::nullopt;
}

} // namespace

HostValue HostReader::member(const Expr* base, const std::string& member_name, QualType type) {
  const HostValue object = evaluate(base);
  if (object.kind == HostValue::Kind::structure) {
    const auto found = object.members.find(member_name);
    if (found != object.members.end())
      return found->second;
  }
  if (object.kind == HostValue::Kind::address) {
    const HostValue target = variable(object.variable);
    const auto found = target.members.find(member_name);
    if (found != target.members.end())
      return found->second;
  }
  std::string property = device_property(member_name);
  if (property.empty())
    property = capability(base->getType(), member_name);
  if (!property.empty())
    return HostValue::integer(property);
  const std::string object_text = object.text.empty() ? object_name(base) : object.text;
  const std::string full = (object_text.empty() ? "" : object_text + "_") + member_name;
  if (const auto initial = initial_member(base, member_name, context_)) {
    // What the class fixes for all objects may be what types and arrays of the device's are made of.
    if (initial->whole && initial->is_static)
      return HostValue::integer(std::to_string(*initial->whole));
    if (initial->real && initial->is_fixed)
      return HostValue::real(*initial->real);
    if (initial->whole) {
      HostValue size = query(object_text + "." + member_name, full);
      fixed_sizes_[size.text] = *initial->whole;
      return size;
    }
  }
  if (!type.isNull() && type->isDependentType())
    if (const QualType field = field_of_template(base->getType(), member_name); !field.isNull())
      type = field;
  if (is_integer(type) && !type->isDependentType())
    return query(object_text + "." + member_name, full);
  return HostValue::unknown("", full);
}

// Traits<kThreads, T>::kElements: the member's initialiser with the template's parameters bound.
HostValue HostReader::static_member(const NestedNameSpecifier* qualifier, const std::string& member_name) {
  const Type* type = qualifier ? qualifier->getAsType() : nullptr;
  if (!type || depth_ >= CALL_DEPTH)
    return HostValue::unknown("");
  // decltype(tag)::value of an object that stands for a number.
  if (const auto* asked = dyn_cast<DecltypeType>(type)) {
    const HostValue object = evaluate(asked->getUnderlyingExpr());
    const auto found = object.members.find(member_name);
    return found == object.members.end() ? HostValue::unknown("") : found->second;
  }
  if (auto value = member_of_instances(*type, member_name))
    return *value;
  const auto* specialised = type->getAs<TemplateSpecializationType>();
  if (const auto* alias = type->getAs<TypedefType>())
    specialised = alias->desugar()->getAs<TemplateSpecializationType>();
  if (!specialised)
    return HostValue::unknown("");
  const auto* described =
      dyn_cast_or_null<ClassTemplateDecl>(specialised->getTemplateName().getAsTemplateDecl());
  if (!described)
    return HostValue::unknown("");
  const auto outer = bound_;
  const llvm::ArrayRef<TemplateArgument> arguments = specialised->template_arguments();
  const TemplateParameterList& parameters = *described->getTemplateParameters();
  std::map<const NamedDecl*, HostValue> inner;
  for (unsigned i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    if (arguments[i].getKind() == TemplateArgument::Expression)
      inner[parameters.getParam(i)] = evaluate(arguments[i].getAsExpr());
    else if (arguments[i].getKind() == TemplateArgument::Integral)
      inner[parameters.getParam(i)] = HostValue::integer(llvm::toString(arguments[i].getAsIntegral(), 10));
    else if (arguments[i].getKind() == TemplateArgument::Type)
      inner[parameters.getParam(i)] = HostValue::unknown("", arguments[i].getAsType().getAsString());
  }
  bound_.insert(inner.begin(), inner.end());
  for (auto& [parameter, value] : inner)
    bound_[parameter] = value;
  HostValue value = HostValue::unknown("");
  ++depth_;
  for (const Decl* declared : described->getTemplatedDecl()->getDefinition()
                                  ? described->getTemplatedDecl()->getDefinition()->decls()
                                  : described->getTemplatedDecl()->decls())
    if (const auto* constant = dyn_cast<VarDecl>(declared);
        constant && constant->getNameAsString() == member_name) {
      const Expr* initialiser = constant->getAnyInitializer();
      if (initialiser)
        value = evaluate(initialiser);
    }
  --depth_;
  bound_ = outer;
  return value.is_number() ? value : instance_member(*described, inner, member_name);
}

// Traits::width, where Traits is a template parameter of the launcher: the number that it is in all
// instances, or an argument that the instances do not agree on.
std::optional<HostValue> HostReader::member_of_instances(const Type& parameter,
                                                         const std::string& member_name) {
  const auto* named = parameter.getAs<TemplateTypeParmType>();
  // The type in a name that depends on it does not know its declaration: in a function that the launcher
  // calls it may be another one.
  if (functions_.size() != 1)
    return std::nullopt;
  const auto classes = std::ranges::find_if(classes_of_instances_, [&](const auto& known) {
    const auto* declared = cast<TemplateTypeParmDecl>(known.first);
    return named && declared->getDepth() == named->getDepth() && declared->getIndex() == named->getIndex();
  });
  if (classes == classes_of_instances_.end() || classes->second.empty())
    return std::nullopt;
  std::vector<std::string> values;
  for (const CXXRecordDecl* record : classes->second) {
    const auto value = record ? constant_of_class(*record, member_name) : std::nullopt;
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  if (std::ranges::count(values, values.front()) == std::ssize(values))
    return HostValue::integer(values.front());
  const std::string name =
      unique_name(classes->first->getNameAsString() + "_" + member_name, owner_of(classes->first));
  open_arguments_[name] = std::move(values);
  return HostValue::integer(name);
}

const std::string& HostReader::text_of_type(QualType type) {
  const QualType canonical = type.getCanonicalType();
  const auto [text, is_new] = type_texts_.try_emplace(canonical.getAsOpaquePtr());
  if (is_new)
    text->second = canonical.getAsString();
  return text->second;
}

// What only an instance knows, such as sizeof of a structure of its own: asked of the file's instance with
// these arguments.
HostValue HostReader::instance_member(const ClassTemplateDecl& described,
                                      const std::map<const NamedDecl*, HostValue>& arguments,
                                      const std::string& member_name) {
  const TemplateParameterList& parameters = *described.getTemplateParameters();
  for (const ClassTemplateSpecializationDecl* instance : described.specializations()) {
    const TemplateArgumentList& own = instance->getTemplateArgs();
    bool is_meant = true;
    for (unsigned i = 0; i < parameters.size() && i < own.size() && is_meant; ++i) {
      const auto wanted = arguments.find(parameters.getParam(i));
      if (wanted == arguments.end())
        continue; // the default
      if (own[i].getKind() == TemplateArgument::Integral) {
        const llvm::APSInt number = own[i].getAsIntegral();
        const std::string text = wanted->second.text == "true"    ? "1"
                                 : wanted->second.text == "false" ? "0"
                                                                  : wanted->second.text;
        is_meant = llvm::toString(number.isSigned() ? number : llvm::APSInt(number.zext(64)), 10) == text;
      } else {
        is_meant = own[i].getKind() == TemplateArgument::Type &&
                   text_of_type(own[i].getAsType()) == wanted->second.text;
      }
    }
    if (!is_meant)
      continue;
    for (const Decl* declared : instance->decls())
      if (const auto* constant = dyn_cast<VarDecl>(declared);
          constant && constant->getNameAsString() == member_name)
        if (const APValue* value = constant_value(*constant); value && value->isInt())
          return HostValue::integer(llvm::toString(value->getInt(), 10));
  }
  return HostValue::unknown("");
}

} // namespace lathe::refactor
