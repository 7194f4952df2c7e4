#include "refactor/frontend/pointer_casts.h"

#include "refactor/frontend/element_types.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace lathe::refactor {
namespace {

using namespace clang;

// Functions that pass a pointer on to each other.
constexpr int MOST_CALLS = 4;

// Where a structure in the kernel keeps the pointer: `const Params p{in, out}`.
struct Kept {
  const VarDecl* object = nullptr;
  const FieldDecl* field = nullptr;
};

class KeptIn : public RecursiveASTVisitor<KeptIn> {
public:
  explicit KeptIn(const ParmVarDecl& parameter) : parameter_(parameter) {}
  bool VisitVarDecl(VarDecl* object) {
    const Expr* initialiser = object->getInit();
    const auto* list = initialiser ? dyn_cast<InitListExpr>(initialiser->IgnoreParenImpCasts()) : nullptr;
    const RecordDecl* record = list ? object->getType()->getAsRecordDecl() : nullptr;
    unsigned position = 0;
    if (record)
      for (const FieldDecl* field : record->fields()) {
        if (position < list->getNumInits() && refers_to(list->getInit(position), parameter_))
          kept_.push_back({object, field});
        ++position;
      }
    return true;
  }
  static bool refers_to(const Expr* expression, const ValueDecl& declaration) {
    const auto* reference = dyn_cast<DeclRefExpr>(expression->IgnoreParenImpCasts());
    return reference && reference->getDecl() == &declaration;
  }
  const std::vector<Kept>& kept() const { return kept_; }

private:
  const ParmVarDecl& parameter_;
  std::vector<Kept> kept_;
};

class Casts : public RecursiveASTVisitor<Casts> {
public:
  Casts(const ParmVarDecl& parameter, const Stmt& body, int calls) : parameter_(parameter), calls_(calls) {
    KeptIn finder(parameter);
    finder.TraverseStmt(const_cast<Stmt*>(&body)); // the visitor only looks
    kept_ = finder.kept();
  }

  bool VisitExplicitCastExpr(ExplicitCastExpr* cast) {
    // static_cast<void*>(p) says nothing.
    if (const QualType type = cast->getTypeAsWritten();
        type->isPointerType() && !type->isVoidPointerType() && is_parameter(cast->getSubExpr()))
      add(type->getPointeeType().getUnqualifiedType());
    return true;
  }
  bool VisitCallExpr(CallExpr* call) {
    for (unsigned i = 0; i < call->getNumArgs(); ++i)
      if (is_parameter(call->getArg(i)))
        pass_on(*call, i);
    return true;
  }
  const std::vector<QualType>& elements() const { return elements_; }

private:
  // The parameter itself, the member of a structure that keeps it, or a name for that.
  bool is_parameter(const Expr* expression) const {
    if (KeptIn::refers_to(expression, parameter_))
      return true;
    const Expr* plain = expression->IgnoreParenImpCasts();
    if (const auto* reference = dyn_cast<DeclRefExpr>(plain))
      if (const auto* binding = dyn_cast<BindingDecl>(reference->getDecl()))
        return binding->getBinding() && is_member(binding->getBinding()->IgnoreParenImpCasts());
    return is_member(plain);
  }
  bool is_member(const Expr* plain) const {
    const auto* access = dyn_cast<MemberExpr>(plain);
    if (!access)
      return false;
    const auto* base = dyn_cast<DeclRefExpr>(access->getBase()->IgnoreParenImpCasts());
    const ValueDecl* object = base ? base->getDecl() : nullptr;
    // auto& [a, b] = p: the members are of what p is bound to.
    if (const auto* decomposed = dyn_cast_or_null<DecompositionDecl>(object);
        decomposed && decomposed->getInit())
      if (const auto* bound = dyn_cast<DeclRefExpr>(decomposed->getInit()->IgnoreParenImpCasts()))
        object = bound->getDecl();
    return object && std::ranges::any_of(kept_, [&](const Kept& kept) {
             return kept.object == object && kept.field == access->getMemberDecl();
           });
  }
  void add(QualType type) {
    if (std::ranges::find(elements_, type) == elements_.end())
      elements_.push_back(type);
  }

