#include "tuner/expression/parser.h"

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

struct FunctionEntry {
  std::string_view name;
  Function function;
  std::size_t fewest, most;
};

constexpr std::size_t any_count = 1000;
constexpr std::array<FunctionEntry, 11> functions = {{{"min", Function::minimum, 1, any_count},
                                                      {"max", Function::maximum, 1, any_count},
                                                      {"abs", Function::absolute, 1, 1},
                                                      {"ceil_div", Function::ceil_div, 2, 2},
                                                      {"gcd", Function::gcd, 2, 2},
                                                      {"log2", Function::log2, 1, 1},
                                                      {"is_pow2", Function::is_pow2, 1, 1},
                                                      {"int", Function::to_integer, 1, 1},
                                                      {"float", Function::to_real, 1, 1},
                                                      {"floor", Function::floor, 1, 1},
                                                      {"ceil", Function::ceil, 1, 1}}};

// Python's own, some of which mean something else in Lathe's dialect.
constexpr std::array<FunctionEntry, 10> python_functions = {{{"sqrt", Function::square_root, 1, 1},
                                                             {"log", Function::logarithm, 1, 2},
                                                             {"log2", Function::log2_real, 1, 1},
                                                             {"log10", Function::log10, 1, 1},
                                                             {"exp", Function::exponential, 1, 1},
                                                             {"round", Function::round, 1, 1},
                                                             {"lcm", Function::lcm, 2, 2},
                                                             {"isqrt", Function::integer_root, 1, 1},
                                                             {"trunc", Function::to_integer, 1, 1},
                                                             {"fabs", Function::absolute, 1, 1}}};

template <std::size_t Count>
const FunctionEntry* find_in(const std::array<FunctionEntry, Count>& entries, std::string_view name) {
  const auto* entry = std::find_if(entries.begin(), entries.end(),
                                   [&](const FunctionEntry& candidate) { return candidate.name == name; });
  return entry == entries.end() ? nullptr : entry;
}

const FunctionEntry* find_function(std::string_view name, Dialect dialect) {
  name = without_module(name);
  const FunctionEntry* entry = dialect == Dialect::python ? find_in(python_functions, name) : nullptr;
  return entry != nullptr ? entry : find_in(functions, name);
}

std::string known_functions(Dialect dialect) {
  std::string known;
  const auto add = [&](std::string_view name) { known += (known.empty() ? "" : ", ") + std::string(name); };
  for (const FunctionEntry& entry : functions)
    add(entry.name);
  if (dialect == Dialect::python)
    for (const FunctionEntry& entry : python_functions)
      if (find_in(functions, entry.name) == nullptr)
        add(entry.name);
  for (const std::string_view name : {"pow", "bool", "sum", "any", "all", "len", "prod"})
    add(name);
  return known;
}

constexpr std::string_view stray_list = "a list may stand only on the right of in, beside == and !=, and in "
                                        "sum, any, all, len, prod, min and max";

ExpressionNode constant(Value value) {
  ExpressionNode node;
  node.value = std::move(value);
  return node;
}

// An initializer list would copy the trees.
template <class... Nodes> std::vector<ExpressionNode> nodes(Nodes... node) {
  std::vector<ExpressionNode> result;
  result.reserve(sizeof...(node));
  (result.push_back(std::move(node)), ...);
  return result;
}

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

std::string_view without_module(std::string_view function) {
  for (const std::string_view module : {"math.", "np.", "numpy."})
    if (function.starts_with(module))
      return function.substr(module.size());
  return function;
}

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

