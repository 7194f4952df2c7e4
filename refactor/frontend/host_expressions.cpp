#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"
#include "refactor/frontend/index_types.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

std::string identifier_of(const std::string& text) {
  std::string name;
  for (const char letter : text) {
    const bool word = std::isalnum(static_cast<unsigned char>(letter)) || letter == '_';
    if (word)
      name += letter;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) ? "n_" + name : name;
}

// Whether the variable is of a type parameter of its function's that stands for integers.
bool is_of_index_type(const VarDecl* variable) {
  const auto* type = variable->getType().getNonReferenceType()->getAs<TemplateTypeParmType>();
  const auto* function = dyn_cast<FunctionDecl>(variable->getDeclContext());
  const FunctionTemplateDecl* described = function ? function->getDescribedFunctionTemplate() : nullptr;
  const TemplateParameterList* parameters = described ? described->getTemplateParameters() : nullptr;
  if (!type || !parameters || type->getDepth() != parameters->getDepth() ||
      type->getIndex() >= parameters->size())
    return false;
  // What all of the source's instances say, before what its name does.
  bool is_known = false, is_integer = true;
  for (const FunctionDecl* instance : described->specializations())
    if (const TemplateArgumentList* arguments = instance->getTemplateSpecializationArgs();
        arguments && type->getIndex() < arguments->size() &&
        arguments->get(type->getIndex()).getKind() == TemplateArgument::Type) {
      is_known = true;
      is_integer &= is_size(arguments->get(type->getIndex()).getAsType());
    }
  if (is_known)
    return is_integer;
  const auto* declared = dyn_cast<TemplateTypeParmDecl>(parameters->getParam(type->getIndex()));
  return declared &&
         is_index_type(declared->getNameAsString(),
                       declared->hasDefaultArgument()
                           ? declared->getDefaultArgument().getArgument().getAsType().getAsString()
                           : "");
}

} // namespace

HostReader::HostReader(ParsedSourceImpl& source, OtherDefinitions* others)
    : source_(source), others_(others), context_(source.ast().getASTContext()), sizes_(source),
      caller_sizes_(source) {}

std::string HostReader::text(const Stmt* statement) const {
  const SourceManager& sources = context_.getSourceManager();
  const SourceLocation begin = sources.getSpellingLoc(statement->getBeginLoc()),
                       end = sources.getSpellingLoc(statement->getEndLoc());
  std::string found =
      Lexer::getSourceText(CharSourceRange::getTokenRange(begin, end), sources, context_.getLangOpts()).str();
  std::string squeezed;
  for (const char letter : found)
    if (!std::isspace(static_cast<unsigned char>(letter)))
      squeezed += letter;
    else if (!squeezed.empty() && squeezed.back() != ' ')
      squeezed += ' ';
  return squeezed.size() > 120 ? squeezed.substr(0, 117) + "..." : squeezed;
}

std::string HostReader::line(SourceLocation location) const {
  return fmt::format("line {}", context_.getSourceManager().getExpansionLineNumber(location));
}

std::string HostReader::callee_name(const CallExpr* call) {
  const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(callee))
    return reference->getNameInfo().getAsString();
  if (const auto* overloads = dyn_cast<OverloadExpr>(callee))
    return overloads->getName().getAsString();
  if (const auto* dependent = dyn_cast<DependentScopeDeclRefExpr>(callee))
    return dependent->getDeclName().getAsString();
  if (const auto* member = dyn_cast<MemberExpr>(callee))
    return member->getMemberNameInfo().getAsString();
  if (const auto* member = dyn_cast<CXXDependentScopeMemberExpr>(callee))
    return member->getMember().getAsString();
  return "";
}

std::string HostReader::unique_name(const std::string& wanted, std::uintptr_t owner) {
  std::string name = wanted;
  for (int number = 2;; ++number) {
    const auto [at, is_new] = names_.try_emplace(name, owner);
    if (is_new || at->second == owner)
      return name;
    name = fmt::format("{}_{}", wanted, number);
  }
}

