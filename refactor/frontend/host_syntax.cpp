#include "refactor/frontend/host_syntax.h"

#include <llvm/ADT/StringExtras.h>

#include <map>
#include <set>

namespace lathe::refactor::host_syntax {

using namespace clang;

bool is_size(QualType type) {
  return type->isIntegerType() && !type->isBooleanType();
}

bool is_dim3(QualType type) {
  const CXXRecordDecl* record = type.isNull() ? nullptr : type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && (record->getName() == "dim3" || record->getName() == "uint3");
}

bool is_integer(QualType type) {
  type = type.getNonReferenceType();
  return type->isIntegralOrEnumerationType() || type->isDependentType() || type->isUndeducedType();
}

// Not by getAs<TemplateTypeParmType>(), which gives the canonical type, and that has no declaration.
const NamedDecl* type_parameter(QualType type) {
  while (!type.isNull()) {
    if (const auto* parameter = dyn_cast<TemplateTypeParmType>(type.getTypePtr()))
      return parameter->getDecl();
    const auto [own, qualifiers] = type.split();
    const QualType further = own->getLocallyUnqualifiedSingleStepDesugaredType();
    if (further.getTypePtr() == own)
      return nullptr;
    type = further;
  }
  return nullptr;
}

const Expr* plain(const Expr* expression) {
  for (;;) {
    const Expr* inner = expression->IgnoreParenImpCasts();
    if (const auto* full = dyn_cast<FullExpr>(inner))
      inner = full->getSubExpr();
    else if (const auto* temporary = dyn_cast<MaterializeTemporaryExpr>(inner))
      inner = temporary->getSubExpr();
    else if (const auto* destroyed = dyn_cast<CXXBindTemporaryExpr>(inner))
      inner = destroyed->getSubExpr();
    else if (const auto* replaced = dyn_cast<SubstNonTypeTemplateParmExpr>(inner))
      inner = replaced->getReplacement();
    if (inner == expression)
      return inner;
    expression = inner;
  }
}

QualType summed_type(QualType type) {
  static const std::set<StringRef> traits{"OpMathType", "AccumulateType", "AccumulateTypeDevice"},
      names{"opmath_type", "acc_type", "acc_type_device"};
  const auto of = [](const TemplateSpecializationType* written, const std::set<StringRef>& wanted) {
    const TemplateDecl* described = written ? written->getTemplateName().getAsTemplateDecl() : nullptr;
    const bool is_one = described && wanted.contains(described->getName()) &&
                        !written->template_arguments().empty() &&
                        written->template_arguments().front().getKind() == TemplateArgument::Type;
    return is_one ? written->template_arguments().front().getAsType() : QualType();
  };
  if (const QualType found = of(type->getAs<TemplateSpecializationType>(), names); !found.isNull())
    return found;
  const auto* member = type->getAs<DependentNameType>();
  const Type* trait = member && member->getQualifier() ? member->getQualifier()->getAsType() : nullptr;
  return trait ? of(trait->getAs<TemplateSpecializationType>(), traits) : QualType();
}

const Expr* element_of_array(const Expr* expression) {
  const auto* element = dyn_cast<ArraySubscriptExpr>(expression->IgnoreParenImpCasts());
  const Expr* array = element ? element->getBase()->IgnoreParenImpCasts() : nullptr;
  return array && array->getType()->isArrayType() ? array : nullptr;
}

const Expr* whole_of(const Expr* part) {
  if (const auto* member = dyn_cast<MemberExpr>(part->IgnoreParenImpCasts()))
    return member->getBase()->IgnoreParenImpCasts();
  return element_of_array(part);
}

bool names_variable(const Stmt* statement, const VarDecl* variable) {
  const auto* reference = dyn_cast<DeclRefExpr>(statement);
  return (reference && reference->getDecl() == variable) ||
         std::ranges::any_of(statement->children(),
                             [&](const Stmt* child) { return child && names_variable(child, variable); });
}

const VarDecl* variable_of(const Expr* expression) {
  const auto* reference = expression ? dyn_cast<DeclRefExpr>(plain(expression)) : nullptr;
  return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

const Expr* only_change(const Expr* step, const Stmt* body) {
  while (const auto* block = dyn_cast_or_null<CompoundStmt>(body)) {
    if (block->size() > 1)
      return nullptr;
    body = block->body_empty() ? nullptr : block->body_front();
  }
  if (isa_and_nonnull<NullStmt>(body))
    body = nullptr;
  return body && step ? nullptr : dyn_cast_or_null<Expr>(body ? body : step);
}

const Stmt* last_of(const Stmt* statement) {
  while (statement) {
    if (const auto* attributed = dyn_cast<AttributedStmt>(statement))
      statement = attributed->getSubStmt();
    else if (const auto* block = dyn_cast<CompoundStmt>(statement); block && !block->body_empty())
      statement = block->body_back();
    else
      break;
  }
  return statement;
}

bool may_return(const Stmt* statement) {
  return statement && (isa<ReturnStmt>(statement) || std::ranges::any_of(statement->children(), may_return));
}

bool is_end(const Stmt* statement, int depth) {
  const auto* expression = dyn_cast_or_null<Expr>(last_of(statement));
  return expression && ends_here(plain(expression), depth);
}

bool ends_here(const Expr* expression, int depth) {
  if (isa<CXXThrowExpr>(expression))
    return true;
  const auto* call = dyn_cast<CallExpr>(expression);
  const FunctionDecl* callee = call ? call->getDirectCallee() : nullptr;
  if (const auto* written =
          call ? dyn_cast<UnresolvedLookupExpr>(call->getCallee()->IgnoreParenImpCasts()) : nullptr;
      written && written->getNumDecls() == 1)
    callee = (*written->decls_begin())->getUnderlyingDecl()->getAsFunction();
  const FunctionDecl* definition = nullptr;
  return callee && (callee->isNoReturn() ||
                    (depth > 0 && callee->hasBody(definition) && is_end(definition->getBody(), depth - 1) &&
                     !may_return(definition->getBody())));
}

std::optional<std::string> number_of(const EnumConstantDecl& enumerator) {
  const auto* enumeration = dyn_cast<EnumDecl>(enumerator.getDeclContext());
  if (!enumeration || !enumeration->isDependentType())
    return llvm::toString(enumerator.getInitVal(), 10);
  std::optional<std::int64_t> number = -1;
  for (const EnumConstantDecl* each : enumeration->enumerators()) {
    Expr::EvalResult value;
    if (const Expr* given = each->getInitExpr(); !given)
      number = number ? std::optional(*number + 1) : std::nullopt;
    else if (!given->isValueDependent() && given->EvaluateAsInt(value, each->getASTContext()))
      number = value.Val.getInt().getExtValue();
    else
      number.reset();
    if (each == &enumerator)
      break;
  }
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

const LambdaExpr* closure_in(const Stmt* statement) {
  if (!statement || isa<LambdaExpr>(statement))
    return cast_or_null<LambdaExpr>(statement);
  for (const Stmt* child : statement->children())
    if (const LambdaExpr* found = closure_in(child))
      return found;
  return nullptr;
}

std::string device_property(const std::string& member) {
  static const std::map<std::string, std::string> known{
      {"multiProcessorCount", "device.multiprocessors"},
      {"maxThreadsPerBlock", "device.max_threads_per_block"},
      {"maxThreadsPerMultiProcessor", "device.max_threads_per_sm"},
      {"sharedMemPerBlock", "device.shared_per_block"},
      {"sharedMemPerBlockOptin", "device.shared_per_block_optin"},
      {"sharedMemPerMultiprocessor", "device.shared_per_sm"},
      {"warpSize", "device.warp_size"},
      {"l2CacheSize", "device.l2_bytes"},
      {"cudaDevAttrMultiProcessorCount", "device.multiprocessors"},
      {"cudaDevAttrMaxThreadsPerBlock", "device.max_threads_per_block"},
      {"cudaDevAttrMaxSharedMemoryPerBlock", "device.shared_per_block"},
      {"cudaDevAttrMaxSharedMemoryPerBlockOptin", "device.shared_per_block_optin"},
      {"cudaDevAttrWarpSize", "device.warp_size"},
      {"cudaDevAttrComputeCapabilityMajor", "device.compute_major"},
      {"cudaDevAttrComputeCapabilityMinor", "device.compute_minor"}};
  const auto found = known.find(member);
  return found == known.end() ? "" : found->second;
}

} // namespace lathe::refactor::host_syntax
