#include "refactor/knobs/thread_model.h"

#include "refactor/knobs/carried_values.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <string_view>

namespace lathe::refactor {

using namespace clang;

namespace {

class Analysis {
public:
  Analysis(KernelView& view, const ThreadAxis& axis, bool launcher_varies)
      : view_(view), thread_(axis.thread), count_(axis.count), launcher_varies_(launcher_varies) {}

  std::variant<ThreadRefusal, ThreadModel> run() {
    keep_divided_indices();
    keep_index_variables();
    check_expressions();
    if (model_.free_grid)
      check_block_results();
    if (!refusal_.empty())
      return ThreadRefusal{refusal_};
    check_blocks_alone();
    if (!refusal_.empty())
      return ThreadRefusal{refusal_};
    for (const auto& [name, location] : indices_)
      if (!guarded_.count(name) && model_.unguarded.empty())
        model_.unguarded = "the index at " + view_.at_line(location) +
                           " is not compared with a bound, so that another block size would run past the end";
    if (!model_.strided && indices_.empty())
      return ThreadRefusal{"no loop or guarded index deals work out by " + thread_};
    return model_;
  }

private:
  KernelView& view_;
  const std::string thread_, count_;
  const bool launcher_varies_;
  ThreadModel model_;
  std::string refusal_;
  std::map<std::string, SourceLocation> indices_; // atom -> where
  std::set<std::string> guarded_;
  // Stepped indices whose block has several rounds of its own in each step: what a round is, and how many.
  std::map<std::string, std::pair<Polynomial, std::int64_t>> shares_;

  // An element of a later round of the block's own: index + threads.
  bool within_share(const Polynomial& value) const {
    for (const auto& [atom, share] : shares_) {
      const Polynomial rest = value - Polynomial::atom(atom);
      for (std::int64_t round = 1; round < share.second; ++round)
        if (rest == share.first * Polynomial::constant(round))
          return true;
    }
    return false;
  }

  void refuse(SourceLocation location, const std::string& what) {
    if (refusal_.empty())
      refusal_ = what + " at " + view_.at_line(location);
  }

  // c * (thread + count * X): X when the polynomial has that form (thread and count may be those of groups).
  struct Share {
    Polynomial per_thread; // c
    Polynomial spread;     // X; zero when the index is within one block
    std::string thread, count;
  };

  // Group sizes G for which "(thread/G)" occurs in the polynomial.
  std::optional<std::int64_t> group_size(const Polynomial& value) const {
    return refactor::group_size(value, thread_);
  }

  std::optional<Share> share_of(const Polynomial& value) {
    for (const auto& [thread, counts] : pairs(value)) {
      const auto per_thread = value.quotient_by(thread);
      if (!per_thread || per_thread->is_zero())
        continue;
      if (mentions_thread(value.without(thread)) || per_thread->mentions(thread_))
        return std::nullopt;
      for (const std::string& count : counts) {
        const auto spread = value.quotient_by(count);
        if (!spread)
          continue;
        if (spread->is_zero())
          continue;
        for (const std::string& atom : spread->atoms())
          if (*per_thread * Polynomial::atom(atom) == *spread)
            return Share{*per_thread, Polynomial::atom(atom), thread, count};
        if (per_thread->as_constant() == 1 && !spread->mentions(thread_) && !spread->mentions(count_))
          return Share{*per_thread, *spread, thread, count};
      }
      return Share{*per_thread, Polynomial(), thread, counts.front()};
    }
    return std::nullopt;
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> pairs(const Polynomial& value) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> result{{thread_, {count_}}};
    if (const auto size = group_size(value)) {
      const std::string digits = std::to_string(*size);
      result.push_back({group_thread(thread_, *size),
                        {"(" + count_ + "/" + digits + ")",
                         "([" + std::to_string(*size - 1) + "+1*" + count_ + "]/" + digits + ")"}});
    }
    return result;
  }