HostValue HostReader::query(const std::string& key, const std::string& name) {
  const auto known = queries_.find(key);
  if (known != queries_.end())
    return HostValue::integer(known->second);
  // The address of the key's own entry tells two queries apart.
  auto& entry = queries_[key];
  entry = unique_name(identifier_of(name), reinterpret_cast<std::uintptr_t>(&entry));
  return HostValue::integer(entry);
}

std::string HostReader::object_name(const Expr* expression) {
  expression = plain(expression);
  if (const auto* member = dyn_cast<CXXMemberCallExpr>(expression))
    return object_name(member->getImplicitObjectArgument());
  if (const auto* call = dyn_cast<CallExpr>(expression)) {
    if (const auto* member = dyn_cast<CXXDependentScopeMemberExpr>(call->getCallee()->IgnoreParenImpCasts()))
      return member->isImplicitAccess() ? "" : object_name(member->getBase());
    if (const auto* member = dyn_cast<UnresolvedMemberExpr>(call->getCallee()->IgnoreParenImpCasts()))
      return member->isImplicitAccess() ? "" : object_name(member->getBase());
    if (const auto* overloaded = dyn_cast<CXXOperatorCallExpr>(expression);
        overloaded && overloaded->getNumArgs() > 0)
      return object_name(overloaded->getArg(0));
    return call->getNumArgs() == 1 ? object_name(call->getArg(0)) : "";
  }
  if (const auto* cast = dyn_cast<ExplicitCastExpr>(expression))
    return object_name(cast->getSubExpr());
  if (const auto* operation = dyn_cast<UnaryOperator>(expression))
    return object_name(operation->getSubExpr());
  if (const auto* member = dyn_cast<MemberExpr>(expression)) {
    const std::string base = object_name(member->getBase());
    return (base.empty() ? "" : base + "_") + member->getMemberNameInfo().getAsString();
  }
  if (const auto* member = dyn_cast<CXXDependentScopeMemberExpr>(expression)) {
    const std::string base = member->isImplicitAccess() ? "" : object_name(member->getBase());
    return (base.empty() ? "" : base + "_") + member->getMember().getAsString();
  }
  if (const auto* constructed = dyn_cast<CXXConstructExpr>(expression))
    return constructed->getNumArgs() >= 1 ? object_name(constructed->getArg(0)) : "";
  if (const auto* reference = dyn_cast<DeclRefExpr>(expression)) {
    if (const auto* local = dyn_cast<VarDecl>(reference->getDecl())) {
      const auto known = frame_.variables.find(local);
      if (known != frame_.variables.end() && known->second.kind == HostValue::Kind::unknown &&
          !known->second.text.empty())
        return known->second.text;
    }
    return reference->getNameInfo().getAsString();
  }
  return "";
}

std::optional<HostValue> HostReader::fixed_size(const VarDecl* variable) {
  const auto value = sizes_.value_of(variable);
  if (!value)
    return std::nullopt;
  HostValue size = dimension(variable);
  fixed_sizes_[size.text] = *value;
  return size;
}

std::optional<HostValue> HostReader::fixed_size(const Expr* expression) {
  const auto macro = sizes_.macro_of(expression);
  return macro ? fixed_macro(macro->first) : std::nullopt;
}

std::optional<HostValue> HostReader::fixed_macro(const std::string& name) {
  const auto value = sizes_.value_of(name);
  if (!value)
    return std::nullopt;
  HostValue size = query("#define " + name, name);
  fixed_sizes_[size.text] = *value;
  return size;
}

HostValue HostReader::evaluate(const Expr* expression) {
  if (auto size = fixed_size(plain(expression)))
    return *size;
  if (auto whole = converted_where_it_stands(expression))
    return *whole;
  HostValue value = evaluate_plain(plain(expression));
  if (value.kind == HostValue::Kind::unknown && value.why.empty())
    value.why = fmt::format("'{}' ({}) is not an expression over the launcher's integers", text(expression),
                            line(expression->getExprLoc()));
  return value;
}

