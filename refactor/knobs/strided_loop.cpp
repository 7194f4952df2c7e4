#include "refactor/knobs/strided_loop.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

const DeclRefExpr* reference_to(const Expr* expression, const VarDecl* variable) {
  const auto* reference = dyn_cast<DeclRefExpr>(expression->IgnoreParenImpCasts());
  return reference && reference->getDecl() == variable ? reference : nullptr;
}

} // namespace

bool may_change(const KernelView& view, const Stmt* body, const VarDecl* variable) {
  bool changed = false;
  view.visit(body, [&](const Stmt* statement) {
    if (const auto* binary = dyn_cast<BinaryOperator>(statement))
      changed |= binary->isAssignmentOp() && reference_to(binary->getLHS(), variable);
    else if (const auto* unary = dyn_cast<UnaryOperator>(statement))
      changed |= (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf) &&
                 reference_to(unary->getSubExpr(), variable);
    else if (const auto* call = dyn_cast<CallExpr>(statement))
      for (const Expr* argument : call->arguments())
        changed |= isa<DeclRefExpr>(argument->IgnoreParens()) && reference_to(argument, variable);
    else if (isa<LambdaExpr>(statement))
      changed = true;
  });
  return changed;
}

std::optional<StridedLoop> read_strided_loop(const KernelView& view, const ForStmt* loop) {
  StridedLoop result;
  result.loop = loop;
  const auto* declaration = dyn_cast_or_null<DeclStmt>(loop->getInit());
  const auto* counter =
      declaration && declaration->isSingleDecl() ? dyn_cast<VarDecl>(declaration->getSingleDecl()) : nullptr;
  const auto* condition = dyn_cast_or_null<BinaryOperator>(loop->getCond());
  if (!counter || !counter->hasInit() || !counter->getType()->isIntegerType() || !condition ||
      !loop->getInc() || !loop->getBody() || loop->getConditionVariable())
    return std::nullopt;
  result.counter = counter;
  if (condition->getOpcode() == BO_LT && reference_to(condition->getLHS(), counter))
    result.bound = condition->getRHS();
  else if (condition->getOpcode() == BO_GT && reference_to(condition->getRHS(), counter))
    result.bound = condition->getLHS();
  else
    return std::nullopt;
  if (const auto* unary = dyn_cast<UnaryOperator>(loop->getInc())) {
    if (!unary->isIncrementOp() || !reference_to(unary->getSubExpr(), counter))
      return std::nullopt;
    result.step = result.step_by_names = Polynomial::constant(1);
  } else if (const auto* compound = dyn_cast<CompoundAssignOperator>(loop->getInc());
             compound && compound->getOpcode() == BO_AddAssign && reference_to(compound->getLHS(), counter)) {
    result.step_by = compound->getRHS();
    result.step = view.evaluate(compound->getRHS());
    result.step_by_names = view.evaluate_by_names(compound->getRHS());
  } else {
    return std::nullopt;
  }
  result.start = view.evaluate(counter->getInit());
  result.start_by_names = view.evaluate_by_names(counter->getInit());
  result.limit = view.evaluate(result.bound);
  if (may_change(view, loop->getBody(), counter))
    return std::nullopt;
  result.statement = loop;
  while (isa_and_nonnull<AttributedStmt>(view.parent(result.statement)))
    result.statement = view.parent(result.statement);
  result.block = dyn_cast_or_null<CompoundStmt>(view.parent(result.statement));
  const bool stable = is_stable(view, result.start) && is_stable(view, result.step) &&
                      is_stable(view, result.limit) && !result.limit.mentions("threadIdx.");
  return stable ? std::optional(result) : std::nullopt;
}

std::vector<StridedLoop> strided_loops(const KernelView& view) {
  std::vector<StridedLoop> loops;
  view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
    if (const auto* loop = dyn_cast<ForStmt>(statement))
      if (auto read = read_strided_loop(view, loop); read && read->block)
        loops.push_back(*read);
  });
  return loops;
}

