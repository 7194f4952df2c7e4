#include "tuner/expression/lexer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace lathe::expression {
namespace {

// ASCII only, whatever the process's locale is.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_part(char c) {
  return is_letter(c) || is_digit(c);
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

constexpr std::uint64_t largest_magnitude = std::uint64_t{1} << 63;

// Longest first, so that the first match is the right one.
constexpr std::array<std::string_view, 34> symbols = {
    "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "**", "//", "+", "-", "*", "/", "%", "<", ">",
    "!",  "&",  "|",  "^",  "~",  "?",  ":",  "(",  ")",  "[",  "]", ",", "=", "{", "}", ".", ";"};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    std::vector<Token> tokens;
    while (true) {
      while (position_ < text_.size() && is_space(text_[position_]))
        ++position_;
      Token token;
      token.column = position_ + 1;
      start_ = position_;
      if (position_ == text_.size()) {
        tokens.push_back(std::move(token));
        return tokens;
      }
      LATHE_CHECK(lex(token));
      token.text = text_.substr(start_, position_ - start_);
      tokens.push_back(std::move(token));
    }
  }

private:
  Status lex(Token& token) {
    const char c = text_[position_];
    if (is_letter(c))
      return lex_name(token);
    if (is_digit(c) || (c == '.' && position_ + 1 < text_.size() && is_digit(text_[position_ + 1])))
      return lex_number(token);
    if (c == '"' || c == '\'')
      return lex_string(token);
    for (std::string_view symbol : symbols)
      if (text_.substr(position_).starts_with(symbol)) {
        token.kind = TokenKind::symbol;
        position_ += symbol.size();
        return Done{};
      }
    return error_at(text_, start_ + 1, "unexpected character " + quoted(text_.substr(position_, 1)));
  }

  Status lex_name(Token& token) {
    token.kind = TokenKind::name;
    while (true) {
      while (position_ < text_.size() && is_name_part(text_[position_]))
        ++position_;
      const bool dotted =
          position_ + 1 < text_.size() && text_[position_] == '.' && is_letter(text_[position_ + 1]);
      if (!dotted)
        return Done{};
      ++position_;
    }
  }

  Status lex_number(Token& token) {
    int base = 10;
    if (text_[position_] == '0' && position_ + 1 < text_.size()) {
      const char next = text_[position_ + 1];
      if (next == 'x' || next == 'X')
        base = 16;
      else if (next == 'b' || next == 'B')
        base = 2;
      else if (is_digit(next))
        return error_at(text_, start_ + 1, "a number may not start with 0 (write octal numbers in decimal)");
    }
    if (base != 10)
      position_ += 2;
    const char* first = text_.data() + position_;
    const char* last = text_.data() + text_.size();
    const auto integer = std::from_chars(first, last, token.integer, base);
    token.kind = TokenKind::integer;
    const char* end = integer.ptr;
    bool out_of_range = integer.ec == std::errc::result_out_of_range || token.integer > largest_magnitude;
    const bool real = base == 10 && (integer.ec == std::errc::invalid_argument ||
                                     (end != last && (*end == '.' || *end == 'e' || *end == 'E')));
    if (real) {
      token.kind = TokenKind::real;
      const auto parsed = std::from_chars(first, last, token.real);
      end = parsed.ptr;
      out_of_range = parsed.ec == std::errc::result_out_of_range;
    } else if (integer.ec == std::errc::invalid_argument) {
      return error_at(text_, start_ + 1, "expected digits after the prefix of a number");
    }
    position_ = static_cast<std::size_t>(end - text_.data());
    if (!real)
      while (position_ < text_.size() &&
             std::string_view("uUlL").find(text_[position_]) != std::string_view::npos)
        ++position_; // C's suffixes: every integer has 64 bits here
    if (out_of_range)
      return error_at(text_, start_ + 1,
                      "the number " + quoted(text_.substr(start_, position_ - start_)) +
                          " does not fit 64 bits");
    if (position_ < text_.size() && (is_name_part(text_[position_]) || text_[position_] == '.'))
      return error_at(text_, start_ + 1, "malformed number");
    return Done{};
  }

  Status lex_string(Token& token) {
    token.kind = TokenKind::string;
    const char quote = text_[position_++];
    while (position_ < text_.size() && text_[position_] != quote) {
      char c = text_[position_++];
      if (c == '\\') {
        if (position_ == text_.size())
          break;
        c = text_[position_++];
        if (c == 'n')
          c = '\n';
        else if (c == 't')
          c = '\t';
        else if (c != '\\' && c != '"' && c != '\'')
          return error_at(text_, position_, "unknown escape in a string");
      }
      token.string += c;
    }
    if (position_ == text_.size())
      return error_at(text_, start_ + 1, "the string has no closing quote");
    ++position_;
    return Done{};
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t start_ = 0;
};

} // namespace

Result<std::vector<Token>> tokenize(std::string_view text) {
  return Lexer(text).run();
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 160;
  std::string result = "\"";
  for (char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return result + (text.size() > longest ? "...\"" : "\"");
}

Error error_at(std::string_view text, std::size_t column, std::string why) {
  return usage_error("expression " + quoted(text),
                     "column " + std::to_string(column) + ": " + std::move(why));
}

} // namespace lathe::expression
