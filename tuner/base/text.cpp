#include "tuner/base/text.h"

#include <cctype>

namespace lathe {
namespace {

bool is_space(char letter) {
  return std::isspace(static_cast<unsigned char>(letter)) != 0;
}

} // namespace

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  return std::string(text);
}

std::vector<std::string> identifiers(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && is_word(text[end]))
      ++end;
    if (end > begin && std::isdigit(static_cast<unsigned char>(text[begin])) == 0)
      names.emplace_back(text.substr(begin, end - begin));
    begin = end + (end == begin ? 1 : 0);
  }
  return names;
}

} // namespace lathe