HostValue HostReader::evaluate_plain(const Expr* e) {
  if (const auto* literal = dyn_cast<IntegerLiteral>(e))
    return HostValue::integer(llvm::toString(literal->getValue(), 10, false));
  if (const auto* literal = dyn_cast<CXXBoolLiteralExpr>(e))
    return HostValue::integer(literal->getValue() ? "true" : "false");
  if (const auto* literal = dyn_cast<FloatingLiteral>(e))
    return HostValue::real(literal->getValueAsApproximateDouble());
  if (isa<CXXNullPtrLiteralExpr>(e) || isa<GNUNullExpr>(e)) {
    HostValue value;
    value.kind = HostValue::Kind::null;
    return value;
  }
  if (const auto* reference = dyn_cast<DeclRefExpr>(e))
    return name(reference);
  if (isa<UnresolvedLookupExpr>(e))
    return kernel_reference(e);
  if (isa<CXXThisExpr>(e))
    return frame_.receiver;
  if (const auto* dependent = dyn_cast<DependentScopeDeclRefExpr>(e))
    return static_member(dependent->getQualifier(), dependent->getDeclName().getAsString());
  if (const auto* size = dyn_cast<UnaryExprOrTypeTraitExpr>(e))
    return size_of(size);
  if (const auto* conversion = dyn_cast<CXXUnresolvedConstructExpr>(e))
    return construct(conversion->getTypeAsWritten(), {conversion->arg_begin(), conversion->getNumArgs()});
  if (const auto* constructed = dyn_cast<CXXConstructExpr>(e)) {
    if (constructed->getNumArgs() == 1 && (constructed->getConstructor()->isCopyOrMoveConstructor()))
      return evaluate(constructed->getArg(0));
    HostValue object = construct(constructed->getType(), {constructed->getArgs(), constructed->getNumArgs()});
    // Settings(int blocks) : grid(blocks), block(64) {}: members that a constructor only names.
    const FunctionDecl* definition = nullptr;
    if (object.is_number() || is_dim3(constructed->getType()) || depth_ >= CALL_DEPTH ||
        !constructed->getConstructor()->hasBody(definition) ||
        !source_.is_user_file(definition->getLocation()) || !isa<CompoundStmt>(definition->getBody()) ||
        !cast<CompoundStmt>(definition->getBody())->body_empty())
      return object;
    const State outer = frame_.variables;
    for (unsigned i = 0; i < constructed->getNumArgs() && i < definition->getNumParams(); ++i)
      frame_.variables[definition->getParamDecl(i)] = evaluate(constructed->getArg(i));
    for (const CXXCtorInitializer* given : cast<CXXConstructorDecl>(definition)->inits())
      if (given->isMemberInitializer() && given->isWritten()) {
        object.kind = HostValue::Kind::structure;
        object.members[given->getMember()->getNameAsString()] = evaluate(given->getInit());
      }
    frame_.variables = outer;
    return object;
  }
  if (const auto* conversion = dyn_cast<ExplicitCastExpr>(e))
    return convert(conversion, conversion->getSubExprAsWritten(), conversion->getTypeAsWritten());
  if (const auto* list = dyn_cast<InitListExpr>(e)) {
    if (auto constant = constant_object(list->getType()))
      return *constant;
    if (is_dim3(list->getType()) || (list->getType()->isScalarType() && list->getNumInits() == 1))
      return construct(list->getType(), list->inits());
    HostValue value;
    // The fields of a structure that are named, and those that are not: zero, or what dim3() gives.
    if (const RecordDecl* record = list->getType().isNull() ? nullptr : list->getType()->getAsRecordDecl();
        record && list->isSemanticForm()) {
      value.kind = HostValue::Kind::structure;
      unsigned position = 0;
      for (const FieldDecl* field : record->fields()) {
        if (position >= list->getNumInits())
          break;
        const Expr* initialiser = list->getInit(position++);
        value.members[field->getNameAsString()] =
            isa<ImplicitValueInitExpr>(initialiser) ? HostValue::integer("0") : evaluate(initialiser);
      }
      return value;
    }
    return listed(list->inits());
  }
  if (const auto* defaulted = dyn_cast<CXXDefaultArgExpr>(e))
    return evaluate(defaulted->getExpr());
  if (const auto* operation = dyn_cast<UnaryOperator>(e))
    return unary(operation);
  if (const auto* operation = dyn_cast<BinaryOperator>(e))
    return binary(operation);
  if (const auto* conditional = dyn_cast<ConditionalOperator>(e)) {
    const HostValue condition = evaluate(conditional->getCond());
    const HostValue yes = evaluate(conditional->getTrueExpr()), no = evaluate(conditional->getFalseExpr());
    return choose(condition, yes, no, "the choice in " + line(e->getExprLoc()) + " cannot be read");
  }
  // ({ __typeof(x) _x = (x); _x < 8 ? _x : 8; }), as macros have it: what its last expression is.
  if (const auto* block = dyn_cast<StmtExpr>(e)) {
    const CompoundStmt* statements = block->getSubStmt();
    const auto* last = statements->body_empty() ? nullptr : dyn_cast<Expr>(statements->body_back());
    if (!last)
      return HostValue::unknown("");
    for (const Stmt* statement : llvm::drop_end(statements->body()))
      if (execute(statement) == Flow::returns)
        return HostValue::unknown("");
    return evaluate(last);
  }
  if (const auto* closure = dyn_cast<LambdaExpr>(e)) {
    HostValue value;
    value.kind = HostValue::Kind::closure;
    value.closure = closure;
    return value;
  }
  if (const auto* access = dyn_cast<MemberExpr>(e))
    return member(access->getBase(), access->getMemberNameInfo().getAsString(), access->getType());
  if (const auto* access = dyn_cast<CXXDependentScopeMemberExpr>(e); access && !access->isImplicitAccess())
    return member(access->getBase(), access->getMember().getAsString(), access->getType());
  if (const auto* element = dyn_cast<ArraySubscriptExpr>(e))
    return subscript(element->getBase(), element->getIdx(), element->getType());
  if (const auto* called = dyn_cast<CallExpr>(e))
    return call_named(called);
  // A call that Clang could not read, of a function or macro that it does not know.
  if (const auto* unread = dyn_cast<RecoveryExpr>(e))
    if (record_wrapped_launch(unread->subExpressions(), e->getBeginLoc()))
      return HostValue::unknown("");
  visit_children(e);
  return HostValue::unknown("", object_name(e));
}

