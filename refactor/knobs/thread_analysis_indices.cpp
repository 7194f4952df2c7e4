// Which values are indices that deal work out: shares of threads, groups of them, and what is divided.
#include "refactor/knobs/thread_analysis.h"

#include "refactor/knobs/carried_values.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <string_view>

namespace lathe::refactor {

using namespace clang;

// An element of a later round of the block's own: index + threads.
bool ThreadAnalysis::within_share(const Polynomial& value) const {
  for (const auto& [atom, share] : shares_) {
    const Polynomial rest = value - Polynomial::atom(atom);
    for (std::int64_t round = 1; round < share.second; ++round)
      if (rest == share.first * Polynomial::constant(round))
        return true;
  }
  return false;
}

std::optional<std::int64_t> ThreadAnalysis::group_size(const Polynomial& value) const {
  return refactor::group_size(value, thread_);
}

std::optional<ThreadAnalysis::Share> ThreadAnalysis::share_of(const Polynomial& value) {
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

std::vector<std::pair<std::string, std::vector<std::string>>>
ThreadAnalysis::pairs(const Polynomial& value) const {
  std::vector<std::pair<std::string, std::vector<std::string>>> result{{thread_, {count_}}};
  if (const auto size = group_size(value)) {
    const std::string digits = std::to_string(*size);
    result.push_back({group_thread(thread_, *size),
                      {"(" + count_ + "/" + digits + ")",
                       "([" + std::to_string(*size - 1) + "+1*" + count_ + "]/" + digits + ")"}});
  }
  return result;
}

bool ThreadAnalysis::mentions_thread(const Polynomial& value) {
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

void ThreadAnalysis::note_group(std::int64_t size) {
  model_.warps = true;
  if (size > 0 && size <= 1024)
    model_.multiple = std::max(model_.multiple, size);
}

bool ThreadAnalysis::is_arithmetic(const Stmt* statement) {
  if (const auto binary = binary_parts(statement))
    return BinaryOperator::isAdditiveOp(binary->operation) ||
           BinaryOperator::isMultiplicativeOp(binary->operation) ||
           (BinaryOperator::isShiftOp(binary->operation) && isa<BinaryOperator>(statement)) ||
           BinaryOperator::isBitwiseOp(binary->operation);
  if (const auto* unary = dyn_cast<UnaryOperator>(statement))
    return unary->getOpcode() == UO_Minus || unary->getOpcode() == UO_Plus;
  return false;
}

const Expr* ThreadAnalysis::maximal(const Expr* leaf) const {
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

bool ThreadAnalysis::is_dead(const Stmt* statement) const {
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

void ThreadAnalysis::keep_divided_indices() {
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

bool ThreadAnalysis::is_quotient_of(std::string_view atom, std::string_view index) {
  if (atom == index)
    return true;
  if (atom.find('%') != std::string_view::npos)
    return false;
  const std::size_t opened = atom.find_first_not_of('(');
  return opened != 0 && opened != std::string_view::npos && atom.substr(opened).starts_with(index) &&
         atom.substr(opened + index.size()).starts_with("/");
}

void ThreadAnalysis::keep_index_variables() {
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

} // namespace lathe::refactor
