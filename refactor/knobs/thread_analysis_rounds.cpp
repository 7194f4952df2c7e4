// Which loops deal work out to threads, and whether another block size leaves their results as they are.
#include "refactor/knobs/thread_analysis.h"

#include "refactor/knobs/carried_values.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <string_view>

namespace lathe::refactor {

using namespace clang;

void ThreadAnalysis::accept_share(const Share& share, SourceLocation location, const std::string& atom) {
  if (share.thread != thread_)
    note_group(*group_size(Polynomial::atom(share.thread)));
  bool over_blocks = false, over_loop = false, loop_follows = false;
  for (const std::string& factor : share.spread.atoms()) {
    if (factor.rfind("blockIdx.", 0) == 0) {
      over_blocks = true;
      model_.grid_axes.insert(factor);
    } else if (factor.rfind("var:", 0) == 0) {
      over_loop = true;
      loop_follows |= loop_bound_follows(factor);
    } else if (factor.rfind("gridDim.", 0) != 0 && factor.rfind("template:", 0) != 0) {
      refuse(location,
             "the index spreads over " + factor + ", which is not a block index or a loop counter,");
      return;
    }
  }
  if (over_loop && !over_blocks && !loop_follows) {
    refuse(location, "the loop around the index runs a fixed number of rounds whatever the block size is,");
    return;
  }
  if (over_loop && !over_blocks)
    note_whole_rounds(share, atom);
  indices_[atom] = location;
  note_evidence(location);
  if (over_loop)
    model_.strided = true;
}

void ThreadAnalysis::note_whole_rounds(const Share& share, const std::string& atom) {
  const auto factors = share.spread.atoms();
  const auto counter =
      std::ranges::find_if(factors, [](const std::string& factor) { return factor.starts_with("var:"); });
  const auto rounds = whole_rounds(view_, *counter);
  if (!rounds || share.spread != Polynomial::atom(*counter) ||
      view_.evaluate(rounds->per_round) != share.per_thread * Polynomial::atom(share.count))
    return;
  const Polynomial total = view_.evaluate(rounds->total);
  if (total.mentions(thread_) || total.mentions(count_))
    return;
  guarded_.insert(atom);
  model_.whole_rounds.push_back(*rounds);
}

bool ThreadAnalysis::loop_bound_follows(const std::string& counter) {
  bool follows = false;
  view_.visit([&](const Stmt* statement) {
    const auto* loop = dyn_cast<ForStmt>(statement);
    const auto* condition = loop ? dyn_cast_or_null<BinaryOperator>(loop->getCond()) : nullptr;
    if (!condition)
      return;
    const Polynomial left = view_.evaluate(condition->getLHS()), right = view_.evaluate(condition->getRHS());
    if (left.mentions(counter) && right.mentions(count_))
      follows = true;
  });
  return follows;
}

void ThreadAnalysis::check_induction(const VarDecl* variable, const Polynomial& start) {
  const auto share = share_of(start);
  if (!share) {
    refuse(variable->getLocation(), "the loop over " + variable->getNameAsString() + " starts at " + thread_ +
                                        " in a form that is not a share of the work");
    return;
  }
  int steps = 0;
  for (const DeclRefExpr* use : view_.uses(variable)) {
    const Stmt* above = view_.meaningful_parent(use);
    std::optional<Polynomial> step;
    if (const auto* compound = dyn_cast_or_null<CompoundAssignOperator>(above);
        compound && compound->getLHS()->IgnoreParenImpCasts() == use) {
      if (compound->getOpcode() != BO_AddAssign) {
        refuse(use->getLocation(),
               "the index " + variable->getNameAsString() + " is changed other than by a step");
        return;
      }
      step = view_.evaluate(compound->getRHS());
    } else if (const auto* assignment = dyn_cast_or_null<BinaryOperator>(above);
               assignment && assignment->getOpcode() == BO_Assign &&
               assignment->getLHS()->IgnoreParenImpCasts() == use) {
      step = view_.evaluate(assignment->getRHS()) - Polynomial::atom(view_.atom_of(variable));
    } else if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above);
               unary && unary->isIncrementDecrementOp()) {
      step = Polynomial::constant(1);
    }
    if (!step)
      continue;
    ++steps;
    bool matches = false;
    for (const auto& [thread, counts] : pairs(start)) {
      if (thread != share->thread)
        continue;
      for (const std::string& count : counts) {
        const Polynomial within = share->per_thread * Polynomial::atom(count);
        if (share->spread.is_zero()) {
          matches |= *step == within;
          // The warps of a block and the blocks of a grid together, where each block starts at its share.
        } else {
          for (const std::string& factor : share->spread.atoms())
            if (factor.rfind("blockIdx.", 0) == 0) {
              const Polynomial blocks = Polynomial::atom("gridDim." + factor.substr(9));
              matches |= *step == within * blocks;
              // A block's share may be several times its threads: blockIdx.x * (threads * 2) + thread.
              const auto times = share->spread.quotient_by(factor);
              matches |= times && share->spread.without(factor).is_zero() && times->as_constant() &&
                         *step == within * *times * blocks;
            }
        }
      }
    }
    if (!matches) {
      refuse(use->getLocation(),
             "the step of " + variable->getNameAsString() + " is not the number of threads");
      return;
    }
    check_rounds(use);
  }
  if (steps == 0) {
    refuse(variable->getLocation(),
           "the index " + variable->getNameAsString() + " escapes, so that its uses are not known,");
    return;
  }
  if (share->thread != thread_)
    note_group(*group_size(Polynomial::atom(share->thread)));
  for (const std::string& factor : share->spread.atoms())
    if (factor.rfind("blockIdx.", 0) == 0)
      if (const auto times = share->spread.quotient_by(factor); times && times->as_constant())
        shares_[view_.atom_of(variable)] = {share->per_thread * Polynomial::atom(share->count),
                                            *times->as_constant()};
  model_.strided = true;
  model_.free_grid |= !share->spread.is_zero();
  note_evidence(variable->getLocation());
}