bool is_stable(const KernelView& view, const Polynomial& value) {
  static const std::regex name(R"([A-Za-z_][\w:.]*)");
  for (const std::string& atom : value.atoms()) {
    if (atom.find('@') != std::string::npos || atom.find('"') != std::string::npos)
      return false;
    const std::string text = std::regex_replace(atom, std::regex(R"(sizeof\s*\([^()]*\))"), "0");
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
      const std::string word = at->str();
      if (word == loop_atom || word == "min" || word == "max" || word.rfind("template:", 0) == 0 ||
          word.rfind("constant:", 0) == 0 ||
          std::regex_match(word, std::regex(R"((thread|block)Idx\.[xyz]|(block|grid)Dim\.[xyz])")))
        continue;
      if (word.rfind("param:", 0) != 0)
        return false;
      for (const ParmVarDecl* parameter : view.kernel()->parameters())
        if ("param:" + parameter->getNameAsString() == word && view.is_modified(parameter))
          return false;
    }
  }
  return true;
}

namespace {

// What the block's size may be written as along an axis: blockDim.x, a number, or the name of a knob.
std::vector<Polynomial> block_sizes(const LaunchFacts& facts, std::size_t axis) {
  static const std::regex name(R"([A-Za-z_]\w*)");
  std::vector<Polynomial> forms{Polynomial::atom("blockDim." + std::string(1, "xyz"[axis]))};
  if (facts.constant_block[axis])
    forms.push_back(Polynomial::constant(*facts.constant_block[axis]));
  else if (std::regex_match(facts.block[axis], name))
    forms.push_back(Polynomial::atom("template:" + facts.block[axis]));
  return forms;
}

std::optional<Share> share_of(const Polynomial& start, const Polynomial& step, const Polynomial& index,
                              const LaunchFacts& facts) {
  const Polynomial x = Polynomial::atom("threadIdx.x"), y = Polynomial::atom("threadIdx.y");
  const bool flat = facts.constant_block[2] == 1, line = flat && facts.constant_block[1] == 1;
  std::vector<std::pair<Polynomial, Polynomial>> numberings; // of threads, and how many there are
  for (const Polynomial& width : block_sizes(facts, 0)) {
    if (line)
      numberings.emplace_back(x, width);
    else if (flat)
      for (const Polynomial& height : block_sizes(facts, 1))
        numberings.emplace_back(x + width * y, width * height);
  }
  // The index with the loop's counter written out: start + step * round.
  const auto per_count = index.quotient_by(loop_atom);
  if (!per_count)
    return std::nullopt;
  const Polynomial first = index.without(loop_atom) + *per_count * start;
  const Polynomial per_round = *per_count * step;
  const auto each = first.quotient_by("threadIdx.x");
  if (!each || each->is_zero() || per_round.is_zero())
    return std::nullopt;
  for (const auto& [thread, threads] : numberings) {
    const Polynomial rest = first - *each * thread;
    const auto uniform = [](const Polynomial& value) {
      return !value.mentions("threadIdx.") && !value.mentions(loop_atom);
    };
    if (per_round == *each * threads && uniform(*each) && uniform(rest) && uniform(per_round))
      return Share{*each, rest};
  }
  return std::nullopt;
}

} // namespace

std::optional<Share> share_of(const StridedLoop& loop, const Polynomial& index, const LaunchFacts& facts) {
  if (auto share = share_of(loop.start, loop.step, index, facts))
    return share;
  return share_of(loop.start_by_names, loop.step_by_names, index, facts);
}

bool deals_out_in_turn(const StridedLoop& loop, const LaunchFacts& facts) {
  if (const auto share = share_of(loop, Polynomial::atom(loop_atom), facts))
    return share->each.as_constant() == 1 && share->rest.is_zero();
  if (facts.constant_block[1] != 1 || facts.constant_block[2] != 1)
    return false;
  const Polynomial thread = Polynomial::atom("threadIdx.x"), block = Polynomial::atom("blockIdx.x"),
                   blocks = Polynomial::atom("gridDim.x");
  return std::ranges::any_of(block_sizes(facts, 0), [&](const Polynomial& size) {
    const Polynomial start = block * size + thread, step = blocks * size;
    return (loop.start == start && loop.step == step) ||
           (loop.start_by_names == start && loop.step_by_names == step);
  });
}

} // namespace lathe::refactor
