#include "tuner/expression/parser.h"
#include "tuner/expression/trees.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace lathe::expression {
namespace {

// Bounds the recursion of the parser, of every walk over a tree, and of its destruction.
constexpr std::size_t maximum_nesting = 200;
constexpr std::size_t maximum_height = 1000;

constexpr std::string_view stray_list = "a list may stand only on the right of in, beside == and !=, and in "
                                        "sum, any, all, len, prod, min and max";

// Counts the levels of recursion for as long as it lives.
class Nested {
public:
  explicit Nested(std::size_t& level) : level_(level) { ++level_; }
  ~Nested() { --level_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

private:
  std::size_t& level_;
};

} // namespace

bool Parser::accept_symbol(std::string_view symbol) {
  if (!at_symbol(symbol))
    return false;
  advance();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!at_word(word))
    return false;
  advance();
  return true;
}

Status Parser::expect_symbol(std::string_view symbol, std::string_view why) {
  if (accept_symbol(symbol))
    return Done{};
  return expected(std::string(symbol) + " " + std::string(why));
}

Error Parser::expected(std::string_view what) const {
  return error("expected " + std::string(what) + ", found " + (at_end() ? "the end" : quoted(token().text)));
}

bool Parser::is_keyword(std::string_view word) const {
  constexpr std::array<std::string_view, 7> keywords = {"and", "or", "not", "in", "if", "else", "for"};
  return std::find(keywords.begin(), keywords.end(), word) != keywords.end() ||
         (dialect_ == Dialect::python && (word == "is" || word == "lambda"));
}

Result<ExpressionNode> Parser::make(Operation operation, std::vector<ExpressionNode> children) const {
  ExpressionNode node;
  node.operation = operation;
  for (const ExpressionNode& child : children) {
    node.height = std::max(node.height, child.height + 1);
    const bool may_be_list =
        operation == Operation::list || (operation == Operation::compare && &child != &children[0]);
    if (child.operation == Operation::list && !may_be_list)
      return error(std::string(stray_list));
  }
  if (node.height > maximum_height)
    return error("the expression is too long");
  node.children = std::move(children);
  return node;
}

Result<ExpressionNode> Parser::whole() {
  const bool is_lambda = dialect_ == Dialect::python && at_word("lambda");
  LATHE_TRY(ExpressionNode node, is_lambda ? lambda() : expression());
  if (!at_end())
    return expected("an operator or the end");
  if (node.operation == Operation::list)
    return error_at(text_, 1, std::string(stray_list));
  return node;
}

Result<ExpressionNode> Parser::expression() {
  const Nested nested(nesting_);
  if (nesting_ > maximum_nesting)
    return error("the expression is nested too deeply");
  LATHE_CHECK(within_limits());
  LATHE_TRY(ExpressionNode first, disjunction());
  if (accept_symbol("?")) {
    LATHE_TRY(ExpressionNode if_true, expression());
    LATHE_CHECK(expect_symbol(":", "of ?:"));
    LATHE_TRY(ExpressionNode if_false, expression());
    return make(Operation::choose, nodes(std::move(first), std::move(if_true), std::move(if_false)));
  }
  if (accept_word("if")) {
    LATHE_TRY(ExpressionNode condition, disjunction());
    if (!accept_word("else"))
      return expected("else");
    LATHE_TRY(ExpressionNode if_false, expression());
    return make(Operation::choose, nodes(std::move(condition), std::move(first), std::move(if_false)));
  }
  return first;
}

Result<ExpressionNode> Parser::logical(Level operand, std::string_view symbol, std::string_view word,
                                       Operation operation) {
  LATHE_TRY(ExpressionNode first, (this->*operand)());
  if (!at_symbol(symbol) && !at_word(word))
    return first;
  std::vector<ExpressionNode> children;
  children.push_back(std::move(first));
  while (accept_symbol(symbol) || accept_word(word)) {
    LATHE_TRY(ExpressionNode next, (this->*operand)());
    children.push_back(std::move(next));
  }
  return make(operation, std::move(children));
}

Result<ExpressionNode> Parser::disjunction() {
  return logical(&Parser::conjunction, "||", "or",
                 dialect_ == Dialect::python ? Operation::operand_or : Operation::logical_or);
}

Result<ExpressionNode> Parser::conjunction() {
  return logical(&Parser::inversion, "&&", "and",
                 dialect_ == Dialect::python ? Operation::operand_and : Operation::logical_and);
}

