// What host code calls a kernel: by its name with template arguments, through constants that stand for it.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

const FunctionDecl* pattern_of(const FunctionDecl* function) {
  if (const FunctionDecl* pattern = function->getTemplateInstantiationPattern())
    return pattern->getCanonicalDecl();
  if (const FunctionTemplateDecl* primary = function->getPrimaryTemplate())
    return primary->getTemplatedDecl()->getCanonicalDecl();
  return function->getCanonicalDecl();
}

// The number as an argument for a parameter of the expression's type: no number converts to an enumeration,
// and no scoped enumeration to a number. `parameter`: null where it is not known.
std::string enumerator(const Expr& expression, const std::string& number, const NamedDecl* parameter,
                       const ASTContext& context) {
  const auto* type = expression.getType()->getAs<EnumType>();
  const auto* own = dyn_cast_or_null<NonTypeTemplateParmDecl>(parameter);
  const bool is_asked = own && context.hasSameUnqualifiedType(own->getType(), expression.getType());
  if (!type || !type->getDecl()->hasNameForLinkage() || (!type->getDecl()->isScoped() && !is_asked))
    return number;
  PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.SuppressUnwrittenScope = true;
  return fmt::format("static_cast<{}>({})", QualType(type, 0).getAsString(policy), number);
}

const TemplateParameterList* parameters_of(const FunctionDecl* function) {
  const FunctionTemplateDecl* described = pattern_of(function)->getDescribedFunctionTemplate();
  return described ? described->getTemplateParameters() : nullptr;
}

} // namespace

// A type argument as the template will need it: names that launchers and dispatch macros bind stay, local
// names for something longer are written out.
std::string HostReader::type_argument(QualType type) {
  PrintingPolicy policy(context_.getLangOpts());
  policy.SuppressTagKeyword = true;
  if (const auto known = bound_.find(type_parameter(type)); known != bound_.end())
    return known->second.text;
  // Config::SharedStorage of a Config that the launcher has written out.
  const NestedNameSpecifier* within = nullptr;
  std::string member;
  if (const auto* dependent = type->getAs<DependentNameType>()) {
    within = dependent->getQualifier();
    member = dependent->getIdentifier()->getName().str();
  } else if (const auto* elaborated = dyn_cast<ElaboratedType>(type.getTypePtr())) {
    within = elaborated->getQualifier();
    if (const auto* named = elaborated->getNamedType()->getAs<TypedefType>())
      member = named->getDecl()->getNameAsString();
    else if (const auto* tag = elaborated->getNamedType()->getAsTagDecl())
      member = tag->getNameAsString();
  }
  if (const Type* outer = within ? within->getAsType() : nullptr; outer && !member.empty())
    if (const auto* alias = outer->getAs<TypedefType>();
        alias && alias->getDecl()->getParentFunctionOrMethod())
      return type_argument(QualType(outer, 0)) + "::" + member;
  if (const auto* alias = type->getAs<TypedefType>();
      alias && alias->getDecl()->getParentFunctionOrMethod()) {
    const QualType meant = alias->getDecl()->getUnderlyingType();
    const auto* specialised = meant->getAs<TemplateSpecializationType>();
    if (specialised && !specialised->isTypeAlias())
      return type_argument(meant);
  }
  if (const auto* specialised = type->getAs<TemplateSpecializationType>();
      specialised && !type->getAs<TypedefType>()) {
    std::string list;
    for (const TemplateArgument& argument : specialised->template_arguments()) {
      std::string text;
      if (argument.getKind() == TemplateArgument::Type) {
        text = type_argument(argument.getAsType());
      } else if (argument.getKind() == TemplateArgument::Expression) {
        const HostValue value = evaluate(argument.getAsExpr());
        text = value.is_number() ? value.text : this->text(argument.getAsExpr());
      } else {
        llvm::raw_string_ostream stream(text);
        argument.print(policy, stream, true);
      }
      list += (list.empty() ? "" : ", ") + text;
    }
    std::string head;
    llvm::raw_string_ostream stream(head);
    const auto known = bound_.find(specialised->getTemplateName().getAsTemplateDecl());
    if (known != bound_.end())
      head = known->second.text;
    else
      specialised->getTemplateName().print(stream, policy, TemplateName::Qualified::AsWritten);
    return head + "<" + list + ">";
  }
  return type.getAsString(policy);
}

