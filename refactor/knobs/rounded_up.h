// Divisions that round up by looking at what is left over: n / 64 + (n % 64 > 0).
#pragma once

#include "tuner/expression/expression_tree.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// Of a division that rounds up, both nodes of `node`'s tree.
struct RoundedUp {
  const ExpressionNode* dividend = nullptr;
  const ExpressionNode* divisor = nullptr;
};

// Of ceil_div(n, d), n / d + (n % d != 0), n / d + (n % d ? 1 : 0), n % d == 0 ? n / d : n / d + 1 and the
// like, for n from zero on; nothing of other expressions. (n + d - 1) / d is replace_ceil_div's (geometry.h).
std::optional<RoundedUp> rounded_up(const ExpressionNode& node, const std::vector<std::string>& names);

} // namespace lathe::refactor
