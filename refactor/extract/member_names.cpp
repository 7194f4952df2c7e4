#include "refactor/extract/member_names.h"

#include "refactor/extract/changed_parameters.h"
#include "refactor/frontend/parsed_source.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace lathe::refactor {
namespace {

using namespace clang;

// A structure that the body's first statements make: a variable of the kernel's.
struct Object {
  const VarDecl* variable = nullptr;
  const DeclStmt* statement = nullptr;
};

// "params.bounds.at[1]" of what leads to a number or a pointer in an object, and that object's variable.
struct Path {
  const VarDecl* object = nullptr;
  std::string text;
};

std::optional<Path> path_of(const Expr* expression) {
  expression = expression->IgnoreParens();
  // An array stands for its first element where it is subscribed.
  if (const auto* cast = dyn_cast<ImplicitCastExpr>(expression);
      cast && cast->getCastKind() == CK_ArrayToPointerDecay)
    return path_of(cast->getSubExpr());
  // The members of a base class are those of the object.
  if (const auto* cast = dyn_cast<ImplicitCastExpr>(expression);
      cast && (cast->getCastKind() == CK_UncheckedDerivedToBase || cast->getCastKind() == CK_NoOp))
    return path_of(cast->getSubExpr());
  if (const auto* reference = dyn_cast<DeclRefExpr>(expression)) {
    const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable ? std::optional(Path{variable, variable->getNameAsString()}) : std::nullopt;
  }
  const Expr* base = nullptr;
  std::string step;
  if (const auto* member = dyn_cast<MemberExpr>(expression); member && !member->isArrow()) {
    base = member->getBase();
    step = "." + member->getMemberDecl()->getNameAsString();
  } else if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(expression);
             dependent && !dependent->isArrow() && !dependent->isImplicitAccess()) {
    base = dependent->getBase();
    step = "." + dependent->getMember().getAsString();
  } else if (const auto* element = dyn_cast<ArraySubscriptExpr>(expression)) {
    const auto* index = dyn_cast<IntegerLiteral>(element->getIdx()->IgnoreParenImpCasts());
    if (!index)
      return std::nullopt;
    base = element->getBase();
    step = "[" + std::to_string(index->getValue().getZExtValue()) + "]";
  }
  if (!base)
    return std::nullopt;
  std::optional<Path> found = path_of(base);
  if (found)
    found->text += step;
  return found;
}

// What the body does with an object: members that have a parameter, by their places in the text, and the
// rest.
class Uses : public RecursiveASTVisitor<Uses> {
public:
  struct Change {
    std::size_t begin, end;
    std::string text;
  };

  // `parameters`: by the member's path.
  Uses(ASTContext& context, const VarDecl& object, const std::map<std::string, std::string>& parameters)
      : context_(context), object_(object), parameters_(parameters) {}

  bool shouldVisitTemplateInstantiations() const { return false; }

  bool TraverseStmt(Stmt* statement) {
    const auto* expression = dyn_cast_or_null<Expr>(statement);
    if (!expression)
      return RecursiveASTVisitor::TraverseStmt(statement);
    // What lies behind a member's address is not the member alone.
    if (const Expr* pointed = target_of_address(*expression))
      if (const auto path = path_of(pointed); path && path->object == &object_) {
        use_otherwise(!pointed->getType().isConstQualified());
        return true;
      }
    const auto path = isa<DeclRefExpr>(expression) ? std::nullopt : path_of(expression);
    const auto parameter =
        path && path->object == &object_ ? parameters_.find(path->text) : parameters_.end();
    if (parameter == parameters_.end())
      return RecursiveASTVisitor::TraverseStmt(statement);
    const Expr* member = expression->IgnoreParenImpCasts();
    const auto place = bytes_of(context_, member->getSourceRange());
    if (place && !member->getBeginLoc().isMacroID() && !member->getEndLoc().isMacroID())
      members_[place->first] = {place->first, place->second, parameter->second};
    else
      use_otherwise(false);
    may_change_ |= !is_read(expression);
    return true;
  }

  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (reference->getDecl() == &object_)
      use_otherwise(!is_kept(reference));
    return true;
  }

  bool VisitLambdaExpr(LambdaExpr* lambda) {
    for (const LambdaCapture& capture : lambda->explicit_captures())
      is_captured_ |= capture.capturesVariable() && capture.getCapturedVar() == &object_;
    return true;
  }

  // The members' places with their parameters instead; none where that may be another number.
  std::vector<Change> changes() const {
    std::vector<Change> all;
    const bool may_differ = used_otherwise_ && may_change_ && !object_.getType().isConstQualified();
    if (!is_captured_ && !may_differ)
      for (const auto& [begin, member] : members_)
        all.push_back(member);
    return all;
  }
  bool used_otherwise() const { return used_otherwise_; }