// `not` binds looser than comparisons, `!` (in unary) tighter than everything.
Result<ExpressionNode> Parser::inversion() {
  if (at_word("not")) {
    const Nested nested(nesting_);
    if (nesting_ > maximum_nesting)
      return error("the expression is nested too deeply");
    advance();
    LATHE_TRY(ExpressionNode operand, inversion());
    return make(Operation::logical_not, nodes(std::move(operand)));
  }
  return dialect_ == Dialect::python ? python_comparison() : c_bits();
}

Result<ExpressionNode> Parser::binary(Level operand, std::initializer_list<BinaryOperator> operators) {
  LATHE_TRY(ExpressionNode left, (this->*operand)());
  while (true) {
    const auto* found = std::find_if(operators.begin(), operators.end(),
                                     [&](const BinaryOperator& entry) { return at_symbol(entry.symbol); });
    if (found == operators.end())
      return left;
    advance();
    LATHE_TRY(ExpressionNode right, (this->*operand)());
    LATHE_TRY(left, make(found->operation, nodes(std::move(left), std::move(right))));
  }
}

Result<ExpressionNode> Parser::c_bits() {
  return binary(&Parser::c_bit_xor, {{"|", Operation::bit_or}});
}
Result<ExpressionNode> Parser::c_bit_xor() {
  return binary(&Parser::c_bit_and, {{"^", Operation::bit_xor}});
}
Result<ExpressionNode> Parser::c_bit_and() {
  return binary(&Parser::equality, {{"&", Operation::bit_and}});
}
Result<ExpressionNode> Parser::equality() {
  return comparison(&Parser::relation, false, true);
}
Result<ExpressionNode> Parser::relation() {
  return comparison(&Parser::shift, true, false);
}

Result<ExpressionNode> Parser::python_comparison() {
  return comparison(&Parser::python_bits, true, true);
}
Result<ExpressionNode> Parser::python_bits() {
  return binary(&Parser::python_bit_xor, {{"|", Operation::bit_or}});
}
Result<ExpressionNode> Parser::python_bit_xor() {
  return binary(&Parser::python_bit_and, {{"^", Operation::bit_xor}});
}
Result<ExpressionNode> Parser::python_bit_and() {
  return binary(&Parser::shift, {{"&", Operation::bit_and}});
}

Result<ExpressionNode> Parser::comparison(Level operand, bool relational, bool equal) {
  constexpr std::array<std::pair<std::string_view, ComparisonOperator>, 4> relations = {
      {{"<", ComparisonOperator::less},
       {"<=", ComparisonOperator::less_equal},
       {">", ComparisonOperator::greater},
       {">=", ComparisonOperator::greater_equal}}};
  const auto accept = [&]() -> std::optional<ComparisonOperator> {
    if (equal && accept_symbol("=="))
      return ComparisonOperator::equal;
    if (equal && accept_symbol("!="))
      return ComparisonOperator::not_equal;
    if (equal && dialect_ == Dialect::python && accept_word("is")) // of values: as == and !=
      return accept_word("not") ? ComparisonOperator::not_equal : ComparisonOperator::equal;
    if (!relational)
      return std::nullopt;
    for (const auto& [symbol, comparison] : relations)
      if (accept_symbol(symbol))
        return comparison;
    if (accept_word("in"))
      return ComparisonOperator::in;
    if (at_word("not") && next_token().kind == TokenKind::name && next_token().text == "in") {
      advance();
      advance();
      return ComparisonOperator::not_in;
    }
    return std::nullopt;
  };

  LATHE_TRY(ExpressionNode first, (this->*operand)());
  std::vector<ExpressionNode> children = nodes(std::move(first));
  std::vector<ComparisonOperator> comparisons;
  std::vector<ExpressionNode> conjuncts; // links of the chain that lists made of
  while (const std::optional<ComparisonOperator> comparison = accept()) {
    if (children.empty() || (!comparisons.empty() && children.back().operation == Operation::list))
      return error("a list cannot be compared");
    const bool is_membership =
        *comparison == ComparisonOperator::in || *comparison == ComparisonOperator::not_in;
    const bool is_equality =
        *comparison == ComparisonOperator::equal || *comparison == ComparisonOperator::not_equal;
    const bool wanted = *comparison == ComparisonOperator::in || *comparison == ComparisonOperator::equal;
    std::optional<ExpressionNode> right;
    if (is_membership) {
      LATHE_TRY(right, membership(children.back(), wanted));
      if (right->operation == Operation::list) {
        comparisons.push_back(*comparison);
        children.push_back(*std::move(right));
        continue;
      }
    } else if (is_equality && dialect_ == Dialect::python && accept_word("None")) {
      // No value is None, and what has no value has no comparison either: as in an empty list.
      comparisons.push_back(wanted ? ComparisonOperator::in : ComparisonOperator::not_in);
      LATHE_TRY(ExpressionNode nothing, make(Operation::list, {}));
      children.push_back(std::move(nothing));
      continue;
    } else {
      LATHE_TRY(right, (this->*operand)());
      if (children.back().operation != Operation::list && right->operation != Operation::list) {
        comparisons.push_back(*comparison);
        children.push_back(*std::move(right));
        continue;
      }
      if (!is_equality)
        return error("lists have no order here; compare them by == or !=");
      LATHE_TRY(right, list_equality(children.back(), *right, wanted));
    }
    if (!comparisons.empty()) {
      LATHE_TRY(ExpressionNode chain, make(Operation::compare, std::move(children)));
      chain.comparisons = std::move(comparisons);
      conjuncts.push_back(std::move(chain));
    }
    conjuncts.push_back(*std::move(right));
    children.clear();
    comparisons.clear();
  }
  if (comparisons.empty() && conjuncts.empty()) {
    if (at_symbol("="))
      return error("a single = is no operator; write == to compare");
    return std::move(children.front());
  }
  if (comparisons.empty())
    return conjuncts.size() == 1 ? Result<ExpressionNode>(std::move(conjuncts.front()))
                                 : make(Operation::logical_and, std::move(conjuncts));
  LATHE_TRY(ExpressionNode node, make(Operation::compare, std::move(children)));
  node.comparisons = std::move(comparisons);
  return node;
}

