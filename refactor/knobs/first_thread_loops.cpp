#include "refactor/knobs/first_thread_loops.h"

#include "refactor/knobs/between_barriers.h"
#include "refactor/knobs/block_uniform.h"
#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr unsigned narrow_bits = 32; // a narrower counter wraps around before all threads have stepped

using Axes = std::array<bool, 3>;

// The axes along which a thread's number must be zero for the value to be: of a sum of these numbers, each
// times something positive. Nothing for other values.
std::optional<Axes> zero_along(const Polynomial& value, const LaunchFacts& facts) {
  Axes axes{};
  for (const auto& [monomial, coefficient] : value.terms()) {
    int numbers = 0;
    for (const std::string& atom : monomial) {
      bool is_size = false;
      for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        const std::string letter(1, "xyz"[axis]);
        is_size |= atom == "blockDim." + letter || atom == "template:" + facts.block[axis];
        if (atom != "threadIdx." + letter)
          continue;
        ++numbers;
        axes[axis] = true;
      }
      if (!is_size && !atom.starts_with("threadIdx."))
        return std::nullopt;
    }
    if (coefficient <= 0 || numbers != 1)
      return std::nullopt;
  }
  return value.is_zero() ? std::nullopt : std::optional(axes);
}

// The conditions that must hold together, in order.
void split_conjunction(const Expr* condition, std::vector<const Expr*>& parts) {
  const auto* both = dyn_cast<BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!both || both->getOpcode() != BO_LAnd) {
    parts.push_back(condition);
    return;
  }
  split_conjunction(both->getLHS(), parts);
  split_conjunction(both->getRHS(), parts);
}

// `x` of x == 0, 0 == x, x < 1 and !x.
const Expr* compared_with_zero(const KernelView& view, const Expr* condition) {
  condition = condition->IgnoreParenImpCasts();
  if (const auto* unary = dyn_cast<UnaryOperator>(condition); unary && unary->getOpcode() == UO_LNot)
    return unary->getSubExpr();
  const auto* comparison = dyn_cast<BinaryOperator>(condition);
  if (!comparison)
    return nullptr;
  const auto is = [&](const Expr* side, int number) { return view.evaluate(side).as_constant() == number; };
  const Expr *left = comparison->getLHS(), *right = comparison->getRHS();
  if (comparison->getOpcode() == BO_EQ)
    return is(right, 0) ? left : is(left, 0) ? right : nullptr;
  return comparison->getOpcode() == BO_LT && is(right, 1) ? left : nullptr;
}

class Reader {
public:
  Reader(KernelView& view, const LaunchFacts& facts) : view_(view), facts_(facts) {}

  // Nothing where the branch's loops can be shared; `work` is then whole.
  std::optional<std::string> read(FirstThreadLoops& work) {
    if (auto reason = read_condition(work))
      return reason;
    if (auto reason = read_loops(work))
      return reason;
    if (auto reason = kept_from_some_threads(view_, work.branch))
      return reason;
    if (auto reason = names_what_is_a_threads_own(work.branch->getThen()))
      return reason;
    for (const StridedLoop& loop : work.loops)
      if (auto reason = add_rounds(loop))
        return reason;
    return disturbed_between_barriers(view_, work.branch, accesses_);
  }

private:
  KernelView& view_;
  const LaunchFacts& facts_;
  std::vector<RoundAccess> accesses_; // of all loops so far

  std::string at(const Stmt* statement) const { return " at " + view_.at_line(statement->getBeginLoc()); }

  std::optional<std::string> read_condition(FirstThreadLoops& work) const {
    const IfStmt* branch = work.branch;
    const std::string where = "the condition" + at(branch);
    if (branch->getElse() || branch->getInit() || branch->hasVarStorage() || branch->isConstexpr())
      return where + " chooses between two branches or declares something";
    if (facts_.constant_block[2] != 1)
      return "the block may have a third axis";
    std::vector<const Expr*> parts;
    split_conjunction(branch->getCond(), parts);
    Axes first{};
    for (const Expr* part : parts) {
      const Expr* number = compared_with_zero(view_, part);
      if (const auto axes = number ? zero_along(view_.evaluate(number), facts_) : std::nullopt) {
        for (std::size_t axis = 0; axis < first.size(); ++axis)
          first[axis] |= (*axes)[axis];
      } else if (is_block_uniform(view_, part)) {
        work.others.push_back(part);
      } else {
        return where + " is not that of a block's first thread and what all threads have alike";
      }
    }
    for (std::size_t axis = 0; axis < first.size(); ++axis)
      if (!first[axis] && facts_.constant_block[axis] != 1)
        return where + " may hold for several threads of a block";
    if (facts_.constant_block[0] == 1 && facts_.constant_block[1] == 1)
      return "a block has one thread";
    work.along_x = facts_.constant_block[1] == 1;
    return std::nullopt;
  }

