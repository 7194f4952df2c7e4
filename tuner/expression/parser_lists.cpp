// Python's lists where they come to something else: in memberships, comparisons, and as what sum, any, all, len, min
// and max are of. Comprehensions are written out while they are read, so that the tree knows nothing of them.
#include "tuner/expression/parser.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

namespace lathe::expression {
namespace {

constexpr std::size_t longest_list = 10'000;
constexpr std::size_t most_steps = 1'000'000;
constexpr std::array<std::string_view, 6> list_words = {"list", "tuple", "set", "frozenset", "sorted", "range"};
constexpr std::array<std::string_view, 5> aggregates = {"sum", "any", "all", "len", "prod"};

ExpressionNode constant(Value value) {
  ExpressionNode node;
  node.value = std::move(value);
  return node;
}

template <class... Nodes> std::vector<ExpressionNode> nodes(Nodes... node) {
  std::vector<ExpressionNode> result;
  result.reserve(sizeof...(node));
  (result.push_back(std::move(node)), ...);
  return result;
}

std::size_t size_of(const ExpressionNode& node) {
  std::size_t size = 1;
  for (const ExpressionNode& child : node.children)
    size += size_of(child);
  return size;
}

// The value of a tree that needs no name.
std::optional<Value> known_value(const ExpressionNode& node) {
  if (node.operation == Operation::list)
    return std::nullopt;
  Result<Value> value =
      evaluate_tree(node, [](std::size_t) -> Result<Value> { return usage_error("", "a name has no value yet"); });
  return value.ok() ? std::optional(*std::move(value)) : std::nullopt;
}

bool is_open(const Token& token) {
  return token.kind == TokenKind::symbol && (token.text == "(" || token.text == "[" || token.text == "{");
}
bool is_close(const Token& token) {
  return token.kind == TokenKind::symbol && (token.text == ")" || token.text == "]" || token.text == "}");
}

} // namespace

Status Parser::within_limits() const {
  if (steps_ > most_steps)
    return error("the expression takes too many steps to read");
  return Done{};
}

std::optional<std::size_t> Parser::find_on_level(std::size_t from, std::string_view word) const {
  std::size_t depth = 0;
  for (std::size_t i = from; i < tokens_.size() && tokens_[i].kind != TokenKind::end; ++i) {
    if (is_close(tokens_[i]) && depth-- == 0)
      return std::nullopt;
    if (depth == 0 && tokens_[i].text == word && tokens_[i].kind != TokenKind::string)
      return i;
    if (is_open(tokens_[i]))
      ++depth;
  }
  return std::nullopt;
}

// Past everything up to the bracket that closes this level.
void Parser::skip_to_close() {
  for (std::size_t depth = 0; !at_end(); advance()) {
    if (is_close(token()) && depth-- == 0)
      return;
    if (is_open(token()))
      ++depth;
  }
}

bool Parser::is_tuple_at(std::size_t place) const {
  return is_symbol_at(place, "(") && (is_symbol_at(place + 1, ")") || find_on_level(place + 1, ",") ||
                                      find_on_level(place + 1, "for"));
}

bool Parser::is_list_at(std::size_t place) const {
  if (is_symbol_at(place, "[") || is_symbol_at(place, "{") || is_tuple_at(place))
    return true;
  if (place >= tokens_.size() || tokens_[place].kind != TokenKind::name)
    return false;
  const std::string_view word = tokens_[place].text;
  if (is_symbol_at(place + 1, "("))
    return std::find(list_words.begin(), list_words.end(), word) != list_words.end();
  const auto variable = bindings_.find(word);
  return variable != bindings_.end() && variable->second.operation == Operation::list &&
         !is_symbol_at(place + 1, "[");
}

// "set(...)" and "{...}", also below a list(...) or sorted(...).
bool Parser::is_set_at(std::size_t place) const {
  while (place < tokens_.size() && (tokens_[place].text == "list" || tokens_[place].text == "tuple" || tokens_[place].text == "sorted") &&
         is_symbol_at(place + 1, "("))
    place += 2;
  return place < tokens_.size() &&
         (is_symbol_at(place, "{") || tokens_[place].text == "set" || tokens_[place].text == "frozenset");
}

// A list in the place of a value: something to compare with another list.
Result<ExpressionNode> Parser::list_value() {
  LATHE_TRY(Items members, items());
  std::vector<ExpressionNode> children;
  for (Item& member : members) {
    if (member.condition)
      return error("a list whose members depend on a condition cannot be compared");
    children.push_back(std::move(member.value));
  }
  return make(Operation::list, std::move(children));
}

Result<Parser::Items> Parser::items() {
  LATHE_TRY(Items all, repeated_items());
  while (accept_symbol("+")) {
    LATHE_TRY(Items more, repeated_items());
    std::move(more.begin(), more.end(), std::back_inserter(all));
    if (all.size() > longest_list)
      return error("the list is too long");
  }
  return all;
}

Result<Parser::Items> Parser::repeated_items() {
  LATHE_TRY(Items all, items_operand());
  while (accept_symbol("*")) {
    LATHE_TRY(const ExpressionNode count, unary());
    const std::optional<Value> value = known_value(count);
    const auto* times = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (times == nullptr)
      return error("how often a list is repeated must be a number here");
    const Items once = std::move(all);
    all.clear();
    for (std::int64_t i = 0; i < *times && !once.empty(); ++i) {
      all.insert(all.end(), once.begin(), once.end());
      if (all.size() > longest_list)
        return error("the list is too long");
    }
  }
  return all;
}

Result<Parser::Items> Parser::items_operand() {
  if (accept_symbol("["))
    return display("]");
  if (at_symbol("{")) {
    advance();
    if (find_on_level(position_, ":") || at_symbol("}"))
      return error("a dict cannot stand here");
    return display("}");
  }
  if (at_symbol("(")) {
    const bool tuple = is_tuple_at(position_);
    advance();
    if (tuple)
      return display(")");
    if (!is_list_at(position_))
      return error("(x) is no list; write (x,) or [x]");
    LATHE_TRY(Items members, items());
    LATHE_CHECK(expect_symbol(")", "to close the parenthesis"));
    return members;
  }
  if (token().kind == TokenKind::name && is_list_at(position_)) {
    const std::string_view word = token().text;
    if (const auto variable = bindings_.find(word); variable != bindings_.end()) {
      LATHE_TRY(ExpressionNode list, bound(variable->second));
      advance();
      Items members;
      for (ExpressionNode& child : list.children)
        members.push_back({std::move(child), std::nullopt});
      return members;
    }
    if (word == "range")
      return range();
    advance();
    advance();
    Items members;
    if (!at_symbol(")")) {
      if (find_on_level(position_, "for"))
        return comprehension(")");
      LATHE_TRY(members, items());
    }
    LATHE_CHECK(expect_symbol(")", "to close " + std::string(word)));
    return members;
  }
  return expected("a list such as [1, 2]");
}

// The members of a list whose bracket is open.
Result<Parser::Items> Parser::display(std::string_view close) {
  if (find_on_level(position_, "for"))
    return comprehension(close);
  Items members;
  while (!at_symbol(close)) {
    LATHE_CHECK(within_limits());
    const bool none = at_word("None") && dialect_ == Dialect::python; // which no value is
    if (none) {
      advance();
    } else {
      LATHE_TRY(ExpressionNode element, expression());
      members.push_back({std::move(element), std::nullopt});
    }
    if (!accept_symbol(",") && !at_symbol(close))
      return expected("a comma or " + std::string(close) + " in a list");
  }
  advance();
  return members;
}

// "2 * i for i in [...] if ..." up to and with the bracket that closes it. The element and what follows a `for`
// are read once for each value of its variable.
Result<Parser::Items> Parser::comprehension(std::string_view close) {
  const std::size_t element = position_;
  const std::optional<std::size_t> first = find_on_level(position_, "for");
  if (!first || *first == element)
    return expected("a value before for");
  position_ = *first;
  Items members;
  LATHE_CHECK(clauses(element, close, std::nullopt, members));
  LATHE_CHECK(expect_symbol(close, "to close the comprehension"));
  return members;
}

// Ends at the closing bracket.
Status Parser::clauses(std::size_t element, std::string_view close, const std::optional<ExpressionNode>& condition,
                       Items& out) {
  LATHE_CHECK(within_limits());
  if (at_symbol(close)) {
    const std::size_t end = position_;
    position_ = element;
    LATHE_TRY(ExpressionNode value, expression());
    if (!at_word("for"))
      return expected("for");
    if (out.size() == longest_list)
      return error("the list is too long");
    std::optional<ExpressionNode> held;
    if (condition) {
      LATHE_TRY(held, bound(*condition));
    }
    out.push_back({std::move(value), std::move(held)});
    position_ = end;
    return Done{};
  }
  if (accept_word("if")) {
    LATHE_TRY(ExpressionNode filter, disjunction());
    if (const std::optional<Value> value = known_value(filter)) {
      const Result<bool> holds = truth(*value);
      if (!holds.ok())
        return error(holds.error().why);
      if (!*holds) {
        skip_to_close();
        return Done{};
      }
      return clauses(element, close, condition, out);
    }
    if (!condition)
      return clauses(element, close, filter, out);
    LATHE_TRY(const ExpressionNode both, make(Operation::logical_and, nodes(*condition, std::move(filter))));
    return clauses(element, close, both, out);
  }
  if (!accept_word("for"))
    return expected("for, if or " + std::string(close));
  std::vector<std::string> variables;
  const bool parenthesis = accept_symbol("(");
  do {
    if (token().kind != TokenKind::name || token().text.find('.') != std::string_view::npos || is_keyword(token().text))
      return expected("a variable after for");
    variables.emplace_back(token().text);
    advance();
  } while (accept_symbol(","));
  if (parenthesis)
    LATHE_CHECK(expect_symbol(")", "after the variables"));
  if (!accept_word("in"))
    return expected("in");
  LATHE_TRY(const Items source, items());
  const std::size_t after = position_;
  const auto outer = bindings_;
  for (const Item& item : source) {
    LATHE_CHECK(bind(variables, item.value));
    position_ = after;
    std::optional<ExpressionNode> both = condition;
    if (item.condition && condition) {
      LATHE_TRY(both, make(Operation::logical_and, nodes(*condition, *item.condition)));
    } else if (item.condition) {
      both = item.condition;
    }
    LATHE_CHECK(clauses(element, close, both, out));
    bindings_ = outer;
  }
  if (source.empty())
    skip_to_close();
  return Done{};
}

Status Parser::bind(const std::vector<std::string>& variables, const ExpressionNode& value) {
  if (variables.size() == 1) {
    bindings_[variables[0]] = value;
    return Done{};
  }
  if (value.operation != Operation::list || value.children.size() != variables.size())
    return error(std::to_string(variables.size()) + " variables need lists of as many members");
  for (std::size_t i = 0; i < variables.size(); ++i)
    bindings_[variables[i]] = value.children[i];
  return Done{};
}

// A copy of what a variable stands for.
Result<ExpressionNode> Parser::bound(const ExpressionNode& value) {
  steps_ += size_of(value);
  LATHE_CHECK(within_limits());
  return value;
}

Result<std::vector<ExpressionNode>> Parser::range_arguments() {
  advance();
  advance();
  std::vector<ExpressionNode> arguments;
  while (!at_symbol(")")) {
    LATHE_TRY(ExpressionNode argument, expression());
    arguments.push_back(std::move(argument));
    if (!accept_symbol(",") && !at_symbol(")"))
      return expected("a comma or )");
  }
  if (arguments.empty() || arguments.size() > 3)
    return error("range takes 1 to 3 arguments");
  advance();
  if (arguments.size() == 1)
    arguments.insert(arguments.begin(), constant(std::int64_t{0}));
  if (arguments.size() == 2)
    arguments.push_back(constant(std::int64_t{1}));
  return arguments;
}

Result<Parser::Items> Parser::range() {
  LATHE_TRY(const std::vector<ExpressionNode> arguments, range_arguments());
  std::array<std::int64_t, 3> bounds{};
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const std::optional<Value> value = known_value(arguments[i]);
    const auto* integer = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (integer == nullptr)
      return error("the bounds of this range must be integers, not what a configuration decides");
    bounds[i] = *integer;
  }
  const auto [first, last, stride] = bounds;
  if (stride == 0)
    return error("the step of a range is zero");
  Items members;
  for (std::int64_t i = first; stride > 0 ? i < last : i > last;) {
    if (members.size() == longest_list)
      return error("the list is too long");
    members.push_back({constant(i), std::nullopt});
    if (__builtin_add_overflow(i, stride, &i))
      break;
  }
  return members;
}