  // Lanes (thread % G) are the same in every block size that is a multiple of G.
  bool mentions_thread(const Polynomial& value) {
    bool found = false;
    for (const std::string& atom : value.atoms()) {
      if (atom.find(thread_) == std::string::npos)
        continue;
      const std::string prefix = "(" + thread_ + "%";
      if (atom.rfind(prefix, 0) == 0 &&
          atom.find_first_not_of("0123456789", prefix.size()) == atom.size() - 1) {
        note_group(std::stoll(atom.substr(prefix.size())));
        continue;
      }
      found = true;
    }
    return found;
  }

  void note_group(std::int64_t size) {
    model_.warps = true;
    if (size > 0 && size <= 1024)
      model_.multiple = std::max(model_.multiple, size);
  }

  static bool is_arithmetic(const Stmt* statement) {
    if (const auto binary = binary_parts(statement))
      return BinaryOperator::isAdditiveOp(binary->operation) ||
             BinaryOperator::isMultiplicativeOp(binary->operation) ||
             (BinaryOperator::isShiftOp(binary->operation) && isa<BinaryOperator>(statement)) ||
             BinaryOperator::isBitwiseOp(binary->operation);
    if (const auto* unary = dyn_cast<UnaryOperator>(statement))
      return unary->getOpcode() == UO_Minus || unary->getOpcode() == UO_Plus;
    return false;
  }

  // The largest arithmetic expression around a leaf.
  const Expr* maximal(const Expr* leaf) const {
    const Expr* top = leaf;
    const Stmt* above = view_.meaningful_parent(leaf);
    while (above) {
      if (is_arithmetic(above)) {
        top = cast<Expr>(above);
      } else if (const auto* choice = dyn_cast<ConditionalOperator>(above)) {
        // Only what is decided at the defaults is arithmetic (a knob's alternative forms).
        if (!view_.decide(choice->getCond()))
          break;
        top = choice;
      } else {
        break;
      }
      above = view_.meaningful_parent(above);
    }
    return top;
  }

  // Inside the arm of a choice that the defaults do not take.
  bool is_dead(const Stmt* statement) const {
    const Stmt* child = statement;
    for (const Stmt* above = view_.parent(statement); above; child = above, above = view_.parent(above)) {
      if (const auto* choice = dyn_cast<ConditionalOperator>(above)) {
        if (const auto decided = view_.decide(choice->getCond()))
          if ((*decided && child == choice->getFalseExpr()) || (!*decided && child == choice->getTrueExpr()))
            return true;
      } else if (const auto* branch = dyn_cast<IfStmt>(above)) {
        if (const auto decided = view_.decide(branch->getCond()))
          if ((*decided && child == branch->getElse()) || (!*decided && child == branch->getThen()))
            return true;
      }
    }
    return false;
  }

  // (threads * block + thread) / 32 without a name for what is divided: an index as others are.
  void keep_divided_indices() {
    std::map<std::string, std::string> atoms; // by what the index is
    view_.visit([&](const Stmt* statement) {
      const auto binary = isa<Expr>(statement) ? binary_parts(statement) : std::nullopt;
      if (!binary || !refusal_.empty() || is_dead(statement) ||
          isa<DeclRefExpr>(binary->left->IgnoreParenCasts()) ||
          (binary->operation != BO_Div && binary->operation != BO_Rem && binary->operation != BO_Shr) ||
          !view_.evaluate(binary->right).as_constant())
        return;
      const Polynomial value = view_.evaluate(binary->left);
      if (!mentions_thread(value))
        return;
      const auto share = share_of(value);
      if (!share || share->spread.is_zero())
        return;
      const auto [known, is_new] = atoms.emplace(value.text(), "index:@" + std::to_string(indices_.size()));
      if (is_new)
        accept_share(*share, binary->left->getBeginLoc(), known->second);
      view_.keep(binary->left, known->second);
    });
  }

