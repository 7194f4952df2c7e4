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

} // namespace lathe