  std::optional<std::string> read_loops(FirstThreadLoops& work) const {
    const Stmt* then = work.branch->getThen();
    std::vector<const Stmt*> statements{then};
    if (const auto* block = dyn_cast<CompoundStmt>(then))
      statements.assign(block->body_begin(), block->body_end());
    for (const Stmt* statement : statements) {
      while (const auto* attributed = dyn_cast<AttributedStmt>(statement))
        statement = attributed->getSubStmt();
      if (const auto* declaration = dyn_cast<DeclStmt>(statement);
          declaration && declares_uniform_constants(declaration))
        continue;
      const auto* loop = dyn_cast<ForStmt>(statement);
      if (!loop)
        return "the first thread does more than loops" + at(statement);
      const auto read = read_strided_loop(view_, loop);
      if (!read || read->step.as_constant().value_or(0) <= 0 || read->start.mentions("threadIdx.") ||
          read->limit.mentions("threadIdx."))
        return "the loop" + at(loop) +
               " does not count up to a bound that is known when it begins, by the same number in each round";
      if (view_.context().getTypeSize(read->counter->getType()) < narrow_bits ||
          read->counter->getInitStyle() == VarDecl::ListInit)
        return "the counter of the loop" + at(loop) + " is narrower than 32 bits, or begins in braces";
      work.loops.push_back(*read);
    }
    return work.loops.empty() ? std::optional("the first thread has no loop" + at(then)) : std::nullopt;
  }

  bool declares_uniform_constants(const DeclStmt* declaration) const {
    return std::ranges::all_of(declaration->decls(), [&](const Decl* declared) {
      const auto* variable = dyn_cast<VarDecl>(declared);
      return variable && variable->hasInit() && !variable->isStaticLocal() &&
             !variable->getType()->isArrayType() && !view_.is_modified(variable) &&
             is_block_uniform(view_, variable);
    });
  }

  // What a round has from outside of the branch is what every thread has.
  std::optional<std::string> names_what_is_a_threads_own(const Stmt* then) const {
    std::optional<std::string> reason;
    view_.visit(then, [&](const Stmt* part) {
      if (!reason && is_place_unknown(view_, part))
        reason = "it is not known what memory is accessed" + at(part);
      const VarDecl* variable = named_variable(part);
      if (reason || !variable || variable->hasAttr<CUDASharedAttr>() || declares(view_, then, variable) ||
          is_block_uniform(view_, variable))
        return;
      reason = variable->getNameAsString() + at(part) + " may be another one in another thread";
    });
    return reason;
  }

  std::optional<std::string> add_rounds(const StridedLoop& loop) {
    if (const Stmt* narrowed = narrows_an_index(loop))
      return "an index is cut to fewer than 32 bits" + at(narrowed);
    if (const CallExpr* call = call_at_named_memory(view_, loop.loop->getBody()))
      return "a function reads memory that it is not handed" + at(call);
    view_.keep(loop.counter, loop_atom);
    auto read = round_accesses(view_, loop.loop, {loop.loop->getBody()}, false);
    view_.release(loop.counter);
    if (const auto* reason = std::get_if<std::string>(&read))
      return *reason;
    const auto& rounds = std::get<std::vector<RoundAccess>>(read);
    if (std::ranges::none_of(rounds, &RoundAccess::stores))
      return "the loop" + at(loop.loop) + " stores nothing";
    for (const RoundAccess& one : rounds) {
      if (one.stores && !is_own_element(loop, one))
        return "two rounds may store one element at " + view_.at_line(one.location);
      for (const RoundAccess& other : rounds)
        if (one.stores && may_overlap(one.base, other.base) && !are_same_rounds(loop, one, other))
          return "a round may load or store what another one stores at " + view_.at_line(other.location);
      for (const RoundAccess& before : accesses_)
        if ((one.stores || before.stores) && may_overlap(one.base, before.base))
          return "two loops of the branch are at the same memory at " + view_.at_line(one.location);
    }
    accesses_.insert(accesses_.end(), rounds.begin(), rounds.end());
    return std::nullopt;
  }