// KERNEL<T>, where a macro's argument and its own text make one name.
std::string HostReader::function_argument(const Expr* expression) {
  llvm::ArrayRef<TemplateArgumentLoc> written;
  const NamedDecl* named = nullptr;
  expression = plain(expression);
  if (const auto* reference = dyn_cast<DeclRefExpr>(expression)) {
    named = reference->getDecl();
    written = reference->template_arguments();
  } else if (const auto* overloads = dyn_cast<OverloadExpr>(expression);
             overloads && overloads->getNumDecls() > 0) {
    named = *overloads->decls_begin();
    written = overloads->template_arguments();
  }
  const FunctionDecl* function = named ? named->getAsFunction() : nullptr;
  if (!function)
    return "";
  std::vector<std::string> unreadable;
  std::string list;
  for (const std::string& argument : template_arguments(written, parameters_of(function), unreadable))
    list += (list.empty() ? "" : ", ") + argument;
  return function->getQualifiedNameAsString() + (list.empty() ? "" : "<" + list + ">");
}

std::vector<std::string> HostReader::template_arguments(llvm::ArrayRef<TemplateArgumentLoc> written,
                                                        const TemplateParameterList* parameters,
                                                        std::vector<std::string>& unreadable) {
  std::vector<std::string> result;
  for (const TemplateArgumentLoc& argument : written) {
    const NamedDecl* parameter = parameters && result.size() < parameters->size()
                                     ? parameters->getParam(static_cast<unsigned>(result.size()))
                                     : nullptr;
    switch (argument.getArgument().getKind()) {
    case TemplateArgument::Type:
      result.push_back(type_argument(argument.getTypeSourceInfo()->getType()));
      break;
    case TemplateArgument::Expression: {
      const Expr* expression = argument.getSourceExpression();
      const HostValue value = evaluate(expression);
      // Functions and other values are named as they are in the source.
      if (value.is_number())
        result.push_back(enumerator(*expression, value.text, parameter, context_));
      else if (std::string name = text(expression); !name.empty())
        result.push_back(std::move(name));
      else
        result.push_back(function_argument(expression));
      if (value.kind == HostValue::Kind::unknown && value.text.empty() &&
          !isa<DeclRefExpr>(expression->IgnoreParenImpCasts()))
        unreadable.push_back("template argument: " + value.why);
      break;
    }
    default: {
      std::string text;
      llvm::raw_string_ostream stream(text);
      argument.getArgument().print(PrintingPolicy(context_.getLangOpts()), stream, true);
      result.push_back(text);
    }
    }
  }
  return result;
}

