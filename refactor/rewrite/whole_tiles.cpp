#include "refactor/rewrite/whole_tiles.h"

#include "refactor/knobs/geometry.h"
#include "refactor/knobs/rounded_up.h"

#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {

using namespace clang;

namespace {

std::set<std::string> names_of(const std::string& text) {
  const auto expression = Expression::parse(text);
  return expression.ok() ? std::set<std::string>(expression->names().begin(), expression->names().end())
                         : std::set<std::string>();
}

// n of a division (n + 63) / 64, which rounds up, with its divisor; nothing of others.
std::optional<std::string> dividend_rounded_up(const std::string& dividend, std::int64_t divisor) {
  const auto whole = Expression::parse(fmt::format("({}) / {}", dividend, divisor));
  int count = 0;
  if (!whole.ok())
    return std::nullopt;
  const auto rounded = replace_ceil_div(*whole, Expression(Value{divisor}), std::to_string(divisor), count);
  const ExpressionNode* root = rounded.ok() && count > 0 ? &rounded->root() : nullptr;
  if (!root || root->operation != Operation::call || root->function != Function::ceil_div)
    return std::nullopt;
  return format_tree(root->children[0], rounded->names());
}

// "(n) % 64" of n / 64 for a number of tiles. Of a division that rounds up too, unless it is of sizes in
// `covered`, whose last tile the blocks bound.
std::optional<std::string> remainder_of(const std::string& dividend, std::int64_t divisor,
                                        const std::set<std::string>& covered) {
  const auto up = dividend_rounded_up(dividend, divisor);
  const std::set<std::string> sizes = names_of(up.value_or(dividend));
  if (divisor <= 1 || sizes.empty() || (up && std::ranges::includes(covered, sizes)))
    return std::nullopt;
  return fmt::format("({}) % {}", canonical(make_expression(up.value_or(dividend))), divisor);
}

void add(std::vector<std::string>& list, const std::optional<std::string>& text) {
  if (text && std::ranges::find(list, *text) == list.end())
    list.push_back(*text);
}

// What a grid divides: what its divisions that round down leave over, and the sizes of those that round up.
struct GridDivisions {
  std::vector<std::string> remainders;
  std::set<std::string> covered;
};

void collect(const ExpressionNode& node, const std::vector<std::string>& names, GridDivisions& found) {
  if (const auto up = rounded_up(node, names)) {
    found.covered.merge(names_below(*up->dividend, names));
    collect(*up->dividend, names, found);
    return;
  }
  if (node.operation == Operation::divide_truncate || node.operation == Operation::divide_floor) {
    const Result<Expression> divisor = Expression::parse(format_tree(node.children[1], names));
    const std::string dividend = format_tree(node.children[0], names);
    if (const auto value = divisor.ok() ? constant_of(*divisor) : std::nullopt) {
      if (const auto up = dividend_rounded_up(dividend, *value))
        found.covered.merge(names_of(*up));
      else
        add(found.remainders, remainder_of(dividend, *value, {}));
    }
  }
  for (const ExpressionNode& child : node.children)
    collect(child, names, found);
}

GridDivisions divisions_of(const Expression& size) {
  GridDivisions found;
  collect(size.root(), size.names(), found);
  return found;
}

// What is divided by what.
struct Division {
  const Expr* dividend = nullptr;
  const Expr* divisor = nullptr;
};

std::optional<Division> division_of(const Stmt* statement) {
  if (const auto* quotient = dyn_cast<BinaryOperator>(statement); quotient && quotient->getOpcode() == BO_Div)
    return Division{quotient->getLHS(), quotient->getRHS()};
  const auto* loop = dyn_cast<ForStmt>(statement);
  const auto* step =
      loop && loop->getInc() ? dyn_cast<BinaryOperator>(loop->getInc()->IgnoreParens()) : nullptr;
  const auto* until =
      loop && loop->getCond() ? dyn_cast<BinaryOperator>(loop->getCond()->IgnoreParens()) : nullptr;
  if (step && until && step->getOpcode() == BO_AddAssign &&
      (until->getOpcode() == BO_LT || until->getOpcode() == BO_NE))
    return Division{until->getRHS(), step->getRHS()};
  return std::nullopt;
}

} // namespace

std::vector<std::string> whole_tiles_of_launches(const LaunchGeometry& first, const LaunchGeometry& second) {
  std::vector<std::string> remainders;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::vector<std::string> of_first = divisions_of(first.grid[axis]).remainders,
                                   of_second = divisions_of(second.grid[axis]).remainders;
    if (of_first == of_second)
      continue;
    for (const auto* list : {&of_first, &of_second})
      for (const std::string& text : *list)
        add(remainders, text);
  }
  return remainders;
}

std::vector<std::string> whole_tiles_of_kernels(ParsedSource& source, const KernelInfo& kernel,
                                                const Candidate& first, const Candidate& second) {
  std::vector<std::string> remainders;
  const KernelView view = view_of(source, kernel, first);
  const LaunchFacts of_first = launch_facts_of(kernel, first), of_second = launch_facts_of(kernel, second);
  std::set<std::string> covered;
  for (const Candidate* candidate : {&first, &second})
    for (const Expression& size : candidate->launch.grid)
      covered.merge(divisions_of(size).covered);
  view.visit([&](const Stmt* statement) {
    const auto division = division_of(statement);
    if (!division)
      return;
    const auto constant = [&](const LaunchFacts& facts) -> std::optional<std::int64_t> {
      const auto text = launch_expression(view, division->divisor, facts);
      return text ? constant_of(make_expression(*text)) : std::nullopt;
    };
    const auto by_first = constant(of_first), by_second = constant(of_second);
    if (!by_first || !by_second || *by_first == *by_second)
      return;
    for (const auto& [facts, divisor] : {std::pair(&of_first, *by_first), std::pair(&of_second, *by_second)})
      if (const auto dividend = launch_expression(view, division->dividend, *facts))
        add(remainders, remainder_of(*dividend, divisor, covered));
  });
  return remainders;
}

} // namespace lathe::refactor
