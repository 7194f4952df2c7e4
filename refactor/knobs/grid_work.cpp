#include "refactor/knobs/grid_work.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

const char* const block_atom = "blockIdx.x";
const char* const blocks_atom = "gridDim.x";

bool is_atomic(const KernelView& view, const CallExpr* call) {
  const std::string name = callee_name(view, call);
  return name.find("atomic") != std::string::npos || name.find("Atomic") != std::string::npos;
}

class Reader {
public:
  explicit Reader(const KernelView& view) : view_(view) {}

  std::variant<std::string, std::vector<GridLoop>> read() {
    find_loops();
    if (loops_.empty())
      return "no loop steps by the whole grid";
    if (const std::string reason = uses_of_grid(); !reason.empty())
      return reason;
    if (const std::string reason = cooperation(); !reason.empty())
      return reason;
    if (const std::string reason = effects(); !reason.empty())
      return reason;
    return loops_;
  }

private:
  const KernelView& view_;
  std::vector<GridLoop> loops_;
  std::set<const VarDecl*> followed_;

  void find_loops() {
    for (const StridedLoop& loop : strided_loops(view_)) {
      const auto each = loop.start.quotient_by(block_atom);
      if (!each || each->is_zero() || loop.step != *each * Polynomial::atom(blocks_atom))
        continue;
      const auto of_grid = [](const Polynomial& value) {
        return value.mentions(block_atom) || value.mentions(blocks_atom);
      };
      if (!of_grid(*each) && !of_grid(loop.start.without(block_atom)) && !of_grid(loop.limit))
        loops_.push_back({loop, *each});
    }
  }

  bool is_in_a_loop(const Stmt* statement) const {
    return std::ranges::any_of(loops_,
                               [&](const GridLoop& loop) { return view_.within(loop.loop.loop, statement); });
  }

  // index == 0, which some thread of any grid has.
  bool selects_first(const Stmt* comparison) const {
    const auto parts = binary_parts(comparison);
    if (!parts || parts->operation != BO_EQ)
      return false;
    const Polynomial left = view_.evaluate(parts->left), right = view_.evaluate(parts->right);
    const Polynomial& index = right.is_zero() ? left : right;
    if (!left.is_zero() && !right.is_zero())
      return false;
    return index.mentions(block_atom) && std::ranges::all_of(index.terms(), [](const auto& term) {
             return term.second > 0 && std::ranges::none_of(term.first, [](const std::string& atom) {
                      return atom == blocks_atom || atom.find_first_of("(@\"") != std::string::npos;
                    });
           });
  }

  const VarDecl* initialised_by(const DeclStmt* declaration, const Stmt* part) const {
    for (const Decl* declared : declaration->decls())
      if (const auto* variable = dyn_cast<VarDecl>(declared);
          variable && variable->hasInit() && view_.within(variable->getInit(), part))
        return variable;
    return nullptr;
  }

  bool feeds_loops(const VarDecl* variable) {
    if (std::ranges::any_of(loops_, [&](const GridLoop& loop) { return loop.loop.counter == variable; }))
      return true;
    if (view_.is_modified(variable) || variable->getType()->isReferenceType())
      return false;
    if (!followed_.insert(variable).second)
      return true;
    const auto uses = view_.uses(variable);
    return std::ranges::all_of(uses, [&](const DeclRefExpr* use) { return feeds_loops(use); });
  }

  // True when the value is no more than part of where a loop over the grid starts, of its step, or of a
  // comparison that selects the first block.
  bool feeds_loops(const Expr* use) {
    const Stmt* child = use;
    for (const Stmt* above = view_.parent(use); above; child = above, above = view_.parent(above)) {
      if (isa<ParenExpr>(above) || isa<CastExpr>(above) || isa<PseudoObjectExpr>(above) ||
          isa<ExprWithCleanups>(above))
        continue;
      if (const auto* declaration = dyn_cast<DeclStmt>(above)) {
        const VarDecl* variable = initialised_by(declaration, child);
        return variable && feeds_loops(variable);
      }
      const auto parts = binary_parts(above);
      if (!parts)
        return false;
      if (parts->operation == BO_Add || parts->operation == BO_Sub || parts->operation == BO_Mul)
        continue;
      if (BinaryOperator::isAssignmentOp(parts->operation))
        return std::ranges::any_of(loops_,
                                   [&](const GridLoop& loop) { return loop.loop.loop->getInc() == above; });
      return selects_first(above);
    }
    return false;
  }

