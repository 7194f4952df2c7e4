#include "refactor/knobs/early_elements.h"

#include "refactor/knobs/kept_objects.h"
#include "refactor/knobs/statement_effects.h"

#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// `if (...) continue;`: the condition, under which the rest of the round is left out.
const Expr* condition_to_go_on(const Stmt* statement) {
  const auto* branch = dyn_cast<IfStmt>(statement);
  if (!branch || branch->getElse() || branch->getInit() || branch->getConditionVariable())
    return nullptr;
  const Stmt* jump = branch->getThen();
  if (const auto* block = dyn_cast<CompoundStmt>(jump); block && block->size() == 1)
    jump = block->body_front();
  return isa<ContinueStmt>(jump) ? branch->getCond() : nullptr;
}

class Reader {
public:
  Reader(const KernelView& view, const KeptElements& kept, std::size_t index, const BufferAccess& access)
      : view_(view), kept_(kept), loop_(kept.loops[index]) {
    early_.loop = index;
    early_.access = access;
  }

  std::optional<EarlyElements> read(const ParmVarDecl* buffer) {
    const BufferAccess& access = early_.access;
    if (!access.reads || access.writes || !is_stable(view_, access.index) ||
        !is_stable(view_, access.before_cast) || !access.index.mentions(loop_atom) || !collect_conditions() ||
        !collect_declarations())
      return std::nullopt;
    if (access.is_address) {
      const auto type = kept_object_type(view_, {loop_}, {{access}});
      if (!std::holds_alternative<std::string>(type))
        return std::nullopt;
      early_.object_type = std::get<std::string>(type);
    } else {
      early_.element = access.carrier.isNull() ? buffer->getType()->getPointeeType() : access.carrier;
    }
    return early_;
  }

private:
  const KernelView& view_;
  const KeptElements& kept_;
  const StridedLoop& loop_;
  EarlyElements early_;

  bool add_condition(const Expr* condition, bool holds) {
    if (!is_plain_value(view_, condition) || !view_.range(condition->getSourceRange()))
      return false;
    early_.conditions.emplace_back(condition, holds);
    return true;
  }

  bool collect_conditions() {
    const Stmt* child = early_.access.expression;
    for (const Stmt* above = view_.parent(child); above && child != loop_.loop->getBody();
         child = above, above = view_.parent(above)) {
      if (const auto* branch = dyn_cast<IfStmt>(above)) {
        if (branch->isConstexpr() || branch->getInit() || branch->getConditionVariable() ||
            (child != branch->getCond() && !add_condition(branch->getCond(), child == branch->getThen())))
          return false;
      } else if (const auto* block = dyn_cast<CompoundStmt>(above)) {
        for (const Stmt* earlier : block->body()) {
          if (earlier == child)
            break;
          const StatementEffects effects = effects_of(view_, earlier);
          if (!effects.leaves)
            continue;
          const Expr* condition = condition_to_go_on(earlier);
          if (!condition || !add_condition(condition, false))
            return false;
        }
      } else if (const auto* choice = dyn_cast<ConditionalOperator>(above)) {
        if (child != choice->getCond() && !add_condition(choice->getCond(), child == choice->getTrueExpr()))
          return false;
      } else if (const auto parts = binary_parts(above);
                 parts && BinaryOperator::isLogicalOp(parts->operation)) {
        return false;
      } else if (!isa<Expr>(above) && !isa<DeclStmt>(above) && !isa<AttributedStmt>(above)) {
        return false; // an inner loop, a switch
      } else if (isa<LambdaExpr>(above) || isa<StmtExpr>(above)) {
        return false;
      }
    }
    std::ranges::reverse(early_.conditions);
    return true;
  }

  bool collect_declarations() {
    std::set<const VarDecl*> seen;
    const Expr* place = early_.access.expression;
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(place))
      return needs(subscript->getBase(), seen) && needs(subscript->getIdx(), seen) && needs_conditions(seen);
    if (const auto* unary = dyn_cast<UnaryOperator>(place); unary && unary->getOpcode() == UO_Deref)
      return needs(unary->getSubExpr(), seen) && needs_conditions(seen);
    return early_.access.is_address && needs(place, seen) && needs_conditions(seen);
  }

  bool needs_conditions(std::set<const VarDecl*>& seen) {
    return std::ranges::all_of(early_.conditions,
                               [&](const auto& condition) { return needs(condition.first, seen); });
  }

  // Adds what declares the variables of a plain value.
  bool needs(const Expr* value, std::set<const VarDecl*>& seen) {
    if (!is_plain_value(view_, value))
      return false;
    const SourceManager& manager = view_.context().getSourceManager();
    const auto offset = [&](SourceLocation location) {
      return manager.getFileOffset(manager.getExpansionLoc(location));
    };
    for (const VarDecl* variable : variables_in(view_, value)) {
      if (variable == loop_.counter || !seen.insert(variable).second)
        continue;
      if (view_.is_modified(variable))
        return false;
      const DeclStmt* declaration = declaration_of(variable);
      if (!declaration) {
        if (variable->isLocalVarDecl() &&
            offset(variable->getLocation()) > offset(kept_.loops.front().loop->getBeginLoc()))
          return false;
        continue;
      }
      if (!declaration->isSingleDecl() || !variable->hasInit() ||
          !view_.range(declaration->getSourceRange()) || !needs(variable->getInit(), seen))
        return false;
      early_.declarations.push_back(declaration); // behind those that it needs
    }
    return true;
  }

  // In the loop; null where the variable is set before it.
  const DeclStmt* declaration_of(const VarDecl* variable) const {
    const DeclStmt* found = nullptr;
    view_.visit(loop_.loop->getBody(), [&](const Stmt* statement) {
      if (const auto* declaration = dyn_cast<DeclStmt>(statement))
        for (const Decl* declared : declaration->decls())
          if (declared == variable)
            found = declaration;
    });
    return found;
  }
};

// Whether loads of unchanging memory may go from the later loop to the first.
bool nothing_orders(const KernelView& view, const StridedLoop& first, const StridedLoop& later) {
  bool between = false;
  for (const Stmt* statement : first.block->body()) {
    between |= statement == first.statement;
    if (between) {
      const StatementEffects effects = effects_of(view, statement);
      if (effects.orders_memory || effects.leaves)
        return false;
    }
    if (statement == later.statement)
      return between;
  }
  return false;
}

} // namespace

std::vector<EarlyElements> find_early_elements(const KernelView& view, const KeptElements& kept) {
  std::vector<EarlyElements> found;
  for (std::size_t i = 1; i < kept.loops.size(); ++i) {
    const StridedLoop& later = kept.loops[i];
    if (!nothing_orders(view, kept.loops.front(), later))
      continue;
    for (const ParmVarDecl* buffer : view.kernel()->parameters()) {
      const QualType type = buffer->getType();
      if (buffer == kept.array || !type->isPointerType() || !type.isRestrictQualified() ||
          !type->getPointeeType().isConstQualified() || type->getPointeeType().isVolatileQualified() ||
          view.is_modified(buffer))
        continue;
      const auto accesses = accesses_of(view, buffer, true);
      if (const auto* known = std::get_if<std::vector<BufferAccess>>(&accesses))
        for (const BufferAccess& access : *known)
          if (view.within(later.loop->getBody(), access.expression))
            if (auto early = Reader(view, kept, i, access).read(buffer))
              found.push_back(std::move(*early));
    }
  }
  return found;
}

} // namespace lathe::refactor
