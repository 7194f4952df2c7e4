// What lists come to: memberships, comparisons of lists, and sum, any, all, len, prod, min and max of them.
#include "tuner/expression/parser.h"
#include "tuner/expression/trees.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

namespace lathe::expression {
namespace {

constexpr std::array<std::string_view, 5> aggregates = {"sum", "any", "all", "len", "prod"};

} // namespace

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
  LATHE_TRY(ExpressionNode rest,
            make(Operation::modulo_floor, nodes(std::move(offset), std::move(bounds[2]))));
  LATHE_TRY(ExpressionNode on_step,
            make(Operation::compare, nodes(std::move(rest), constant(std::int64_t{0}))));
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
  return parts.empty() ? Result<ExpressionNode>(constant(true))
                       : make(Operation::logical_and, std::move(parts));
}

Result<ExpressionNode> Parser::list_equality(const ExpressionNode& left, const ExpressionNode& right,
                                             bool wanted) {
  LATHE_TRY(ExpressionNode same, equal_items(left, right));
  return wanted ? Result<ExpressionNode>(std::move(same))
                : make(Operation::logical_not, nodes(std::move(same)));
}

// The right side of `in`. Plain members make a list, for an ordinary `in`; everything else a boolean.
Result<ExpressionNode> Parser::membership(const ExpressionNode& left, bool wanted) {
  const bool is_range = at_word("range") && next_token().text == "(";
  const auto finish = [&](ExpressionNode found) {
    return wanted ? Result<ExpressionNode>(std::move(found))
                  : make(Operation::logical_not, nodes(std::move(found)));
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
    return error(std::string(function) +
                 (items.empty() ? " of an empty list" : " of a list whose members depend on a condition"));
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
