#include "refactor/llm/answer_text.h"

#include <algorithm>

namespace lathe::refactor::llm {
namespace {

// Length of the well-formed UTF-8 sequence at `at` (Unicode 15, table 3-7), or 0.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto follows = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const unsigned first = byte(0);
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first <= 0xDF)
    return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second =
        byte(1) >= (first == 0xE0 ? 0xA0u : 0x80u) && byte(1) <= (first == 0xED ? 0x9Fu : 0xBFu);
    return second && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second =
        byte(1) >= (first == 0xF0 ? 0x90u : 0x80u) && byte(1) <= (first == 0xF4 ? 0x8Fu : 0xBFu);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\n' && c != '\t') || code == 0x7F;
}

} // namespace

Result<std::string> accepted_text(std::string text, const std::string& who) {
  const std::string what = "the answer of " + who + " is refused";
  if (text.size() > ANSWER_LIMIT)
    return Error{what, "it is longer than 1 MiB", ""};
  std::erase(text, '\r');
  if (text.find_first_not_of(" \t\n") == std::string::npos)
    return Error{what, "it is empty", ""};
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0)
      return Error{what, "it is no UTF-8 text", ""};
    if (is_control(text[i]))
      return Error{what, "it holds control characters", ""};
    i += length;
  }
  return text;
}

std::string excerpt(std::string_view text, std::size_t limit) {
  std::string line(text.substr(0, limit));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return is_control(c) || c == '\n' || c == '\t'; }, ' ');
  // Not in the middle of a character.
  while (!line.empty() && line.size() == limit && (static_cast<unsigned char>(line.back()) & 0x80u))
    line.pop_back();
  return text.size() > limit ? line + " ..." : line;
}

} // namespace lathe::refactor::llm
