#include "refactor/knobs/collapsible_loops.h"

#include "refactor/knobs/between_barriers.h"
#include "refactor/knobs/round_accesses.h"
#include "refactor/knobs/statement_effects.h"
#include "refactor/knobs/thread_variance.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// What an index gains with each row, or column, of the nest; nothing where that is no plain factor.
std::optional<Polynomial> per_round(const Polynomial& index, const char* counter) {
  const auto factor = index.quotient_by(counter);
  if (!factor || factor->mentions(row_atom) || factor->mentions(column_atom))
    return std::nullopt;
  return factor;
}

// `wide` is a multiple of `narrow`, a number other than zero, that is `count` times it or more.
bool spans(const Polynomial& wide, const Polynomial& narrow, const Polynomial& count) {
  const auto each = narrow.as_constant();
  if (!each || *each == 0)
    return false;
  const auto more = (wide - narrow * count).as_constant();
  return more && (*more == 0 || (*more > 0) == (*each > 0));
}

class Reader {
public:
  explicit Reader(KernelView& view) : view_(view) {}

  // Nothing where the nest is collapsible; `nest` is then whole.
  std::optional<std::string> read(CollapsibleNest& nest) {
    spans_grid_ = nest.spans_grid = nest.outer.start.mentions("blockIdx.");
    if (auto reason = read_body(nest))
      return reason;
    std::vector<const Stmt*> parts(nest.between.begin(), nest.between.end());
    parts.push_back(nest.inner.loop->getBody());
    view_.keep(nest.outer.counter, row_atom);
    view_.keep(nest.inner.counter, column_atom);
    auto accesses = round_accesses(view_, nest.outer.loop, parts, spans_grid_);
    view_.release(nest.outer.counter);
    view_.release(nest.inner.counter);
    if (const auto* reason = std::get_if<std::string>(&accesses))
      return *reason;
    accesses_ = std::get<std::vector<RoundAccess>>(std::move(accesses));
    for (const std::optional<std::string>& reason :
         {each_round_stores_its_own(nest), no_round_loads_what_another_stores(), every_thread_is_there(nest),
          spans_grid_ ? nothing_else_touches(nest) : nothing_between_barriers_touches(nest)})
      if (reason)
        return reason;
    nest.counts_in_32_bits = std::ranges::any_of(accesses_, [](const RoundAccess& access) {
      return access.stores && access.indices.size() == 1 && access.bounds_rounds;
    });
    nest.neighbours = neighbours_of(nest);
    return std::nullopt;
  }

private:
  KernelView& view_;
  bool spans_grid_ = false;
  std::vector<RoundAccess> accesses_;

  std::string at(SourceLocation location) const { return " at " + view_.at_line(location); }

  // Nothing but declarations in front of the inner loop, which is the last statement.
  std::optional<std::string> read_body(CollapsibleNest& nest) const {
    const auto* body = dyn_cast<CompoundStmt>(nest.outer.loop->getBody());
    const std::string where = at(nest.outer.loop->getBeginLoc());
    std::vector<const Stmt*> before;
    if (body)
      before.assign(body->body_begin(), body->body_end() - 1);
    for (const Stmt* statement : before) {
      const auto* declaration = dyn_cast<DeclStmt>(statement);
      if (!declaration || effects_of(view_, declaration).changes_memory || !declares_constants(declaration))
        return "a round of the loop" + where + " does more than its inner loop";
      nest.between.push_back(declaration);
    }
    if (!nest.inner.start.is_zero() || nest.inner.step.as_constant() != 1)
      return "the loop" + at(nest.inner.loop->getBeginLoc()) + " does not count from zero in steps of one";
    for (const VarDecl* variable : variables_in(view_, nest.inner.bound))
      if (declares(view_, nest.outer.loop, variable))
        return "the bound of the loop" + at(nest.inner.loop->getBeginLoc()) + " belongs to a round";
    return std::nullopt;
  }

  bool declares_constants(const DeclStmt* declaration) const {
    return std::ranges::all_of(declaration->decls(), [&](const Decl* declared) {
      const auto* variable = dyn_cast<VarDecl>(declared);
      return variable && variable->hasInit() && !variable->isStaticLocal() &&
             !variable->getType()->isReferenceType() && !variable->getType()->isArrayType() &&
             !view_.is_modified(variable);
    });
  }

  std::optional<std::string> each_round_stores_its_own(const CollapsibleNest& nest) const {
    bool stores = false;
    for (const RoundAccess& access : accesses_) {
      stores |= access.stores;
      if (access.stores && !is_own_element(nest, access.indices))
        return "two rounds may store one element" + at(access.location);
    }
    return stores ? std::nullopt
                  : std::optional("the loop" + at(nest.outer.loop->getBeginLoc()) + " stores nothing");
  }

  static bool is_own_element(const CollapsibleNest& nest, const std::vector<Polynomial>& indices) {
    if (indices.size() == 1) {
      const auto row = per_round(indices[0], row_atom), column = per_round(indices[0], column_atom);
      const Polynomial rest = indices[0].without(row_atom).without(column_atom);
      return row && column && !rest.mentions(row_atom) && !rest.mentions(column_atom) &&
             (spans(*row, *column, nest.inner.limit) || spans(*column, *row, nest.outer.limit));
    }
    // [i][j], in any order, each with its counter alone.
    const auto counts = [&](const char* counter, const char* other) {
      return std::ranges::any_of(indices, [&](const Polynomial& index) {
        const auto factor = per_round(index, counter);
        return factor && factor->as_constant().value_or(0) != 0 && !index.mentions(other) &&
               !index.without(counter).mentions(counter);
      });
    };
    return counts(row_atom, column_atom) && counts(column_atom, row_atom);
  }