// `left in range(...)` as comparisons, which need no list and let the bounds be expressions.
Result<ExpressionNode> Parser::range_membership(const ExpressionNode& left) {
  LATHE_TRY(std::vector<ExpressionNode> bounds, range_arguments());
  const std::optional<Value> value = known_value(bounds[2]);
  const auto* stride = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  if (stride == nullptr || *stride <= 0)
    return error("the step of this range must be a positive integer");
  LATHE_TRY(ExpressionNode first, bound(left));
  LATHE_TRY(ExpressionNode second, bound(left));
  LATHE_TRY(ExpressionNode begin, bound(bounds[0]));
  LATHE_TRY(ExpressionNode within,
            make(Operation::compare, nodes(std::move(bounds[0]), std::move(first), std::move(bounds[1]))));
  within.comparisons = {ComparisonOperator::less_equal, ComparisonOperator::less};
  LATHE_TRY(ExpressionNode offset, make(Operation::subtract, nodes(std::move(second), std::move(begin))));
  LATHE_TRY(ExpressionNode rest, make(Operation::modulo_floor, nodes(std::move(offset), std::move(bounds[2]))));
  LATHE_TRY(ExpressionNode on_step, make(Operation::compare, nodes(std::move(rest), constant(std::int64_t{0}))));
  on_step.comparisons = {ComparisonOperator::equal};
  return make(Operation::logical_and, nodes(std::move(within), std::move(on_step)));
}

