// Small helpers of the parser for building trees.
#pragma once

#include "tuner/expression/expression_tree.h"

#include <optional>
#include <utility>
#include <vector>

namespace lathe::expression {

inline ExpressionNode constant(Value value) {
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

// The value of a tree that needs no name.
inline std::optional<Value> known_value(const ExpressionNode& node) {
  if (node.operation == Operation::list)
    return std::nullopt;
  Result<Value> value = evaluate_tree(
      node, [](std::size_t) -> Result<Value> { return usage_error("", "a name has no value yet"); });
  return value.ok() ? std::optional(*std::move(value)) : std::nullopt;
}

} // namespace lathe::expression