  // Whether an atom is the index, or the index divided, once or several times: never what is left over.
  static bool is_quotient_of(std::string_view atom, std::string_view index) {
    if (atom == index)
      return true;
    if (atom.find('%') != std::string_view::npos)
      return false;
    const std::size_t opened = atom.find_first_not_of('(');
    return opened != 0 && opened != std::string_view::npos && atom.substr(opened).starts_with(index) &&
           atom.substr(opened + index.size()).starts_with("/");
  }

  void keep_index_variables() {
    view_.visit([&](const Stmt* statement) {
      const auto* declaration = dyn_cast<DeclStmt>(statement);
      if (!declaration || !refusal_.empty() || is_dead(statement))
        return;
      for (const Decl* declared : declaration->decls()) {
        const auto* variable = dyn_cast<VarDecl>(declared);
        if (!variable || !variable->hasInit() || variable->getType()->isPointerType() ||
            variable->getType()->isReferenceType())
          continue;
        const Polynomial value = view_.evaluate(variable->getInit());
        if (!mentions_thread(value))
          continue;
        if (view_.is_modified(variable)) {
          check_induction(variable, value);
          continue;
        }
        const auto share = share_of(value);
        if (share && !share->spread.is_zero()) {
          const std::string atom =
              "index:" + variable->getNameAsString() + "@" + std::to_string(indices_.size());
          accept_share(*share, variable->getLocation(), atom);
          view_.keep(variable, atom);
        }
      }
    });
  }

