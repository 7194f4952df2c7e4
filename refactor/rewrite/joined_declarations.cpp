#include "refactor/rewrite/joined_declarations.h"

#include "refactor/rewrite/rule_support.h"

#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

bool reads_thread_number(const KernelView& view, const Expr* value) {
  bool found = false;
  view.visit(value, [&](const Stmt* part) {
    if (const auto* expression = dyn_cast<Expr>(part))
      found |= !KernelView::builtin_name(expression).empty();
  });
  return found;
}

bool has_labels(const KernelView& view, const FunctionDecl* function) {
  bool found = false;
  view.visit(function->getBody(),
             [&](const Stmt* part) { found |= isa<LabelStmt, SwitchStmt, GotoStmt>(part); });
  return found;
}

// The assignment that the statement is, of a variable.
const BinaryOperator* assignment(const Stmt* statement) {
  const auto* operation = dyn_cast<BinaryOperator>(statement);
  return operation && operation->getOpcode() == BO_Assign ? operation : nullptr;
}

// A declarator list without some of its names, as text; "" where none is left.
std::string declaration_of(const std::string& type, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? type + " " : ", ") + name;
  return text.empty() ? "" : text + ";";
}

class Joiner {
public:
  Joiner(const KernelView& view, std::vector<Edit>& edits, std::vector<std::string>& joined)
      : view_(view), edits_(edits), joined_(joined) {}

  void look_at(const CompoundStmt& block) {
    for (const Stmt* statement : block.body())
      if (const auto* declaration = dyn_cast<DeclStmt>(statement))
        look_at(*declaration, block);
  }

private:
  // The statement of `block` that gives the variable its only value, if nothing names it before.
  const BinaryOperator* only_value(const VarDecl* variable, const CompoundStmt& block) const {
    const auto uses = view_.uses(variable);
    for (const Stmt* statement : block.body()) {
      const BinaryOperator* value = assignment(statement);
      const auto is_within = [&](const Stmt* root) {
        return std::ranges::any_of(uses, [&](const DeclRefExpr* use) { return view_.within(root, use); });
      };
      if (!value || !is_within(value->getLHS())) {
        if (is_within(statement))
          return nullptr;
        continue;
      }
      const auto* target = dyn_cast<DeclRefExpr>(value->getLHS()->IgnoreParens());
      const bool is_only_one = std::ranges::all_of(
          uses, [&](const DeclRefExpr* use) { return use == target || !is_changed_by(use); });
      return target && target->getDecl() == variable && !is_within(value->getRHS()) && is_only_one &&
                     reads_thread_number(view_, value->getRHS())
                 ? value
                 : nullptr;
    }
    return nullptr;
  }

  // Anything but a read of the value. What depends on a template's types has no casts yet.
  bool is_changed_by(const DeclRefExpr* use) const {
    const Stmt* parent = view_.parent(use);
    if (const auto* read = dyn_cast_or_null<ImplicitCastExpr>(parent))
      return read->getCastKind() != CK_LValueToRValue;
    if (const auto* operation = dyn_cast_or_null<BinaryOperator>(parent))
      return operation->isAssignmentOp() || operation->isCommaOp() || operation->isPtrMemOp();
    return !isa_and_nonnull<ArraySubscriptExpr>(parent);
  }

  void look_at(const DeclStmt& declaration, const CompoundStmt& block) {
    std::vector<std::string> kept;
    std::vector<std::pair<const VarDecl*, const BinaryOperator*>> moved;
    std::string type;
    for (const Decl* declared : declaration.decls()) {
      const auto* variable = dyn_cast<VarDecl>(declared);
      // All of one plain type, without values: the list can be written anew.
      if (!variable || variable->hasInit() || !variable->hasLocalStorage() || variable->hasAttrs() ||
          !variable->getType()->isArithmeticType() || variable->getType().isVolatileQualified())
        return;
      type = view_.type_text(variable->getType());
      if (const BinaryOperator* value = only_value(variable, block))
        moved.emplace_back(variable, value);
      else
        kept.push_back(variable->getNameAsString());
    }
    const auto whole = view_.range(declaration.getSourceRange());
    if (moved.empty() || !whole || type.empty())
      return;
    std::vector<Edit> edits{replace(*whole, declaration_of(type, kept))};
    for (const auto& [variable, value] : moved) {
      const auto target = view_.range(value->getLHS()->getSourceRange());
      if (!target)
        return;
      edits.push_back(insert(target->begin, type + " "));
    }
    edits_.insert(edits_.end(), edits.begin(), edits.end());
    for (const auto& [variable, value] : moved)
      joined_.push_back(variable->getNameAsString());
  }

  const KernelView& view_;
  std::vector<Edit>& edits_;
  std::vector<std::string>& joined_;
};

} // namespace

std::vector<Edit> join_declarations(const KernelView& view, std::vector<std::string>& joined) {
  std::vector<Edit> edits;
  Joiner joiner(view, edits, joined);
  for (const FunctionDecl* function : view.functions())
    if (!has_labels(view, function))
      view.visit(function->getBody(), [&](const Stmt* part) {
        if (const auto* block = dyn_cast<CompoundStmt>(part))
          joiner.look_at(*block);
      });
  return edits;
}

} // namespace lathe::refactor