// Both lists, or both none.
Result<ExpressionNode> Parser::equal_items(const ExpressionNode& left, const ExpressionNode& right) {
  const bool lists = left.operation == Operation::list;
  if (lists != (right.operation == Operation::list))
    return constant(false); // a list equals no number
  if (!lists) {
    LATHE_TRY(ExpressionNode one, bound(left));
    LATHE_TRY(ExpressionNode other, bound(right));
    LATHE_TRY(ExpressionNode same, make(Operation::compare, nodes(std::move(one), std::move(other))));
    same.comparisons = {ComparisonOperator::equal};
    return same;
  }
  if (left.children.size() != right.children.size())
    return constant(false);
  std::vector<ExpressionNode> parts;
  for (std::size_t i = 0; i < left.children.size(); ++i) {
    LATHE_TRY(ExpressionNode part, equal_items(left.children[i], right.children[i]));
    parts.push_back(std::move(part));
  }
  return parts.empty() ? Result<ExpressionNode>(constant(true)) : make(Operation::logical_and, std::move(parts));
}

Result<ExpressionNode> Parser::list_equality(const ExpressionNode& left, const ExpressionNode& right, bool wanted) {
  LATHE_TRY(ExpressionNode same, equal_items(left, right));
  return wanted ? Result<ExpressionNode>(std::move(same)) : make(Operation::logical_not, nodes(std::move(same)));
}