// {a, b}, {[1] = b, [0] = a} and {.first = a}, as they are written.
HostValue HostReader::listed(llvm::ArrayRef<Expr*> elements) {
  HostValue value;
  value.kind = HostValue::Kind::list;
  std::size_t position = 0;
  for (const Expr* element : elements) {
    const auto* designated = dyn_cast<DesignatedInitExpr>(element);
    const auto* designator = designated && designated->size() == 1 ? designated->getDesignator(0) : nullptr;
    const Expr* initialiser = designated ? designated->getInit() : element;
    if (designator && designator->isFieldDesignator()) {
      value.kind = HostValue::Kind::structure;
      value.members[designator->getFieldName()->getName().str()] = evaluate(initialiser);
      continue;
    }
    if (designator && designator->isArrayDesignator())
      position = std::strtoull(evaluate(designated->getArrayIndex(*designator)).text.c_str(), nullptr, 10);
    if (position >= MOST_ELEMENTS)
      return HostValue::unknown("");
    value.elements.resize(std::max(value.elements.size(), position + 1));
    value.elements[position++] = evaluate(initialiser);
  }
  return value;
}

HostValue HostReader::name(const DeclRefExpr* reference) {
  const ValueDecl* declaration = reference->getDecl();
  if (const auto* parameter = dyn_cast<NonTypeTemplateParmDecl>(declaration)) {
    const auto known = bound_.find(parameter);
    if (known != bound_.end())
      return known->second;
    if (parameter->getType()->isIntegralOrEnumerationType() || parameter->getType()->isDependentType())
      return HostValue::integer(unique_name(parameter->getNameAsString(), owner_of(parameter)));
    return HostValue::unknown("", parameter->getNameAsString());
  }
  if (const auto* constant = dyn_cast<EnumConstantDecl>(declaration)) {
    const std::string property = device_property(constant->getNameAsString());
    if (!property.empty())
      return HostValue::unknown("", property);
    const auto number = number_of(*constant);
    return number ? HostValue::integer(*number) : HostValue::unknown("", constant->getNameAsString());
  }
  if (isa<FunctionDecl>(declaration))
    return kernel_reference(reference);
  if (const auto* known = dyn_cast<VarDecl>(declaration))
    return variable(known);
  return HostValue::unknown("", declaration->getNameAsString());
}