private:
  void use_otherwise(bool may_change) {
    used_otherwise_ = true;
    may_change_ |= may_change;
  }
  static const Expr* target_of_address(const Expr& expression) {
    if (const auto* address = dyn_cast<UnaryOperator>(&expression);
        address && address->getOpcode() == UO_AddrOf)
      return address->getSubExpr();
    const auto* call = dyn_cast<CXXOperatorCallExpr>(&expression);
    return call && call->getOperator() == OO_Amp && call->getNumArgs() == 1 ? call->getArg(0) : nullptr;
  }
  const Stmt* around(const Stmt* child) const {
    const auto parents = context_.getParents(*child);
    return parents.empty() ? nullptr : parents.begin()->get<Stmt>();
  }
  bool is_read(const Expr* member) const {
    const Stmt* user = around(member);
    while (user && isa<ParenExpr>(user))
      user = around(user);
    const auto* cast = dyn_cast_or_null<CastExpr>(user);
    return cast && cast->getCastKind() == CK_LValueToRValue;
  }
  // Whether the object is the same after that: it is read, or seen as one that does not change.
  bool is_kept(const Expr* use) const {
    const Stmt* user = around(use);
    while (user && (isa<ParenExpr>(user) || isa<MemberExpr>(user) || isa<ArraySubscriptExpr>(user)))
      user = around(user);
    const auto* cast = dyn_cast_or_null<ImplicitCastExpr>(user);
    if (cast && cast->getCastKind() == CK_ArrayToPointerDecay)
      return is_kept(cast);
    return cast && (cast->getCastKind() == CK_LValueToRValue || cast->getType().isConstQualified());
  }

  ASTContext& context_;
  const VarDecl& object_;
  const std::map<std::string, std::string>& parameters_;
  std::map<std::size_t, Change> members_;
  bool used_otherwise_ = false; // than by members that have a parameter
  bool may_change_ = false;     // the object or a member
  bool is_captured_ = false;    // by its name
};

// The variables of the body's own statements that are made of a list.
std::vector<Object> objects_of(const FunctionDecl& kernel) {
  std::vector<Object> objects;
  const auto* body = dyn_cast_or_null<CompoundStmt>(kernel.getBody());
  if (!body)
    return objects;
  for (const Stmt* statement : body->body())
    if (const auto* declared = dyn_cast<DeclStmt>(statement); declared && declared->isSingleDecl())
      if (const auto* variable = dyn_cast<VarDecl>(declared->getSingleDecl());
          variable && variable->getInit() && !variable->getType()->isReferenceType() &&
          variable->getInitStyle() == VarDecl::ListInit)
        objects.push_back({variable, declared});
  return objects;
}

} // namespace

Status name_members(ExtractedKernel& extracted, KernelInfo& kernel, const ParseOptions& options,
                    const std::map<std::string, std::string>& member_paths) {
  if (member_paths.empty())
    return Done{};
  LATHE_TRY(const std::unique_ptr<ParsedSource> source, parse_extracted(extracted, options));
  LATHE_TRY(const KernelInfo before, find_kernel(*source, extracted.kernel));
  ASTContext& context = implementation(*source).ast().getASTContext();
  std::map<std::string, std::string> parameters; // by path
  for (const ParmVarDecl* parameter : before.declaration->parameters())
    if (const auto path = member_paths.find(parameter->getNameAsString()); path != member_paths.end())
      parameters.emplace(path->second, path->first);

  std::vector<Uses::Change> changes;
  for (const Object& object : objects_of(*before.declaration)) {
    Uses uses(context, *object.variable, parameters);
    uses.TraverseStmt(before.declaration->getBody());
    const std::vector<Uses::Change> members = uses.changes();
    changes.insert(changes.end(), members.begin(), members.end());
    auto made = bytes_of(context, object.statement->getSourceRange());
    if (members.empty() || uses.used_otherwise() || !made)
      continue;
    // With the line's beginning.
    while (made->first > 0 && std::isspace(static_cast<unsigned char>(extracted.text[made->first - 1])) != 0)
      --made->first;
    changes.push_back({made->first, made->second, ""});
  }
  if (changes.empty())
    return Done{};
  std::ranges::sort(changes, std::greater<>(), &Uses::Change::begin);
  for (const Uses::Change& change : changes)
    extracted.text.replace(change.begin, change.end - change.begin, change.text);
  return take_changed_parameters(extracted, kernel, options, "with the members of its structures named",
                                 "pass them as parameters of their own");
}

} // namespace lathe::refactor
