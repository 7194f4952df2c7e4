#include "tuner/measure/host_executor/lane_masks.h"

#include <algorithm>
#include <array>

namespace lathe::host {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

bool is_of_a_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

// Behind blanks; the text's end where there is nothing else.
std::size_t next(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at]))
    ++at;
  return at;
}

// Behind a plain `1` at `at`; 0 where there is another number or none.
std::size_t behind_one(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] == '1' && (at + 1 == text.size() || !is_of_a_word(text[at + 1]))
             ? at + 1
             : 0;
}

// The bracket that closes the one that is open at `at`; 0 where a statement ends before.
std::size_t closing(std::string_view text, std::size_t at) {
  int depth = 1;
  for (; at < text.size() && text[at] != ';' && text[at] != '"' && text[at] != '\''; ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0)
      return at;
  }
  return 0;
}

} // namespace

std::optional<LaneMask> lane_mask_at(std::string_view text, std::size_t begin, std::string_view previous) {
  constexpr std::array<std::string_view, 10> LOOSER{"(", "=", ",", "&", "|", "^", "return", "{", ";", "}"};
  constexpr std::string_view LOOSER_BEHIND = ");,&|^}?:";
  if (std::ranges::find(LOOSER, previous) == LOOSER.end() || begin >= text.size() || text[begin] != '(')
    return std::nullopt;
  LaneMask mask;
  mask.begin = begin;
  mask.shift = behind_one(text, next(text, begin + 1));
  const std::size_t operation = next(text, mask.shift);
  if (mask.shift == 0 || text.substr(operation, 2) != "<<" || text.substr(operation, 3) == "<<<" ||
      text.substr(operation, 3) == "<<=")
    return std::nullopt;
  const std::size_t close = closing(text, operation);
  mask.minus = close == 0 ? text.size() : next(text, close + 1);
  if (mask.minus >= text.size() || text[mask.minus] != '-')
    return std::nullopt;
  mask.end = behind_one(text, next(text, mask.minus + 1));
  const std::size_t behind = next(text, mask.end);
  // A comma within the brackets is no shift alone; what the shift is by may be anything else.
  if (mask.end == 0 || behind >= text.size() || LOOSER_BEHIND.find(text[behind]) == std::string_view::npos)
    return std::nullopt;
  // `(1 << a == b) - 1`: the brackets hold more than a shift.
  int depth = 0;
  for (std::size_t i = operation + 2; i < close; ++i) {
    depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
    if (depth == 0 && std::string_view("<>=!&|^?,").find(text[i]) != std::string_view::npos)
      return std::nullopt;
  }
  return mask;
}

} // namespace lathe::host