HostValue HostReader::variable(const VarDecl* declaration) {
  const auto known = frame_.variables.find(declaration);
  if (known != frame_.variables.end())
    return known->second;
  if (auto size = fixed_size(declaration))
    return *size;
  const QualType type = declaration->getType();
  if (isa<ParmVarDecl>(declaration) || declaration->isLocalVarDecl()) {
    if (type.getNonReferenceType()->isIntegralOrEnumerationType() || is_of_index_type(declaration))
      return HostValue::integer(unique_name(declaration->getNameAsString(), owner_of(declaration)));
    if (type->isRealFloatingType()) {
      HostValue value =
          HostValue::integer(unique_name(declaration->getNameAsString(), owner_of(declaration)));
      value.kind = HostValue::Kind::real;
      return value;
    }
    return HostValue::unknown("", declaration->getNameAsString());
  }
  // A constant of a namespace or class: its initialiser is read where it stands.
  const VarDecl* defined = nullptr;
  const Expr* initialiser = declaration->getAnyInitializer(defined);
  if (initialiser && (type.isConstQualified() || declaration->isConstexpr()) && depth_ < CALL_DEPTH) {
    ++depth_;
    HostValue value = evaluate(initialiser);
    --depth_;
    return value;
  }
  // A global that other code sets is a size of the problem like a parameter.
  if (type.getNonReferenceType()->isIntegralOrEnumerationType() && !type->isBooleanType())
    return HostValue::integer(unique_name(declaration->getNameAsString(), owner_of(declaration)));
  return HostValue::unknown("'" + declaration->getNameAsString() + "' is a variable that other code sets",
                            declaration->getNameAsString());
}

HostValue HostReader::convert(const Expr* whole, const Expr* inner, QualType to) {
  if (is_dim3(to))
    return construct(to, {inner});
  if (to->isIntegralOrEnumerationType())
    if (auto integer = truncated(inner))
      return *integer;
  HostValue value = evaluate(inner);
  if (value.kind == HostValue::Kind::real && to->isIntegralOrEnumerationType())
    return HostValue::unknown(
        fmt::format("'{}' ({}) rounds a floating-point number", text(whole), line(whole->getExprLoc())));
  if (value.kind == HostValue::Kind::integer && to->isRealFloatingType())
    value.kind = HostValue::Kind::real;
  if (to->isBooleanType() && value.is_integer() && value.binding > BIND_LESS && value.text != "true" &&
      value.text != "false")
    return combine(BO_NE, value, HostValue::integer("0"));
  return value;
}

HostValue HostReader::unary(const UnaryOperator* operation) {
  const Expr* inner = operation->getSubExpr();
  switch (operation->getOpcode()) {
  case UO_Plus:
    return evaluate(inner);
  case UO_Minus: {
    HostValue value = evaluate(inner);
    if (!value.is_number())
      return value;
    return HostValue::integer("-" + bound(value, BIND_UNARY), BIND_UNARY);
  }
  case UO_Not: {
    const HostValue value = evaluate(inner);
    return value.is_integer() ? HostValue::integer("~" + bound(value, BIND_UNARY), BIND_UNARY) : value;
  }
  case UO_LNot:
    return negate(evaluate(inner));
  case UO_AddrOf: {
    if (const auto* reference = dyn_cast<DeclRefExpr>(plain(inner)))
      if (const auto* target = dyn_cast<VarDecl>(reference->getDecl())) {
        HostValue value;
        value.kind = HostValue::Kind::address;
        value.variable = target;
        value.text = target->getNameAsString();
        return value;
      }
    return evaluate(inner);
  }
  case UO_Deref: {
    const HostValue value = evaluate(inner);
    return value.kind == HostValue::Kind::address ? variable(value.variable) : value;
  }
  case UO_PreInc:
  case UO_PreDec:
  case UO_PostInc:
  case UO_PostDec: {
    const HostValue before = evaluate(inner);
    assign(inner, combine(operation->isIncrementOp() ? BO_Add : BO_Sub, before, HostValue::integer("1")));
    return operation->isPrefix() ? evaluate(inner) : before;
  }
  default:
    return evaluate(inner);
  }
}

