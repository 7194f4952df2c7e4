#include "refactor/app/source_words.h"

#include "tuner/base/text.h"

#include <cctype>

namespace lathe::refactor {

std::vector<std::size_t> uses_of_word(const std::string& text, const std::string& word) {
  std::vector<std::size_t> uses;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) {
    const std::size_t behind = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (behind == text.size() || !is_word(text[behind])))
      uses.push_back(at);
  }
  return uses;
}

std::string called_before(const std::string& text, std::size_t end) {
  int depth = 0;
  for (; end > 0; --end) {
    depth += text[end] == ')' ? 1 : text[end] == '(' ? -1 : 0;
    if (depth == 0)
      break;
  }
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])))
    --end;
  std::size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1]))
    --begin;
  return text.substr(begin, end - begin);
}

} // namespace lathe::refactor