// The right side of `in`. Plain members make a list, for an ordinary `in`; everything else a boolean.
Result<ExpressionNode> Parser::membership(const ExpressionNode& left, bool wanted) {
  const bool is_range = at_word("range") && next_token().text == "(";
  const auto finish = [&](ExpressionNode found) {
    return wanted ? Result<ExpressionNode>(std::move(found)) : make(Operation::logical_not, nodes(std::move(found)));
  };
  if (is_range && left.operation != Operation::list) {
    LATHE_TRY(ExpressionNode found, range_membership(left));
    return finish(std::move(found));
  }
  LATHE_TRY(Items members, items());
  const auto is_plain = [](const Item& item) {
    return !item.condition && item.value.operation != Operation::list;
  };
  if (left.operation != Operation::list && std::all_of(members.begin(), members.end(), is_plain)) {
    std::vector<ExpressionNode> children;
    for (Item& member : members)
      children.push_back(std::move(member.value));
    return make(Operation::list, std::move(children));
  }
  std::vector<ExpressionNode> any;
  for (Item& member : members) {
    LATHE_TRY(ExpressionNode same, equal_items(left, member.value));
    if (member.condition) {
      LATHE_TRY(same, make(Operation::logical_and, nodes(*std::move(member.condition), std::move(same))));
    }
    any.push_back(std::move(same));
  }
  if (any.empty())
    return constant(!wanted);
  LATHE_TRY(ExpressionNode found, make(Operation::logical_or, std::move(any)));
  return finish(std::move(found));
}

// Of members that are equal the first alone counts.
Result<Parser::Items> Parser::distinct(Items items) {
  std::set<Value> seen;
  Items result;
  for (Item& item : items) {
    if (const std::optional<Value> value = known_value(item.value); value && !item.condition) {
      if (!seen.insert(*value).second)
        continue;
    }
    result.push_back(std::move(item));
  }
  if (result.size() == seen.size())
    return result;
  Items tested;
  for (const Item& item : result) {
    std::optional<ExpressionNode> condition = item.condition;
    for (const Item& earlier : tested) {
      LATHE_TRY(ExpressionNode differs, list_equality(item.value, earlier.value, false));
      if (earlier.condition) {
        LATHE_TRY(ExpressionNode held, bound(*earlier.condition));
        LATHE_TRY(ExpressionNode absent, make(Operation::logical_not, nodes(std::move(held))));
        LATHE_TRY(differs, make(Operation::logical_or, nodes(std::move(absent), std::move(differs))));
      }
      if (condition) {
        LATHE_TRY(condition, make(Operation::logical_and, nodes(*std::move(condition), std::move(differs))));
      } else {
        condition = std::move(differs);
      }
    }
    tested.push_back({item.value, std::move(condition)});
  }
  return tested;
}

