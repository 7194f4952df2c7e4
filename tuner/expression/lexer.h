// Splits an expression into tokens.
#pragma once

#include "tuner/expression/expression.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::expression {

enum class TokenKind { end, name, integer, real, string, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t column = 1;    // 1-based
  std::string_view text;     // as written; for a symbol, the longest one
  std::string string;        // string: its content
  std::uint64_t integer = 0; // integer: up to 2^63, which only a minus in front makes representable
  double real = 0;
};

// The last token is `end`. The views point into `text`.
Result<std::vector<Token>> tokenize(std::string_view text);

// An error about `text` at a column: "expression "a +": column 4: expected ...".
Error error_at(std::string_view text, std::size_t column, std::string why);
// `text` in quotes, shortened and with unprintable bytes escaped.
std::string quoted(std::string_view text);

} // namespace lathe::expression