  // A part of an index that has fewer bits than the counter comes round again.
  const Stmt* narrows_an_index(const StridedLoop& loop) const {
    const Stmt* found = nullptr;
    const auto is_narrow = [&](const Stmt* part) {
      const auto* cast = dyn_cast<CastExpr>(part);
      const QualType type = cast ? cast->getType() : QualType();
      return cast && type->isIntegerType() && !type->isBooleanType() && !type->isDependentType() &&
             cast->getSubExpr()->getType()->isIntegerType() &&
             view_.context().getTypeSize(type) < narrow_bits &&
             view_.context().getTypeSize(type) < view_.context().getTypeSize(cast->getSubExpr()->getType());
    };
    view_.visit(loop.loop->getBody(), [&](const Stmt* part) {
      const auto* subscript = dyn_cast<ArraySubscriptExpr>(part);
      const auto* unary = dyn_cast<UnaryOperator>(part);
      const Expr* index = subscript                                 ? subscript->getIdx()
                          : unary && unary->getOpcode() == UO_Deref ? unary->getSubExpr()
                                                                    : nullptr;
      if (index && !found && comes_from(view_, index, loop.counter, is_narrow))
        found = index;
    });
    return found;
  }

  // What the index gains with each round; nothing where that is no number.
  static std::optional<std::int64_t> per_round(const StridedLoop& loop, const Polynomial& index) {
    const auto factor = index.quotient_by(loop_atom);
    const auto each = factor ? factor->as_constant() : std::nullopt;
    return each ? std::optional(*each * *loop.step.as_constant()) : std::nullopt;
  }

  bool is_own_element(const StridedLoop& loop, const RoundAccess& access) const {
    return std::ranges::any_of(access.indices, [&](const Polynomial& index) {
      return per_round(loop, index).value_or(0) != 0 && stays(loop, index.without(loop_atom));
    });
  }

  // The same in all rounds: of what the kernel knows everywhere, and of variables from outside of the loop.
  bool stays(const StridedLoop& loop, const Polynomial& value) const {
    if (value.mentions(loop_atom))
      return false;
    std::vector<std::regex> outside{std::regex("as:[^()]*")}; // and the type that an address is cast to
    view_.visit(view_.kernel()->getBody(), [&](const Stmt* statement) {
      const auto* declaration = dyn_cast<DeclStmt>(statement);
      if (!declaration || view_.within(loop.loop, declaration))
        return;
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared))
          outside.emplace_back(view_.atom_of(variable) + "(?![0-9])");
    });
    return std::ranges::all_of(value.atoms(), [&](std::string atom) {
      for (const std::regex& name : outside)
        atom = std::regex_replace(atom, name, "0");
      return is_stable(view_, Polynomial::atom(atom));
    });
  }

  // Elements that two accesses have in common are of one and the same round.
  bool are_same_rounds(const StridedLoop& loop, const RoundAccess& one, const RoundAccess& other) const {
    if (one.base.variable != other.base.variable)
      return one.indices == other.indices && !one.base.on_chip && has_same_elements(one, other);
    if (one.indices == other.indices)
      return true;
    if (one.indices.size() != 1 || other.indices.size() != 1)
      return false;
    const auto each = per_round(loop, one.indices[0]);
    const auto apart = (one.indices[0] - other.indices[0]).as_constant();
    return each && apart && *each != 0 && *apart % *each != 0;
  }

  static bool has_same_elements(const RoundAccess& one, const RoundAccess& other) {
    const auto element = [](const RoundAccess& access) {
      return access.base.variable->getType()
          ->getPointeeOrArrayElementType()
          ->getCanonicalTypeInternal()
          .getUnqualifiedType();
    };
    return element(one) == element(other);
  }
};

// A loop of threads whose number is zero, along some axis or in their warp.
bool is_of_interest(const KernelView& view, const IfStmt* branch) {
  bool has_loop = false;
  view.visit(branch->getThen(), [&](const Stmt* part) { has_loop |= isa<ForStmt>(part); });
  std::vector<const Expr*> parts;
  split_conjunction(branch->getCond(), parts);
  return has_loop && std::ranges::any_of(parts, [&](const Expr* part) {
           const Expr* number = compared_with_zero(view, part);
           return number && view.evaluate(number).mentions("threadIdx.");
         });
}

} // namespace

std::variant<std::string, std::vector<FirstThreadLoops>> find_first_thread_loops(KernelView& view,
                                                                                 const LaunchFacts& facts) {
  std::string reason = "no loop is left to the first thread of a block";
  std::vector<FirstThreadLoops> found;
  view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
    const auto* branch = dyn_cast<IfStmt>(statement);
    if (!branch || !is_of_interest(view, branch))
      return;
    FirstThreadLoops work;
    work.branch = branch;
    if (auto why = Reader(view, facts).read(work))
      reason = *why;
    else
      found.push_back(std::move(work));
  });
  if (found.empty())
    return reason;
  return found;
}

} // namespace lathe::refactor