  void pass_on(const CallExpr& call, unsigned index) {
    const FunctionDecl* callee = call.getDirectCallee();
    // The callee's template parameters, by depth and index, as they are written here.
    std::map<std::pair<unsigned, unsigned>, QualType> types;
    const auto name = [&](const FunctionTemplateDecl& described, ArrayRef<TemplateArgumentLoc> arguments) {
      for (unsigned i = 0; i < arguments.size() && i < described.getTemplateParameters()->size(); ++i)
        if (const auto* parameter =
                dyn_cast<TemplateTypeParmDecl>(described.getTemplateParameters()->getParam(i));
            parameter && arguments[i].getArgument().getKind() == TemplateArgument::Type)
          types[{parameter->getDepth(), parameter->getIndex()}] = arguments[i].getArgument().getAsType();
    };
    const Expr* named = call.getCallee()->IgnoreParenImpCasts();
    if (const auto* lookup = dyn_cast<UnresolvedLookupExpr>(named)) {
      const NamedDecl* only = lookup->getNumDecls() == 1 ? *lookup->decls_begin() : nullptr;
      const auto* described = only ? dyn_cast<FunctionTemplateDecl>(only->getUnderlyingDecl()) : nullptr;
      callee = described ? described->getTemplatedDecl() : dyn_cast_or_null<FunctionDecl>(only);
      if (described && lookup->hasExplicitTemplateArgs())
        name(*described, lookup->template_arguments());
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(named); callee && callee->getPrimaryTemplate()) {
      const FunctionTemplateDecl* described = callee->getPrimaryTemplate();
      callee = described->getTemplatedDecl();
      if (reference && reference->hasExplicitTemplateArgs())
        name(*described, reference->template_arguments());
    }
    if (!callee || !callee->isDefined(callee) || index >= callee->getNumParams() || calls_ == 0)
      return;
    Casts further(*callee->getParamDecl(index), *callee->getBody(), calls_ - 1);
    further.TraverseStmt(callee->getBody());
    for (const QualType element : further.elements()) {
      const auto* parameter = element->getAs<TemplateTypeParmType>();
      const auto found = parameter ? types.find({parameter->getDepth(), parameter->getIndex()}) : types.end();
      add(found == types.end() ? element : found->second.getUnqualifiedType());
    }
  }

  const ParmVarDecl& parameter_;
  int calls_;
  std::vector<Kept> kept_;
  std::vector<QualType> elements_;
};

// What an object consists of; of a class template with one type among its arguments that type, whatever it is
// kept as: Vector<T, 8> is of T.
QualType numbers_of(QualType type) {
  if (!type->isRecordType() && !type->isDependentType())
    return type;
  const auto* specialised = type->getAs<TemplateSpecializationType>();
  while (specialised && specialised->isTypeAlias())
    specialised = specialised->getAliasedType()->getAs<TemplateSpecializationType>();
  std::vector<QualType> types;
  for (const TemplateArgument& argument :
       specialised ? specialised->template_arguments() : llvm::ArrayRef<TemplateArgument>())
    if (argument.getKind() == TemplateArgument::Type)
      types.push_back(argument.getAsType());
  return types.size() == 1 ? numbers_of(types.front()) : number_of(type);
}

} // namespace

std::string element_by_casts(const FunctionDecl& function, unsigned parameter, ASTContext& context) {
  const FunctionDecl* definition = nullptr;
  if (!function.isDefined(definition) || parameter >= definition->getNumParams())
    return "";
  Casts casts(*definition->getParamDecl(parameter), *definition->getBody(), MOST_CALLS);
  casts.TraverseStmt(definition->getBody());
  // A vector is read as its numbers; one of integers may be any memory that is copied in packs.
  std::set<std::string> names;
  for (const QualType element : casts.elements()) {
    QualType number = numbers_of(element);
    if (!number.isNull() && element->isRecordType() && number->isIntegerType())
      number = element;
    names.insert(
        (number.isNull() ? element : number).getUnqualifiedType().getAsString(context.getPrintingPolicy()));
  }
  return names.size() == 1 ? *names.begin() : "";
}

} // namespace lathe::refactor
