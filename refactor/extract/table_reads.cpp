#include "refactor/extract/table_reads.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <cctype>

namespace lathe::refactor {

using namespace clang;

namespace {

const Expr* bare(const Expr* expression) {
  return expression->IgnoreParenImpCasts();
}

class UseFinder : public RecursiveASTVisitor<UseFinder> {
public:
  UseFinder(ASTContext& context, const ParmVarDecl& table, const std::string& member_path)
      : context_(context), table_(table), member_path_(member_path) {}

  bool shouldVisitTemplateInstantiations() const { return false; }

  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    // Where it stands for a member, the parameter itself only makes the structure.
    if (reference->getDecl() == &table_ && member_path_.empty())
      uses.push_back(reference);
    return true;
  }
  bool VisitMemberExpr(MemberExpr* access) {
    note_member(access, access->getMemberDecl()->getNameAsString());
    return true;
  }
  bool VisitCXXDependentScopeMemberExpr(CXXDependentScopeMemberExpr* access) {
    note_member(access, access->getMember().getAsString());
    return true;
  }

  std::vector<const Expr*> uses;
  std::vector<const Expr*> of_the_name; // members that are named alike, of whatever object

private:
  void note_member(const Expr* access, const std::string& name) {
    if (member_path_.empty() || !member_path_.ends_with("." + name))
      return;
    of_the_name.push_back(access);
    std::string text = Lexer::getSourceText(CharSourceRange::getTokenRange(access->getSourceRange()),
                                            context_.getSourceManager(), context_.getLangOpts())
                           .str();
    std::erase_if(text, [](unsigned char letter) { return std::isspace(letter) != 0; });
    if (text == member_path_)
      uses.push_back(access);
  }

  ASTContext& context_;
  const ParmVarDecl& table_;
  const std::string& member_path_;
};

const Stmt* parent_of(ASTContext& context, const Stmt* child) {
  const auto parents = context.getParents(*child);
  return parents.empty() ? nullptr : parents.begin()->get<Stmt>();
}

// The node around `child` without the brackets and implicit casts between.
const Stmt* node_around(ASTContext& context, const Stmt* child) {
  const Stmt* around = parent_of(context, child);
  while (around && (isa<ParenExpr>(around) || isa<ImplicitCastExpr>(around)))
    around = parent_of(context, around);
  return around;
}

// A sum or a dereference; in templates they are calls of operators that only an instance chooses.
struct Operation {
  enum class Kind { none, sum, dereference } kind = Kind::none;
  const Expr *first = nullptr, *second = nullptr;
};

Operation operation_of(const Stmt* node) {
  using enum Operation::Kind;
  if (const auto* binary = dyn_cast_or_null<BinaryOperator>(node); binary && binary->getOpcode() == BO_Add)
    return {sum, binary->getLHS(), binary->getRHS()};
  if (const auto* unary = dyn_cast_or_null<UnaryOperator>(node); unary && unary->getOpcode() == UO_Deref)
    return {dereference, unary->getSubExpr(), nullptr};
  if (const auto* call = dyn_cast_or_null<CXXOperatorCallExpr>(node)) {
    if (call->getOperator() == OO_Plus && call->getNumArgs() == 2)
      return {sum, call->getArg(0), call->getArg(1)};
    if (call->getOperator() == OO_Star && call->getNumArgs() == 1)
      return {dereference, call->getArg(0), nullptr};
  }
  return {};
}

std::optional<TableRead> read_through(ASTContext& context, const Expr* use) {
  TableRead found;
  const Stmt* around = node_around(context, use);
  if (const auto* subscript = dyn_cast_or_null<ArraySubscriptExpr>(around)) {
    if (bare(subscript->getLHS()) != use)
      return std::nullopt;
    found.read = subscript;
    found.index = subscript->getRHS();
  } else {
    Operation operation = operation_of(around);
    if (operation.kind == Operation::Kind::sum && bare(operation.first) == use) {
      found.index = operation.second;
      around = node_around(context, around);
      operation = operation_of(around);
    }
    if (operation.kind != Operation::Kind::dereference)
      return std::nullopt;
    found.read = cast<Expr>(around);
  }
  const Stmt* taken = node_around(context, found.read);
  // Not read, but written to, or its address taken.
  if (const auto* set = dyn_cast_or_null<BinaryOperator>(taken);
      set && set->isAssignmentOp() && bare(set->getLHS()) == found.read)
    return std::nullopt;
  if (const auto* changed = dyn_cast_or_null<UnaryOperator>(taken);
      changed && (changed->isIncrementDecrementOp() || changed->getOpcode() == UO_AddrOf))
    return std::nullopt;
  if (const auto* cast = dyn_cast_or_null<ExplicitCastExpr>(taken))
    found.cast = cast->getTypeAsWritten();
  return found;
}

} // namespace

std::optional<std::vector<TableRead>> table_reads(ASTContext& context, const FunctionDecl& kernel,
                                                  const ParmVarDecl& table, const std::string& member_path) {
  UseFinder in_body(context, table, member_path);
  in_body.TraverseStmt(kernel.getBody());
  if (!member_path.empty()) {
    UseFinder anywhere(context, table, member_path);
    anywhere.TraverseAST(context);
    // Where another object has a member of this name, it may be the same one, passed on.
    if (anywhere.of_the_name.size() != in_body.uses.size())
      return std::nullopt;
  }
  std::vector<TableRead> reads;
  for (const Expr* use : in_body.uses) {
    const auto read = read_through(context, use);
    if (!read)
      return std::nullopt;
    reads.push_back(*read);
  }
  return reads;
}

} // namespace lathe::refactor