  void accept_share(const Share& share, SourceLocation location, const std::string& atom) {
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

  // An index c * (thread + count * round) over total / (c * count) rounds ends where `total` does.
  void note_whole_rounds(const Share& share, const std::string& atom) {
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

  void note_evidence(SourceLocation location) {
    if (model_.evidence.empty())
      model_.evidence = view_.at_line(location);
  }

  // True when a loop over this counter has a bound that follows the number of threads.
  bool loop_bound_follows(const std::string& counter) {
    bool follows = false;
    view_.visit([&](const Stmt* statement) {
      const auto* loop = dyn_cast<ForStmt>(statement);
      const auto* condition = loop ? dyn_cast_or_null<BinaryOperator>(loop->getCond()) : nullptr;
      if (!condition)
        return;
      const Polynomial left = view_.evaluate(condition->getLHS()),
                       right = view_.evaluate(condition->getRHS());
      if (left.mentions(counter) && right.mentions(count_))
        follows = true;
    });
    return follows;
  }

  // A variable that starts at the thread's index and is stepped.
  void check_induction(const VarDecl* variable, const Polynomial& start) {
    const auto share = share_of(start);
    if (!share) {
      refuse(variable->getLocation(), "the loop over " + variable->getNameAsString() + " starts at " +
                                          thread_ + " in a form that is not a share of the work");
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

  // Which elements a thread's rounds are follows the number of threads.
  void check_rounds(const Stmt* step) {
    const Stmt* loop = step;
    while (loop && !isa<ForStmt>(loop) && !isa<WhileStmt>(loop) && !isa<DoStmt>(loop))
      loop = view_.parent(loop);
    if (!loop)
      return;
    if (const auto carried = carried_into_memory(view_, loop))
      refuse(carried->store->getBeginLoc(), "'" + carried->variable->getNameAsString() +
                                                "' goes on from round to round into what is stored");
  }

  // Which elements a block takes of a loop over the whole grid follows the number of threads, and so would a
  // result that each block leaves behind on its own.
  void check_block_results() {
    view_.visit([&](const Stmt* statement) {
      const auto* binary = dyn_cast<BinaryOperator>(statement);
      const auto* target = binary && binary->isAssignmentOp()
                               ? dyn_cast<ArraySubscriptExpr>(binary->getLHS()->IgnoreParenImpCasts())
                               : nullptr;
      if (!target || view_.is_on_chip(target->getBase()))
        return;
      const Polynomial index = view_.evaluate(target->getIdx());
      if (index.mentions("blockIdx.") && !index.mentions(thread_))
        refuse(target->getBeginLoc(),
               "each block leaves a result of its own, of elements that the block size "
               "decides,");
    });
  }

  // Where an index spans blocks, the grid follows the block: a block's own number then means other elements.
  void check_blocks_alone() {
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

  void check_expressions() {
    std::set<const Expr*> seen;
    view_.visit([&](const Stmt* statement) {
      const auto* leaf = dyn_cast<Expr>(statement);
      if (!leaf || !refusal_.empty())
        return;
      const std::string builtin =
          isa<PseudoObjectExpr>(leaf) ? KernelView::builtin_name(leaf) : std::string();
      const auto* reference = dyn_cast<DeclRefExpr>(leaf);
      if (builtin.empty() && (!reference || isa<FunctionDecl>(reference->getDecl())))
        return;
      if (builtin == count_ || (reference && view_.atom_of(reference->getDecl()) == count_))
        model_.count_uses.push_back(leaf);
      // Data: what a load's address is made of is looked at there.
      if (reference && (reference->getType()->isRealFloatingType() || names_data(reference)))
        return;
      if (is_dead(leaf) || !is_of_interest(view_.evaluate(leaf)))
        return;
      const Expr* top = maximal(leaf);
      if (!seen.insert(top).second)
        return;
      check(top, view_.evaluate(top));
    });
  }

  // A whole number that comes from memory or from a function, not from the thread's own number.
  bool names_data(const DeclRefExpr* reference) const {
    const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable && variable->isLocalVarDecl() && variable->hasInit() && !view_.is_modified(variable) &&
           !variable->getType()->isPointerType() && !variable->getType()->isReferenceType() &&
           is_data(variable->getInit());
  }

  bool is_data(const Expr* value) const {
    value = value->IgnoreParenCasts();
    if (const auto* choice = dyn_cast<ConditionalOperator>(value)) {
      const bool first = is_data(choice->getTrueExpr()), second = is_data(choice->getFalseExpr());
      const auto is_number = [](const Expr* arm) { return isa<IntegerLiteral>(arm->IgnoreParenCasts()); };
      // Between two numbers it is the thread's own number that chooses.
      return (first && (second || is_number(choice->getFalseExpr()))) ||
             (second && is_number(choice->getTrueExpr()));
    }
    const auto* unary = dyn_cast<UnaryOperator>(value);
    const auto* call = dyn_cast<CallExpr>(value);
    return isa<ArraySubscriptExpr>(value) || (unary && unary->getOpcode() == UO_Deref) ||
           (call && !binary_parts(call) && !view_.returned_expression(call));
  }

  bool is_of_interest(const Polynomial& value) const {
    for (const std::string& atom : value.atoms())
      for (const auto& [index, where] : indices_)
        if (is_quotient_of(atom, index))
          return true;
    return value.mentions(thread_) || value.mentions(count_);
  }

  void check(const Expr* expression, const Polynomial& value) {
    // A bound on the group that an index is in (row = index / 32) is one on the index.
    for (const std::string& atom : value.atoms())
      for (const auto& [index, where] : indices_)
        if (is_quotient_of(atom, index))
          note_guard(expression, index);
    const bool has_thread = mentions_thread(value), has_count = value.mentions(count_);
    if (!has_thread && !has_count)
      return;
    const Stmt* above = view_.meaningful_parent(expression);
    const SourceLocation location = expression->getBeginLoc();
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above)) {
      for (const Decl* declared : declaration->decls()) {
        const auto* variable = dyn_cast<VarDecl>(declared);
        if (!variable || !variable->hasInit() || !view_.within(variable->getInit(), expression))
          continue;
        if (variable->getType()->isPointerType())
          check_address(expression, value, view_.is_on_chip(variable->getInit()), nullptr);
        else if (view_.is_modified(variable) && !has_thread)
          check_halving(variable);
        else if (!view_.is_modified(variable) && !variable->getType()->isIntegralOrEnumerationType() &&
                 !variable->getType()->isDependentType() && !variable->getType()->getContainedAutoType())
          refuse(location, (has_thread ? thread_ : count_) + " becomes a value other than an index");
      }
      return;
    }
    if (const auto* binary = dyn_cast_or_null<BinaryOperator>(above)) {
      if (binary->isComparisonOp())
        return check_comparison(binary, expression, value, has_thread);
      if (binary->isCompoundAssignmentOp() || binary->getOpcode() == BO_Assign) {
        const auto* target = dyn_cast<DeclRefExpr>(binary->getLHS()->IgnoreParenImpCasts());
        const bool is_step =
            binary->getRHS()->IgnoreParenCasts() == expression->IgnoreParenCasts() && target && !has_thread;
        if (is_step && binary->getOpcode() == BO_AddAssign)
          return; // a step: checked with its variable
        if (target && binary->getLHS()->IgnoreParenImpCasts() == expression)
          return;
        return refuse(location, (has_thread ? thread_ : count_) + " becomes a value other than an index");
      }
      if (binary->isLogicalOp() || binary->isCommaOp())
        return;
    }
    if (const auto* subscript = dyn_cast_or_null<ArraySubscriptExpr>(above))
      return check_address(expression, value, view_.is_on_chip(subscript->getBase()), subscript);
    if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above)) {
      if (unary->getOpcode() == UO_Deref || unary->getOpcode() == UO_AddrOf)
        return check_address(expression, value, view_.is_on_chip(expression), nullptr);
      if (unary->getOpcode() == UO_LNot)
        return; // !thread: the first one
    }
    if (dyn_cast_or_null<IfStmt>(above) || dyn_cast_or_null<ForStmt>(above) ||
        isa_and_nonnull<CompoundStmt>(above))
      return;
    if (isa_and_nonnull<CallExpr>(above)) {
      if (!has_thread)
        return; // a bound, a number of rounds, the size of a reduction
      if (expression->getType()->isPointerType() || view_.base_pointer(expression) ||
          view_.is_on_chip(expression))
        return check_address(expression, value, view_.is_on_chip(expression), nullptr);
    }
    refuse(location, (has_thread ? thread_ : count_) +
                         " is used in a way that is not known to be free of the block size");
  }

  void note_guard(const Expr* expression, const std::string& atom) {
    const Stmt* above = view_.meaningful_parent(expression);
    if (const auto* binary = dyn_cast_or_null<BinaryOperator>(above); binary && binary->isRelationalOp())
      guarded_.insert(atom);
    else if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above))
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared))
          for (const DeclRefExpr* use : view_.uses(variable))
            if (const auto* compare = dyn_cast_or_null<BinaryOperator>(view_.meaningful_parent(maximal(use)));
                compare && compare->isRelationalOp())
              guarded_.insert(atom);
  }

  void check_comparison(const BinaryOperator* comparison, const Expr* side, const Polynomial& value,
                        bool has_thread) {
    if (!has_thread)
      return;
    const Expr* other = comparison->getLHS()->IgnoreParenCasts() == side->IgnoreParenCasts()
                            ? comparison->getRHS()
                            : comparison->getLHS();
    const Polynomial against = view_.evaluate(other);
    if (const auto share = share_of(value); share && !share->spread.is_zero()) {
      if (comparison->isRelationalOp()) {
        const std::string atom = "index@" + std::to_string(view_.line(side->getBeginLoc()));
        accept_share(*share, side->getBeginLoc(), atom);
        guarded_.insert(atom);
      }
      return;
    }
    if (const auto constant = against.as_constant()) {
      const auto size = group_size(value);
      const std::int64_t threads = (*constant + (comparison->isEqualityOp() ? 1 : 0)) * size.value_or(1);
      if (threads > 1024 || threads < 0)
        return refuse(side->getBeginLoc(), thread_ + " is compared with " + std::to_string(*constant));
      model_.least = std::max(model_.least, threads);
      if (size)
        note_group(*size);
      return;
    }
    if (against.mentions(count_) || against.mentions(thread_) || halving_.count(against.text()))
      return;
    if (const auto guard = thread_guard(view_, thread_, comparison)) {
      model_.guards.push_back(*guard);
      return;
    }
    // A loop's own counter in a tree reduction: thread < s.
    refuse(side->getBeginLoc(), thread_ + " is compared with a number that does not follow the block size");
  }

  std::set<std::string> halving_;

  void check_halving(const VarDecl* variable) {
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

  void check_address(const Expr* expression, const Polynomial& value, bool on_chip,
                     const ArraySubscriptExpr* subscript) {
    const SourceLocation location = expression->getBeginLoc();
    if (!mentions_thread(value)) {
      if (on_chip || within_share(value))
        return;
      if (!launcher_varies_)
        return refuse(location, "an address depends on the block size");
      model_.block_in_addresses = true;
      return;
    }
    const auto share = share_of(value);
    if (!value.mentions(count_) && is_guarded(view_, thread_, expression))
      return;
    if (on_chip) {
      if (!share && !group_size(value))
        return refuse(location, "shared memory is addressed by " + thread_ + " in a form that is not known");
      if (const auto size = group_size(value))
        note_group(*size);
      if (subscript)
        check_extent(subscript, value);
      else
        note_dynamic(value);
      return;
    }
    if (share && !share->spread.is_zero()) {
      accept_share(*share, location, "index@" + std::to_string(view_.line(location)));
      return;
    }
    refuse(location, "global memory is addressed by " + thread_ +
                         " alone, so that the block size decides what is covered");
  }

  // A shared array indexed by threads must have room for the threads of the block.
  void check_extent(const ArraySubscriptExpr* subscript, const Polynomial& index) {
    const Expr* base = subscript->getBase()->IgnoreParenImpCasts();
    const auto* array = base->getType()->getAsArrayTypeUnsafe();
    if (const auto* constant = dyn_cast_or_null<ConstantArrayType>(array)) {
      for (const Stmt* above = view_.parent(subscript); above; above = view_.parent(above))
        if (const Expr* condition = condition_of(above))
          if (selects_threads(condition))
            return;
      const auto size = group_size(index).value_or(1);
      const auto per_thread = index.quotient_by(size == 1 ? thread_ : group_thread(thread_, size));
      const auto factor = per_thread ? per_thread->as_constant() : std::nullopt;
      if (!factor || *factor < 1)
        return refuse(subscript->getBeginLoc(), "a shared array is indexed in a form that is not known");
      model_.most.push_back(static_cast<std::int64_t>(constant->getSize().getLimitedValue()) / *factor *
                            size);
    } else if (!isa_and_nonnull<DependentSizedArrayType>(array)) {
      note_dynamic(index);
    }
  }

  void note_dynamic(const Polynomial& index) {
    model_.dynamic_by_thread = true;
    model_.only_by_group &= group_size(index).has_value();
  }

  static const Expr* condition_of(const Stmt* statement) {
    if (const auto* branch = dyn_cast<IfStmt>(statement))
      return branch->getCond();
    if (const auto* choice = dyn_cast<ConditionalOperator>(statement))
      return choice->getCond();
    return nullptr;
  }

  bool selects_threads(const Expr* condition) {
    bool selects = false;
    view_.visit(condition, [&](const Stmt* statement) {
      if (const auto* binary = dyn_cast<BinaryOperator>(statement); binary && binary->isRelationalOp())
        selects |= mentions_thread(view_.evaluate(binary->getLHS())) ||
                   mentions_thread(view_.evaluate(binary->getRHS()));
    });
    return selects;
  }
};

} // namespace

std::variant<ThreadRefusal, ThreadModel> analyse_threads(KernelView& view, const ThreadAxis& axis,
                                                         bool launcher_varies) {
  return Analysis(view, axis, launcher_varies).run();
}

} // namespace lathe::refactor