void ThreadAnalysis::check_rounds(const Stmt* step) {
  const Stmt* loop = step;
  while (loop && !isa<ForStmt>(loop) && !isa<WhileStmt>(loop) && !isa<DoStmt>(loop))
    loop = view_.parent(loop);
  if (!loop)
    return;
  if (const auto carried = carried_into_memory(view_, loop))
    refuse(carried->store->getBeginLoc(),
           "'" + carried->variable->getNameAsString() + "' goes on from round to round into what is stored");
}

void ThreadAnalysis::check_block_results() {
  view_.visit([&](const Stmt* statement) {
    const auto* binary = dyn_cast<BinaryOperator>(statement);
    const auto* target = binary && binary->isAssignmentOp()
                             ? dyn_cast<ArraySubscriptExpr>(binary->getLHS()->IgnoreParenImpCasts())
                             : nullptr;
    if (!target || view_.is_on_chip(target->getBase()))
      return;
    const Polynomial index = view_.evaluate(target->getIdx());
    if (index.mentions("blockIdx.") && !index.mentions(thread_))
      refuse(target->getBeginLoc(), "each block leaves a result of its own, of elements that the block size "
                                    "decides,");
  });
}

void ThreadAnalysis::check_blocks_alone() {
  if (model_.grid_axes.empty())
    return;
  view_.visit([&](const Stmt* statement) {
    const auto* leaf = dyn_cast<Expr>(statement);
    if (!leaf || !refusal_.empty() || is_dead(statement) ||
        (!isa<DeclRefExpr>(leaf) && KernelView::builtin_name(leaf).empty()))
      return;
    const Expr* expression = maximal(leaf);
    const Polynomial value = view_.evaluate(expression);
    const auto is_number_of_block = [&](const std::string& axis) { return value.mentions(axis); };
    if (std::ranges::none_of(model_.grid_axes, is_number_of_block) || value.mentions(thread_) ||
        value.mentions(count_))
      return;
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(view_.meaningful_parent(expression)))
      if (std::ranges::none_of(declaration->decls(), [&](const Decl* declared) {
            const auto* variable = dyn_cast<VarDecl>(declared);
            return variable && view_.is_modified(variable);
          }))
        return; // its uses are looked at
    refuse(expression->getBeginLoc(),
           "a block's number stands for itself, while the grid would follow the block size,");
  });
}

void ThreadAnalysis::check_halving(const VarDecl* variable) {
  for (const DeclRefExpr* use : view_.uses(variable)) {
    const auto* above = dyn_cast_or_null<BinaryOperator>(view_.meaningful_parent(use));
    if (!above || !above->isAssignmentOp() || above->getLHS()->IgnoreParenImpCasts() != use)
      continue;
    const auto amount = view_.evaluate(above->getRHS()).as_constant();
    const bool halves = (above->getOpcode() == BO_ShrAssign && amount == 1) ||
                        (above->getOpcode() == BO_DivAssign && amount == 2);
    if (!halves)
      return refuse(use->getLocation(),
                    variable->getNameAsString() + " starts at the block size and is changed");
  }
  model_.halving = true;
  halving_.insert(Polynomial::atom(view_.atom_of(variable)).text());
}

} // namespace lathe::refactor
