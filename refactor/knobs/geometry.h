// Launch geometry as syntax: replaces the raw block size inside grid, block and shared-memory expressions.
#pragma once

#include "tuner/expression/expression.h"
#include "tuner/expression/expression_tree.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// The expression written out again, with every operation in parentheses where precedence could matter.
std::string format_tree(const ExpressionNode& node, const std::vector<std::string>& names);
std::string canonical(const Expression& expression);

// The names that the node and those below it mention.
std::set<std::string> names_below(const ExpressionNode& node, const std::vector<std::string>& names);

// The integer that a constant expression has ("(256 / 2)"), or nothing when it mentions names.
std::optional<std::int64_t> constant_of(const Expression& expression);

// Replaces each subtree that equals `from` by the text `to`. `count`: how many were replaced.
Result<Expression> replace_subtree(const Expression& expression, const Expression& from,
                                   const std::string& to, int& count);

// Replaces each rounded-up division by `divisor` ((x + divisor - 1) / divisor, with the sum folded or not,
// and those of rounded_up.h) by ceil_div(x, to).
Result<Expression> replace_ceil_div(const Expression& expression, const Expression& divisor,
                                    const std::string& to, int& count);

} // namespace lathe::refactor