HostValue HostReader::binary(const BinaryOperator* operation) {
  if (operation->getOpcode() == BO_Comma) {
    evaluate(operation->getLHS());
    return evaluate(operation->getRHS());
  }
  if (operation->getOpcode() == BO_Assign) {
    const auto* target = dyn_cast<DeclRefExpr>(operation->getLHS()->IgnoreParenImpCasts());
    const auto* variable = target ? dyn_cast<VarDecl>(target->getDecl()) : nullptr;
    HostValue value;
    if (variable && isa<CallExpr>(plain(operation->getRHS()))) {
      const std::map<std::string, std::string> queries = queries_;
      const std::map<std::string, std::uintptr_t> names = names_;
      value = kept_in(variable, operation->getRHS(), evaluate(operation->getRHS()), queries, names);
    } else {
      value = evaluate(operation->getRHS());
    }
    assign(operation->getLHS(), value);
    return value;
  }
  const HostValue left = evaluate(operation->getLHS()), right = evaluate(operation->getRHS());
  if (operation->isCompoundAssignmentOp()) {
    HostValue value =
        combine(BinaryOperator::getOpForCompoundAssignment(operation->getOpcode()), left, right);
    assign(operation->getLHS(), value);
    return value;
  }
  if (operation->isEqualityOp() && left.kind == HostValue::Kind::null && right.kind == left.kind)
    return HostValue::integer(operation->getOpcode() == BO_EQ ? "true" : "false");
  return combine(operation->getOpcode(), left, right);
}

// std::integral_constant<int, 4>{}, a number that is handed on as an object.
std::optional<HostValue> HostReader::constant_object(QualType type) {
  const auto* specialised = type.isNull() ? nullptr : type->getAs<TemplateSpecializationType>();
  const CXXRecordDecl* record = type.isNull() ? nullptr : type->getAsCXXRecordDecl();
  HostValue number;
  if (const auto* instance = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record)) {
    const TemplateArgumentList& arguments = instance->getTemplateArgs();
    if (instance->getName() == "integral_constant" && arguments.size() == 2 &&
        arguments[1].getKind() == TemplateArgument::Integral)
      number = HostValue::integer(arguments[0].getAsType()->isBooleanType()
                                      ? (arguments[1].getAsIntegral().getBoolValue() ? "true" : "false")
                                      : llvm::toString(arguments[1].getAsIntegral(), 10));
  } else if (specialised) {
    const TemplateDecl* named = specialised->getTemplateName().getAsTemplateDecl();
    const llvm::ArrayRef<TemplateArgument> arguments = specialised->template_arguments();
    if (named && (named->getName() == "integral_constant" || named->getName() == "bool_constant") &&
        !arguments.empty() && arguments.back().getKind() == TemplateArgument::Expression)
      number = evaluate(arguments.back().getAsExpr());
  }
  if (!number.is_integer())
    return std::nullopt;
  HostValue object;
  object.kind = HostValue::Kind::structure;
  object.members["value"] = number;
  return object;
}