  std::optional<std::string> no_round_loads_what_another_stores() const {
    for (const RoundAccess& store : accesses_)
      for (const RoundAccess& load : accesses_)
        if (store.stores && (load.loads || load.stores) && may_overlap(store.base, load.base) &&
            load.indices != store.indices)
          return "a round may load what another one stores" + at(load.location);
    return std::nullopt;
  }

  std::vector<ElementAccess> neighbours_of(const CollapsibleNest& nest) const {
    view_.keep(nest.outer.counter, row_atom);
    view_.keep(nest.inner.counter, loop_atom);
    std::vector<ElementAccess> moved = movable_accesses(
        view_, {nest.inner.counter, {nest.inner.loop->getBody()}, nest.inner.loop, true, nest.outer.counter});
    std::erase_if(moved, [&](const ElementAccess& access) {
      return !goes_on_evenly(access.index) || !is_alone(access);
    });
    view_.release(nest.outer.counter);
    view_.release(nest.inner.counter);
    return moved;
  }

  // Each row begins as far behind the one before.
  bool goes_on_evenly(const Polynomial& index) const {
    const auto row = index.quotient_by(row_atom);
    return row && !row->mentions(row_atom) && is_stable(view_, *row) &&
           is_stable(view_, index.without(row_atom));
  }

  // What is loaded before, or stored behind, the work of its neighbours is seen by none of them.
  bool is_alone(const ElementAccess& moved) const {
    const MemoryBase base = memory_base(view_, moved.buffer);
    return std::ranges::none_of(accesses_, [&](const RoundAccess& access) {
      return access.base.variable != moved.buffer && (access.stores || moved.writes) &&
             may_overlap(access.base, base);
    });
  }

  // Rounds of a thread that has returned would be another thread's.
  std::optional<std::string> every_thread_is_there(const CollapsibleNest& nest) const {
    const Stmt* child = nest.outer.statement;
    for (const Stmt* above = view_.parent(child); above; child = above, above = view_.parent(above)) {
      const auto* block = dyn_cast<CompoundStmt>(above);
      if (!block)
        continue;
      for (const Stmt* earlier : block->body()) {
        if (earlier == child)
          break;
        if (!effects_of(view_, earlier).leaves)
          continue;
        const auto* branch = dyn_cast<IfStmt>(earlier);
        if (!branch || varies_between_threads(view_, branch->getCond(), spans_grid_) ||
            effects_of(view_, branch->getCond()).leaves)
          return "threads may have left" + at(earlier->getBeginLoc());
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> nothing_between_barriers_touches(const CollapsibleNest& nest) const {
    const std::vector<const Stmt*> statements(nest.outer.block->body_begin(), nest.outer.block->body_end());
    const auto own = std::ranges::find(statements, nest.outer.statement);
    const bool is_whole_kernel = nest.outer.block == view_.kernel()->getBody();
    const auto scan = [&](auto from, const auto& to, bool is_behind) -> std::optional<std::string> {
      for (; from != to; ++from) {
        if (is_barrier(view_, *from))
          return std::nullopt;
        // By break or continue: to what may read the nest's elements with no barrier in between.
        if (is_behind && !is_whole_kernel && effects_of(view_, *from).leaves)
          return "the block may leave before its threads wait for each other" + at((*from)->getBeginLoc());
        if (auto reason = touches(view_, *from, accesses_))
          return reason;
      }
      return is_whole_kernel ? std::nullopt
                             : std::optional("the loop" + at(nest.outer.loop->getBeginLoc()) +
                                             " is not between two barriers of its block");
    };
    if (auto reason = scan(std::make_reverse_iterator(own), statements.rend(), false))
      return reason;
    return scan(own + 1, statements.end(), true);
  }

  std::optional<std::string> nothing_else_touches(const CollapsibleNest& nest) const {
    for (const RoundAccess& access : accesses_)
      if (access.base.on_chip)
        return "blocks cannot share shared memory" + at(access.location);
    std::optional<std::string> reason;
    const auto* body = cast<CompoundStmt>(view_.kernel()->getBody());
    for (const Stmt* statement : body->body())
      if (!reason)
        reason = touches(view_, statement, accesses_, nest.outer.loop);
    return reason;
  }
};

// The loop that a round ends with.
std::optional<StridedLoop> inner_loop(const KernelView& view, const StridedLoop& outer) {
  const Stmt* last = outer.loop->getBody();
  if (const auto* body = dyn_cast<CompoundStmt>(last))
    last = body->body_empty() ? nullptr : body->body_back();
  while (const auto* attributed = dyn_cast_or_null<AttributedStmt>(last))
    last = attributed->getSubStmt();
  const auto* loop = dyn_cast_or_null<ForStmt>(last);
  return loop ? read_strided_loop(view, loop) : std::nullopt;
}

} // namespace

std::variant<std::string, std::vector<CollapsibleNest>> find_collapsible_nests(KernelView& view,
                                                                               const LaunchFacts& facts) {
  std::string reason = "no loop that is dealt out to threads has nothing but another loop in it";
  std::vector<CollapsibleNest> found;
  for (const StridedLoop& outer : strided_loops(view)) {
    const auto inner = deals_out_in_turn(outer, facts) ? inner_loop(view, outer) : std::nullopt;
    if (!inner)
      continue;
    CollapsibleNest nest;
    nest.outer = outer;
    nest.inner = *inner;
    if (auto why = Reader(view).read(nest))
      reason = *why;
    else
      found.push_back(std::move(nest));
  }
  if (found.empty())
    return reason;
  return found;
}

} // namespace lathe::refactor
