// Python's lists: displays, ranges and comprehensions. Comprehensions are written out while they are read, so
// that the tree knows nothing of them.
#include "tuner/expression/parser.h"
#include "tuner/expression/trees.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace lathe::expression {
namespace {

constexpr std::size_t longest_list = 10'000;
constexpr std::size_t most_steps = 1'000'000;
constexpr std::array<std::string_view, 6> list_words = {"list",      "tuple",  "set",
                                                        "frozenset", "sorted", "range"};

std::size_t size_of(const ExpressionNode& node) {
  std::size_t size = 1;
  for (const ExpressionNode& child : node.children)
    size += size_of(child);
  return size;
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
  return is_symbol_at(place, "(") &&
         (is_symbol_at(place + 1, ")") || find_on_level(place + 1, ",") || find_on_level(place + 1, "for"));
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
  while (
      place < tokens_.size() &&
      (tokens_[place].text == "list" || tokens_[place].text == "tuple" || tokens_[place].text == "sorted") &&
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

// "2 * i for i in [...] if ..." up to and with the bracket that closes it. The element and what follows a
// `for` are read once for each value of its variable.
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
Status Parser::clauses(std::size_t element, std::string_view close,
                       const std::optional<ExpressionNode>& condition, Items& out) {
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
    if (token().kind != TokenKind::name || token().text.find('.') != std::string_view::npos ||
        is_keyword(token().text))
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

} // namespace lathe::expression