  std::string uses_of_grid() {
    std::string reason;
    view_.visit([&](const Stmt* statement) {
      const auto* pseudo = dyn_cast<PseudoObjectExpr>(statement);
      if (!pseudo || !reason.empty())
        return;
      const std::string builtin = KernelView::builtin_name(pseudo);
      if (builtin != block_atom && builtin != blocks_atom)
        return;
      const std::string where = builtin + " at " + view_.at_line(pseudo->getBeginLoc());
      if (view_.enclosing_function(pseudo) != view_.kernel())
        reason = where + " is read in a helper";
      else if (!feeds_loops(pseudo))
        reason = where + " is used for more than dealing out a loop over the whole grid";
    });
    return reason;
  }

  std::string cooperation() const {
    for (const char* name : {"grid_group", "this_grid", "cluster"})
      if (view_.file_text().find(name) != std::string::npos)
        return "blocks cooperate: " + std::string(name);
    return "";
  }

  // What a statement stores to memory that other blocks see, not by atomics.
  bool stores(const Stmt* statement) const {
    const auto to_memory = [&](const Expr* place) {
      place = place->IgnoreParenImpCasts();
      while (const auto* member = dyn_cast<MemberExpr>(place))
        if (member->isArrow())
          break;
        else
          place = member->getBase()->IgnoreParenImpCasts();
      const auto* reference = dyn_cast<DeclRefExpr>(place);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      return variable ? variable->hasGlobalStorage() && !variable->hasAttr<CUDASharedAttr>()
                      : !view_.is_on_chip(place);
    };
    if (const auto parts = binary_parts(statement))
      return BinaryOperator::isAssignmentOp(parts->operation) && to_memory(parts->left);
    if (const auto* unary = dyn_cast<UnaryOperator>(statement))
      return unary->isIncrementDecrementOp() && to_memory(unary->getSubExpr());
    const auto* call = dyn_cast<CallExpr>(statement);
    if (!call || is_atomic(view_, call))
      return false;
    return std::ranges::any_of(call->arguments(), [&](const Expr* argument) {
      const QualType type = argument->getType();
      const auto* address = dyn_cast<UnaryOperator>(argument->IgnoreParenImpCasts());
      const bool of_variable = address && address->getOpcode() == UO_AddrOf &&
                               isa<DeclRefExpr>(address->getSubExpr()->IgnoreParenImpCasts());
      return type->isPointerType() && !type->getPointeeType().isConstQualified() && !of_variable &&
             !view_.is_on_chip(argument);
    });
  }

  bool is_of_first_block(const Stmt* statement) const {
    const Stmt* child = statement;
    for (const Stmt* above = view_.parent(statement); above; child = above, above = view_.parent(above)) {
      const auto* branch = dyn_cast<IfStmt>(above);
      if (!branch || child != branch->getThen())
        continue;
      bool first = false;
      std::function<void(const Expr*)> look = [&](const Expr* condition) {
        const auto parts = binary_parts(condition->IgnoreParenImpCasts());
        if (parts && parts->operation == BO_LAnd) {
          look(parts->left);
          look(parts->right);
        } else {
          first |= selects_first(condition->IgnoreParenImpCasts());
        }
      };
      look(branch->getCond());
      if (first)
        return true;
    }
    return false;
  }

  // A variable from outside of the loop that the loop changes: what it holds depends on the rounds before.
  const VarDecl* carried_by(const GridLoop& loop) const {
    const VarDecl* carried = nullptr;
    view_.visit(loop.loop.loop->getBody(), [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (carried || !variable || variable->hasAttr<CUDASharedAttr>() || !variable->hasLocalStorage() ||
          variable->getType().isConstQualified() || declares(view_, loop.loop.loop, variable))
        return;
      const bool is_array = variable->getType()->isArrayType() && !isa<ParmVarDecl>(variable);
      if (is_array || view_.is_modified(variable))
        carried = variable;
    });
    return carried;
  }

  std::string effects() const {
    const VarDecl* carried = nullptr;
    for (const GridLoop& loop : loops_)
      if (const VarDecl* variable = carried_by(loop))
        carried = variable;
    std::string reason;
    view_.visit(view_.kernel()->getBody(), [&](const Stmt* statement) {
      if (!reason.empty() || !stores(statement))
        return;
      const std::string where = "the store at " + view_.at_line(statement->getBeginLoc());
      if (carried)
        reason = where + " may depend on " + carried->getNameAsString() +
                 ", which one round of a loop leaves to the next";
      else if (!is_in_a_loop(statement) && !is_of_first_block(statement))
        reason = where + " is made by every block";
    });
    return reason;
  }
};

} // namespace

std::variant<std::string, std::vector<GridLoop>> read_grid_work(const KernelView& view) {
  return Reader(view).read();
}

} // namespace lathe::refactor
