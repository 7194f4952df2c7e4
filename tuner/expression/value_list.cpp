// T1's `Values` strings: list literals, comprehensions, range() and their concatenation.
#include "tuner/expression/expression_tree.h"
#include "tuner/expression/lexer.h"
#include "tuner/expression/parser.h"

#include <algorithm>
#include <map>

namespace lathe {
namespace {

using expression::Parser;
using expression::TokenKind;

// A configuration stores 16-bit indices of values; more steps than this in a comprehension is a mistake.
constexpr std::size_t maximum_values = 65535;
constexpr std::size_t maximum_steps = 10'000'000;
constexpr std::size_t maximum_nesting = 20;

using Values = std::vector<Value>;

// What a comprehension's variables are bound to, by slot.
using Bindings = std::map<std::size_t, Value>;

struct ListNode {
  enum class Kind { elements, range, concatenation, repetition, comprehension, sorted } kind = Kind::elements;
  std::vector<ExpressionNode>
      expressions;             // elements; range's arguments; the comprehension's element; the count
  std::vector<ListNode> lists; // operands, or a clause's source
  struct Clause {
    bool is_condition = false;
    std::size_t slot = 0;     // for: the variable
    std::size_t list = 0;     // for: index into lists
    ExpressionNode condition; // if
  };
  std::vector<Clause> clauses;
};

class ListParser {
public:
  ListParser(std::string_view text, std::vector<expression::Token> tokens)
      : parser_(text, std::move(tokens), Dialect::python) {}

  Result<ListNode> whole() {
    LATHE_TRY(ListNode list, concatenation());
    if (!parser_.at_end())
      return parser_.expected("+ or the end of the list");
    return list;
  }
  const std::vector<std::string>& names() { return parser_.names(); }

private:
  Result<ListNode> concatenation() {
    LATHE_TRY(ListNode first, repetition());
    if (!parser_.at_symbol("+"))
      return first;
    ListNode node;
    node.kind = ListNode::Kind::concatenation;
    node.lists.push_back(std::move(first));
    while (parser_.accept_symbol("+")) {
      LATHE_TRY(ListNode next, repetition());
      node.lists.push_back(std::move(next));
    }
    return node;
  }

  Result<ListNode> repetition() {
    LATHE_TRY(ListNode list, operand());
    if (!parser_.accept_symbol("*"))
      return list;
    ListNode node;
    node.kind = ListNode::Kind::repetition;
    LATHE_TRY(ExpressionNode count, parser_.unary());
    node.lists.push_back(std::move(list));
    node.expressions.push_back(std::move(count));
    return node;
  }

  Result<ListNode> operand() {
    if (++nesting_ > maximum_nesting)
      return parser_.error("the list is nested too deeply");
    Result<ListNode> result = nested_operand();
    --nesting_;
    return result;
  }

  Result<ListNode> nested_operand() {
    if (parser_.accept_symbol("["))
      return literal("]");
    if (parser_.accept_symbol("("))
      return parenthesised();
    for (std::string_view wrapper : {"list", "tuple", "sorted"})
      if (parser_.at_word(wrapper)) {
        parser_.advance();
        LATHE_CHECK(parser_.expect_symbol("(", "after " + std::string(wrapper)));
        LATHE_TRY(ListNode inner, concatenation());
        LATHE_CHECK(parser_.expect_symbol(")", "to close " + std::string(wrapper)));
        if (wrapper != "sorted")
          return inner;
        ListNode node;
        node.kind = ListNode::Kind::sorted;
        node.lists.push_back(std::move(inner));
        return node;
      }
    if (parser_.accept_word("range"))
      return range();
    return parser_.expected("a list such as [1, 2, 4] or range(1, 9)");
  }