Result<ExpressionNode> Parser::shift() {
  return binary(&Parser::sum, {{"<<", Operation::shift_left}, {">>", Operation::shift_right}});
}

Result<ExpressionNode> Parser::sum() {
  return binary(&Parser::term, {{"+", Operation::add}, {"-", Operation::subtract}});
}

Result<ExpressionNode> Parser::term() {
  const bool python = dialect_ == Dialect::python;
  return binary(&Parser::unary, {{"*", Operation::multiply},
                                 {"/", python ? Operation::divide_real : Operation::divide_truncate},
                                 {"//", Operation::divide_floor},
                                 {"%", python ? Operation::modulo_floor : Operation::modulo_truncate}});
}

Result<ExpressionNode> Parser::unary() {
  const Nested nested(nesting_);
  if (nesting_ > maximum_nesting)
    return error("the expression is nested too deeply");
  if (at_symbol("-") && next_token().kind == TokenKind::integer &&
      next_token().integer == std::uint64_t{1} << 63) { // only the minus makes this number representable
    advance();
    advance();
    return constant(std::numeric_limits<std::int64_t>::min());
  }
  if (accept_symbol("+"))
    return unary();
  Operation operation = Operation::negate;
  if (at_symbol("!"))
    operation = Operation::logical_not;
  else if (at_symbol("~"))
    operation = Operation::bit_not;
  else if (!at_symbol("-"))
    return power();
  advance();
  LATHE_TRY(ExpressionNode operand, unary());
  return make(operation, nodes(std::move(operand)));
}

Result<ExpressionNode> Parser::power() {
  LATHE_TRY(ExpressionNode base, primary());
  if (!accept_symbol("**"))
    return base;
  LATHE_TRY(ExpressionNode exponent, unary());
  return make(Operation::power, nodes(std::move(base), std::move(exponent)));
}

Result<ExpressionNode> Parser::primary() {
  const Token& current = token();
  switch (current.kind) {
  case TokenKind::integer: {
    if (current.integer > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return error("the number " + quoted(current.text) + " does not fit 64 bits");
    const auto value = static_cast<std::int64_t>(current.integer);
    advance();
    return constant(value);
  }
  case TokenKind::real: {
    const double value = current.real;
    advance();
    return constant(value);
  }
  case TokenKind::string: {
    ExpressionNode node = constant(current.string);
    advance();
    return node;
  }
  case TokenKind::name:
    return name();
  case TokenKind::symbol:
    if (is_list_at(position_)) {
      LATHE_TRY(ExpressionNode list, list_value());
      if (at_symbol("["))
        return error("a member of a list cannot be picked here");
      return list;
    }
    if (accept_symbol("(")) {
      LATHE_TRY(ExpressionNode inner, expression());
      LATHE_CHECK(expect_symbol(")", "to close the parenthesis"));
      return inner;
    }
    break;
  case TokenKind::end:
    break;
  }
  return expected("a value");
}

} // namespace lathe::expression