std::vector<std::string> HostReader::texts(llvm::ArrayRef<TemplateArgument> arguments,
                                           const ASTContext& context) {
  PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.PrintCanonicalTypes = true;
  policy.SuppressUnwrittenScope = true; // no program can write "(anonymous namespace)::"
  std::vector<std::string> result;
  for (const TemplateArgument& argument : arguments) {
    if (argument.getKind() == TemplateArgument::Pack) {
      for (std::string& inner : texts(argument.pack_elements(), context))
        result.push_back(std::move(inner));
      continue;
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    argument.print(policy, stream, false);
    // NVRTC deduces `auto` parameters from a function's name, not from its address.
    if (argument.getKind() == TemplateArgument::Declaration)
      if (const auto* function = dyn_cast<FunctionDecl>(argument.getAsDecl())) {
        text.clear();
        function->getNameForDiagnostic(stream, policy, /*Qualified=*/true);
      }
    result.push_back(text);
  }
  return result;
}

HostValue HostReader::kernel_reference(const Expr* expression) {
  HostValue value;
  const auto add = [&](const FunctionDecl* kernel, llvm::ArrayRef<TemplateArgumentLoc> written,
                       const FunctionDecl* concrete) {
    KernelReference reference;
    reference.kernel = pattern_of(kernel);
    reference.arguments = template_arguments(written, parameters_of(kernel), reference.unreadable);
    if (concrete)
      if (const TemplateArgumentList* arguments = concrete->getTemplateSpecializationArgs())
        reference.concrete = texts(arguments->asArray(), context_);
    value.kind = HostValue::Kind::kernel;
    value.text = kernel->getNameAsString();
    value.kernels.push_back(std::move(reference));
  };
  if (const auto* reference = dyn_cast<DeclRefExpr>(expression)) {
    const auto* function = cast<FunctionDecl>(reference->getDecl());
    if (function->hasAttr<CUDAGlobalAttr>())
      add(function, reference->template_arguments(), function);
    else
      value.text = function->getNameAsString();
  } else if (const auto* overloads = dyn_cast<UnresolvedLookupExpr>(expression)) {
    for (const NamedDecl* candidate : overloads->decls()) {
      if (const auto* named = dyn_cast<VarTemplateDecl>(candidate->getUnderlyingDecl()))
        return variable_template(*named, overloads->template_arguments());
      const FunctionDecl* function = candidate->getUnderlyingDecl()->getAsFunction();
      // Of several templates with as many parameters one; of overloads for several types, all that may be
      // meant.
      const auto takes_as_many = [&](const KernelReference& other) {
        return other.kernel->getNumParams() == function->getNumParams();
      };
      if (function && function->hasAttr<CUDAGlobalAttr>() &&
          (std::ranges::none_of(value.kernels, takes_as_many) ||
           (!isa<FunctionTemplateDecl>(candidate->getUnderlyingDecl()) &&
            !overloads->hasExplicitTemplateArgs())))
        add(function, overloads->template_arguments(), nullptr);
    }
    if (value.kernels.empty())
      value.text = overloads->getName().getAsString();
  }
  return value;
}

// template <int n> constexpr auto kernel_of = kernel<T, n>: its initialiser, with its parameters bound.
HostValue HostReader::variable_template(const VarTemplateDecl& described,
                                        llvm::ArrayRef<TemplateArgumentLoc> written) {
  const Expr* initialiser = described.getTemplatedDecl()->getAnyInitializer();
  if (!initialiser || depth_ >= CALL_DEPTH)
    return HostValue::unknown("", described.getNameAsString());
  const TemplateParameterList& parameters = *described.getTemplateParameters();
  std::map<const NamedDecl*, HostValue> inner;
  for (unsigned i = 0; i < parameters.size(); ++i) {
    const NamedDecl* parameter = parameters.getParam(i);
    const TemplateArgumentLoc* argument = i < written.size() ? &written[i] : nullptr;
    if (const auto* number = dyn_cast<NonTypeTemplateParmDecl>(parameter); !argument && number)
      argument = number->hasDefaultArgument() ? &number->getDefaultArgument() : nullptr;
    if (const auto* type = dyn_cast<TemplateTypeParmDecl>(parameter); !argument && type)
      argument = type->hasDefaultArgument() ? &type->getDefaultArgument() : nullptr;
    if (!argument)
      continue;
    if (argument->getArgument().getKind() == TemplateArgument::Type)
      inner[parameter] = HostValue::unknown("", type_argument(argument->getTypeSourceInfo()->getType()));
    else if (argument->getArgument().getKind() == TemplateArgument::Expression)
      inner[parameter] = evaluate(argument->getSourceExpression());
  }
  const auto outer = bound_;
  for (auto& [parameter, value] : inner)
    bound_[parameter] = std::move(value);
  ++depth_;
  HostValue value = evaluate(initialiser);
  --depth_;
  bound_ = outer;
  return value;
}

} // namespace lathe::refactor