  // "(1, 2)" is a tuple, "([1] + [2])" a list in parentheses.
  Result<ListNode> parenthesised() {
    const bool list = parser_.at_symbol("[") || parser_.at_symbol("(") || parser_.at_word("list") ||
                      parser_.at_word("tuple") || parser_.at_word("sorted") || parser_.at_word("range");
    if (!list)
      return literal(")");
    LATHE_TRY(ListNode inner, concatenation());
    LATHE_CHECK(parser_.expect_symbol(")", "to close the parenthesis"));
    return inner;
  }

  Result<ListNode> literal(std::string_view close) {
    ListNode node;
    while (!parser_.at_symbol(close)) {
      LATHE_TRY(ExpressionNode element, parser_.expression());
      node.expressions.push_back(std::move(element));
      if (parser_.at_word("for") && node.expressions.size() == 1)
        return comprehension(std::move(node), close);
      if (!parser_.accept_symbol(",") && !parser_.at_symbol(close))
        return parser_.expected("a comma or " + std::string(close));
    }
    parser_.advance();
    return node;
  }

  Result<ListNode> comprehension(ListNode node, std::string_view close) {
    node.kind = ListNode::Kind::comprehension;
    while (!parser_.at_symbol(close)) {
      ListNode::Clause clause;
      if (parser_.accept_word("for")) {
        if (parser_.token().kind != TokenKind::name)
          return parser_.expected("a variable after for");
        std::vector<std::string>& names = parser_.names();
        const auto known = std::find(names.begin(), names.end(), parser_.token().text);
        clause.slot = static_cast<std::size_t>(known - names.begin());
        if (known == names.end())
          names.emplace_back(parser_.token().text);
        parser_.advance();
        if (!parser_.accept_word("in"))
          return parser_.expected("in");
        LATHE_TRY(ListNode source, concatenation());
        clause.list = node.lists.size();
        node.lists.push_back(std::move(source));
      } else if (parser_.accept_word("if")) {
        clause.is_condition = true;
        LATHE_TRY(clause.condition, parser_.disjunction());
      } else {
        return parser_.expected("for, if or " + std::string(close));
      }
      node.clauses.push_back(std::move(clause));
      if (node.clauses.size() > maximum_nesting)
        return parser_.error("the list is nested too deeply");
    }
    parser_.advance();
    return node;
  }

  Result<ListNode> range() {
    LATHE_CHECK(parser_.expect_symbol("(", "after range"));
    ListNode node;
    node.kind = ListNode::Kind::range;
    while (!parser_.at_symbol(")")) {
      LATHE_TRY(ExpressionNode argument, parser_.expression());
      node.expressions.push_back(std::move(argument));
      if (!parser_.accept_symbol(",") && !parser_.at_symbol(")"))
        return parser_.expected("a comma or )");
    }
    if (node.expressions.empty() || node.expressions.size() > 3)
      return parser_.error("range takes 1 to 3 arguments");
    parser_.advance();
    return node;
  }

  Parser parser_;
  std::size_t nesting_ = 0;
};

class ListEvaluator {
public:
  explicit ListEvaluator(const std::vector<std::string>& names) : names_(names) {}

  Status append(const ListNode& node, Values& out) {
    switch (node.kind) {
    case ListNode::Kind::elements:
      for (const ExpressionNode& element : node.expressions) {
        LATHE_TRY(Value value, evaluate(element));
        LATHE_CHECK(push(std::move(value), out));
      }
      return Done{};
    case ListNode::Kind::concatenation:
      for (const ListNode& list : node.lists)
        LATHE_CHECK(append(list, out));
      return Done{};
    case ListNode::Kind::sorted:
      return append_sorted(node, out);
    case ListNode::Kind::repetition:
      return append_repeated(node, out);
    case ListNode::Kind::range:
      return append_range(node, out);
    case ListNode::Kind::comprehension:
      return append_clause(node, 0, out);
    }
    return Done{};
  }

private:
  Result<Value> evaluate(const ExpressionNode& node) {
    return evaluate_tree(node, [&](std::size_t slot) -> Result<Value> {
      const auto bound = bindings_.find(slot);
      if (bound == bindings_.end())
        return usage_error("", "the name " + expression::quoted(names_[slot]) + " is unknown",
                           "use only the variables of the comprehension");
      return bound->second;
    });
  }