// "lambda bx, by: bx * by <= 1024": the parameters are names. "lambda p: p['bx'] <= 32": the only one may be
// what holds the names.
Result<ExpressionNode> Parser::lambda() {
  advance();
  std::size_t count = 0;
  while (!at_symbol(":")) {
    const std::string_view parameter = token().text;
    if (token().kind != TokenKind::name || parameter.find('.') != std::string_view::npos ||
        is_keyword(parameter))
      return expected("a parameter of the lambda");
    advance();
    record_ = ++count == 1 ? parameter : std::string_view();
    if (accept_symbol("=")) { // its default: the name of something that is no parameter of the space
      LATHE_TRY(bindings_[std::string(parameter)], expression());
    }
    if (!accept_symbol(",") && !at_symbol(":"))
      return expected("a comma or : after a parameter of the lambda");
  }
  advance();
  return expression();
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

Result<ExpressionNode> Parser::name() {
  const std::string_view word = token().text;
  if (is_keyword(word))
    return expected("a value");
  if (word == "true" || word == "True" || word == "false" || word == "False") {
    advance();
    return constant(word == "true" || word == "True");
  }
  if (dialect_ == Dialect::python && word == "None")
    return error("None can stand only on the right of is, ==, != and in a list");
  if (const std::optional<std::string_view> function = aggregate_here())
    return aggregate(*function);
  if (is_symbol_at(position_ + 1, "("))
    return call(word);
  if (dialect_ == Dialect::python && is_symbol_at(position_ + 1, "["))
    return subscript(word);
  advance();
  if (const auto variable = bindings_.find(word); variable != bindings_.end())
    return bound(variable->second);
  const bool is_member =
      !record_.empty() && word.starts_with(record_) && word.substr(record_.size()).starts_with(".");
  return named(is_member ? word.substr(record_.size() + 1) : word);
}

// "p['bx']" is the name bx; "pair[0]" a member of what a comprehension's variable stands for.
Result<ExpressionNode> Parser::subscript(std::string_view word) {
  advance();
  advance();
  const auto variable = bindings_.find(word);
  const bool is_list = variable != bindings_.end() && variable->second.operation == Operation::list;
  if (is_list && token().kind == TokenKind::integer && token().integer < variable->second.children.size()) {
    const std::size_t index = token().integer;
    advance();
    LATHE_CHECK(expect_symbol("]", "after the index"));
    return bound(variable->second.children[index]);
  }
  if (token().kind != TokenKind::string || is_list)
    return error(quoted(word) +
                 " holds nothing of that kind; in brackets stands the name of a parameter, in quotes");
  const std::string name = token().string;
  advance();
  LATHE_CHECK(expect_symbol("]", "after the name"));
  return named(name);
}

Result<ExpressionNode> Parser::named(std::string_view word) {
  ExpressionNode node;
  node.operation = Operation::name;
  const auto known = std::find(names_.begin(), names_.end(), word);
  node.slot = static_cast<std::size_t>(known - names_.begin());
  if (known == names_.end())
    names_.emplace_back(word);
  return node;
}

Result<ExpressionNode> Parser::call(std::string_view word) {
  const std::string_view name = without_module(word);
  const bool is_power = name == "pow", is_truth = name == "bool";
  const FunctionEntry* function = find_function(word, dialect_);
  if (function == nullptr && !is_power && !is_truth)
    return error("there is no function " + quoted(word) + " (there are " + known_functions(dialect_) + ")");
  advance();
  advance();
  std::vector<ExpressionNode> arguments;
  while (!at_symbol(")")) {
    LATHE_TRY(ExpressionNode argument, expression());
    arguments.push_back(std::move(argument));
    if (!accept_symbol(",") && !at_symbol(")"))
      return expected("a comma or ) in the arguments of " + std::string(word));
  }
  const std::size_t fewest = function != nullptr ? function->fewest : is_power ? 2 : 1;
  const std::size_t most = function != nullptr ? function->most : fewest;
  if (arguments.size() < fewest || arguments.size() > most)
    return error(std::string(word) + " takes " + std::to_string(fewest) +
                 (most == any_count ? " or more"
                  : most > fewest   ? " to " + std::to_string(most)
                                    : "") +
                 " arguments, not " + std::to_string(arguments.size()));
  advance();
  if (is_power)
    return make(Operation::power, std::move(arguments));
  if (is_truth) {
    LATHE_TRY(ExpressionNode inverse, make(Operation::logical_not, std::move(arguments)));
    return make(Operation::logical_not, nodes(std::move(inverse)));
  }
  LATHE_TRY(ExpressionNode node, make(Operation::call, std::move(arguments)));
  node.function = function->function;
  return node;
}

} // namespace lathe::expression