// sum(...) and its like. min and max of several arguments are ordinary calls.
Result<ExpressionNode> Parser::aggregate(std::string_view function) {
  advance();
  advance();
  const std::size_t start = position_;
  if (find_on_level(position_, "for")) {
    LATHE_TRY(Items members, comprehension(")"));
    return aggregated(function, std::move(members), start);
  }
  if (!is_list_at(position_))
    return error("after " + std::string(function) + "( there must be a list such as [a, b]");
  const bool is_set = is_set_at(position_);
  LATHE_TRY(Items members, items());
  if (is_set) {
    LATHE_TRY(members, distinct(std::move(members)));
  }
  std::optional<ExpressionNode> first;
  if (function == "sum" && accept_symbol(",")) {
    LATHE_TRY(first, expression());
  }
  LATHE_CHECK(expect_symbol(")", "to close " + std::string(function)));
  if (first)
    members.push_back({*std::move(first), std::nullopt});
  return aggregated(function, std::move(members), start);
}

Result<ExpressionNode> Parser::fold(Operation operation, std::int64_t neutral, const Items& items) {
  std::optional<ExpressionNode> result;
  for (const Item& item : items) {
    ExpressionNode term = item.value;
    if (item.condition) {
      LATHE_TRY(term, make(Operation::choose, nodes(*item.condition, std::move(term), constant(neutral))));
    }
    if (result) {
      LATHE_TRY(result, make(operation, nodes(*std::move(result), std::move(term))));
    } else {
      result = std::move(term);
    }
  }
  // A lone truth value counts as a number.
  if (items.size() == 1)
    return make(operation, nodes(*std::move(result), constant(neutral)));
  return result ? *std::move(result) : constant(neutral);
}

Result<ExpressionNode> Parser::aggregated(std::string_view function, Items items, std::size_t start) {
  if (function == "sum")
    return fold(Operation::add, 0, items);
  if (function == "prod")
    return fold(Operation::multiply, 1, items);
  if (function == "len") {
    Items ones;
    std::int64_t always = 0;
    for (Item& item : items) {
      if (item.condition)
        ones.push_back({constant(std::int64_t{1}), std::move(item.condition)});
      else
        ++always;
    }
    ones.push_back({constant(always), std::nullopt});
    return ones.size() == 1 ? Result<ExpressionNode>(constant(always)) : fold(Operation::add, 0, ones);
  }
  if (function == "any" || function == "all") {
    const bool any = function == "any";
    if (items.empty())
      return constant(!any);
    std::vector<ExpressionNode> parts;
    for (Item& item : items) {
      ExpressionNode part = std::move(item.value);
      if (item.condition && any) {
        LATHE_TRY(part, make(Operation::logical_and, nodes(*std::move(item.condition), std::move(part))));
      } else if (item.condition) {
        LATHE_TRY(ExpressionNode absent, make(Operation::logical_not, nodes(*std::move(item.condition))));
        LATHE_TRY(part, make(Operation::logical_or, nodes(std::move(absent), std::move(part))));
      }
      parts.push_back(std::move(part));
    }
    return make(any ? Operation::logical_or : Operation::logical_and, std::move(parts));
  }
  const bool conditional =
      std::any_of(items.begin(), items.end(), [](const Item& item) { return item.condition.has_value(); });
  if (conditional || items.empty()) {
    position_ = start;
    return error(std::string(function) + (items.empty() ? " of an empty list"
                                                       : " of a list whose members depend on a condition"));
  }
  std::vector<ExpressionNode> arguments;
  for (Item& item : items)
    arguments.push_back(std::move(item.value));
  LATHE_TRY(ExpressionNode node, make(Operation::call, std::move(arguments)));
  node.function = function == "min" ? Function::minimum : Function::maximum;
  return node;
}

// The function's name without its module; nothing where the tokens are no call of one.
std::optional<std::string_view> Parser::aggregate_here() const {
  if (token().kind != TokenKind::name || !is_symbol_at(position_ + 1, "("))
    return std::nullopt;
  const std::string_view word = without_module(token().text);
  if (std::find(aggregates.begin(), aggregates.end(), word) != aggregates.end())
    return word;
  // Of one list, rather than of several values.
  const std::size_t first = position_ + 2;
  const bool is_of_list = (word == "min" || word == "max") && !find_on_level(first, ",") &&
                          (find_on_level(first, "for") || is_list_at(first));
  return is_of_list ? std::optional(word) : std::nullopt;
}

} // namespace lathe::expression