  Result<std::int64_t> integer(const ExpressionNode& node) {
    LATHE_TRY(const Value value, evaluate(node));
    if (const auto* number = std::get_if<std::int64_t>(&value))
      return *number;
    return usage_error("", "an integer is needed where " + to_string(value) + " stands");
  }

  Status step() {
    if (++steps_ > maximum_steps)
      return usage_error("", "it takes too many steps to compute");
    return Done{};
  }

  Status push(Value value, Values& out) {
    LATHE_CHECK(step());
    if (out.size() == maximum_values)
      return usage_error("", "it has more than " + std::to_string(maximum_values) + " values");
    out.push_back(std::move(value));
    return Done{};
  }

  Status append_range(const ListNode& node, Values& out) {
    std::int64_t bounds[3] = {0, 0, 1};
    for (std::size_t i = 0; i < node.expressions.size(); ++i) {
      LATHE_TRY(bounds[node.expressions.size() == 1 ? 1 : i], integer(node.expressions[i]));
    }
    const auto [first, last, stride] = bounds;
    if (stride == 0)
      return usage_error("", "the step of a range is zero");
    for (std::int64_t i = first; stride > 0 ? i < last : i > last;) {
      LATHE_CHECK(push(Value{i}, out));
      if (__builtin_add_overflow(i, stride, &i))
        break;
    }
    return Done{};
  }

  Status append_sorted(const ListNode& node, Values& out) {
    Values values;
    LATHE_CHECK(append(node.lists[0], values));
    for (const Value& value : values)
      if (!std::holds_alternative<std::int64_t>(value))
        return usage_error("", "only integers can be sorted here");
    std::sort(values.begin(), values.end());
    for (Value& value : values)
      LATHE_CHECK(push(std::move(value), out));
    return Done{};
  }

  Status append_repeated(const ListNode& node, Values& out) {
    LATHE_TRY(const std::int64_t count, integer(node.expressions[0]));
    Values values;
    LATHE_CHECK(append(node.lists[0], values));
    if (values.empty())
      return Done{};
    for (std::int64_t i = 0; i < count; ++i)
      for (const Value& value : values)
        LATHE_CHECK(push(value, out));
    return Done{};
  }

  Status append_clause(const ListNode& node, std::size_t index, Values& out) {
    LATHE_CHECK(step());
    if (index == node.clauses.size()) {
      LATHE_TRY(Value value, evaluate(node.expressions[0]));
      return push(std::move(value), out);
    }
    const ListNode::Clause& clause = node.clauses[index];
    if (clause.is_condition) {
      LATHE_TRY(const Value value, evaluate(clause.condition));
      LATHE_TRY(const bool holds, truth(value));
      return holds ? append_clause(node, index + 1, out) : Status{Done{}};
    }
    Values source;
    LATHE_CHECK(append(node.lists[clause.list], source));
    for (Value& value : source) {
      bindings_[clause.slot] = std::move(value);
      LATHE_CHECK(append_clause(node, index + 1, out));
    }
    bindings_.erase(clause.slot);
    return Done{};
  }

  const std::vector<std::string>& names_;
  Bindings bindings_;
  std::size_t steps_ = 0;
};

} // namespace

Result<std::vector<Value>> parse_value_list(std::string_view text) {
  LATHE_TRY(std::vector<expression::Token> tokens, expression::tokenize(text));
  ListParser parser(text, std::move(tokens));
  LATHE_TRY(const ListNode list, parser.whole());
  Values values;
  const Status status = ListEvaluator(parser.names()).append(list, values);
  if (!status.ok()) {
    Error error = status.error();
    error.what = "list of values " + expression::quoted(text);
    return error;
  }
  return values;
}

} // namespace lathe