HostValue HostReader::construct(QualType type, llvm::ArrayRef<const Expr*> arguments) {
  if (arguments.empty())
    if (auto constant = constant_object(type))
      return *constant;
  if (is_dim3(type)) {
    HostValue value;
    if (arguments.size() == 1) {
      value = evaluate(arguments[0]);
      if (value.kind == HostValue::Kind::structure)
        return value;
      if (value.kind == HostValue::Kind::list) {
        HostValue result;
        result.kind = HostValue::Kind::structure;
        for (std::size_t axis = 0; axis < 3; ++axis)
          result.members[std::string(1, "xyz"[axis])] =
              axis < value.elements.size() ? value.elements[axis] : HostValue::integer("1");
        return result;
      }
    }
    HostValue result;
    result.kind = HostValue::Kind::structure;
    for (std::size_t axis = 0; axis < 3; ++axis)
      result.members[std::string(1, "xyz"[axis])] =
          axis < arguments.size() ? (axis == 0 && arguments.size() == 1 ? value : evaluate(arguments[axis]))
                                  : HostValue::integer("1");
    return result;
  }
  if (arguments.size() == 1 && (type->isScalarType() || type->isDependentType()))
    return convert(arguments[0], arguments[0], type);
  if (auto launcher = launch_object(type, arguments))
    return *launcher;
  for (const Expr* argument : arguments)
    evaluate(argument);
  if (arguments.empty() && type->isRecordType()) {
    HostValue value;
    value.kind = HostValue::Kind::structure;
    return value;
  }
  return HostValue::unknown("", arguments.empty() ? "" : object_name(arguments[0]));
}

HostValue HostReader::size_of(const UnaryExprOrTypeTraitExpr* expression) {
  if (expression->getKind() != UETT_SizeOf)
    return HostValue::unknown("");
  const QualType type = expression->getTypeOfArgument();
  // A name that a launcher or a dispatch macro gives to several types stays a name.
  const auto* alias = type->getAs<TypedefType>();
  const bool is_of_function = alias && alias->getDecl()->getParentFunctionOrMethod();
  const auto size_of_name = [&](QualType name) -> std::string {
    if (const auto* own = name->getAs<TypedefType>(); own && own->getDecl()->getParentFunctionOrMethod())
      return "sizeof_" + own->getDecl()->getNameAsString();
    if (name->getAs<TemplateTypeParmType>() == nullptr)
      return "";
    const auto known = bound_.find(type_parameter(name));
    return "sizeof_" + (known != bound_.end() ? known->second.text : name.getAsString());
  };
  // Types that are narrower are summed in floats.
  if (const QualType summed = summed_type(is_of_function ? alias->getDecl()->getUnderlyingType() : type);
      !summed.isNull() && !size_of_name(summed).empty())
    return HostValue::integer(fmt::format("max({}, {})", size_of_name(summed), sizeof(float)));
  if (const std::string size = size_of_name(type); !size.empty())
    return HostValue::integer(size);
  if (type->isDependentType()) {
    if (const auto* member = type->getAs<DependentNameType>())
      return HostValue::integer("sizeof_" + member->getIdentifier()->getName().str());
    return HostValue::unknown("");
  }
  if (type->isIncompleteType())
    return HostValue::unknown("");
  return HostValue::integer(fmt::format("{}", context_.getTypeSizeInChars(type).getQuantity()));
}

HostValue HostReader::subscript(const Expr* base, const Expr* index, QualType type) {
  const HostValue at = evaluate(index), object = evaluate(base);
  if (object.kind == HostValue::Kind::list)
    if (const auto position = number_of(at); position && *position < object.elements.size())
      // Of an array that is set element by element, one that is not set yet is its name's.
      if (const HostValue& element = object.elements[*position];
          element.kind != HostValue::Kind::unknown || !element.text.empty() || !element.why.empty())
        return element;
  // kernels[width - 1]<<<...>>> launches each of them, under the condition that it is the one.
  if (object.kind == HostValue::Kind::list && at.is_integer() && !object.elements.empty() &&
      std::ranges::all_of(object.elements,
                          [](const HostValue& element) { return element.kind == HostValue::Kind::kernel; })) {
    HostValue picked = object.elements.front();
    picked.kernels.clear();
    for (std::size_t i = 0; i < object.elements.size(); ++i)
      for (KernelReference kernel : object.elements[i].kernels) {
        kernel.conditions.push_back(combine(BO_EQ, at, HostValue::integer(std::to_string(i))).text);
        picked.kernels.push_back(std::move(kernel));
      }
    return picked;
  }
  const std::string of = object.text.empty() ? object_name(base) : object.text;
  if (at.is_integer() && !of.empty() && is_integer(type))
    return query(of + "[" + at.text + "]",
                 of + "_" + (at.text.starts_with("-") ? "last" + at.text.substr(1) : at.text));
  return HostValue::unknown("", of);
}

} // namespace lathe::refactor
