#include "refactor/extract/half_specialisations.h"

#include "tuner/base/text.h"

#include <fmt/format.h>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

std::string without_blanks(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\s+)"), "");
}

// The template arguments with CUDA's types in the place of PyTorch's.
std::string with_cuda_types(const std::string& arguments) {
  const std::string half =
      std::regex_replace(arguments, std::regex(R"((::)?\b(c10|at|torch)::Half\b)"), "__half");
  return std::regex_replace(half, std::regex(R"((::)?\b(c10|at|torch)::BFloat16\b)"), "__nv_bfloat16");
}

// Behind the `}` that closes the brace at `open`; npos where nothing does. Comments and literals are passed
// over.
std::size_t behind_brace(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text.compare(at, 2, "//") == 0) {
      at = text.find('\n', at);
    } else if (text.compare(at, 2, "/*") == 0) {
      at = text.find("*/", at + 2);
      at = at == std::string::npos ? at : at + 1;
    } else if (text[at] == '"' || (text[at] == '\'' && !is_word(text[at - 1]))) { // 1'000 is a number
      const char quote = text[at];
      for (++at; at < text.size() && text[at] != quote; ++at)
        at += text[at] == '\\';
    } else if (text[at] == '{') {
      ++depth;
    } else if (text[at] == '}' && --depth == 0) {
      return at + 1;
    }
    if (at == std::string::npos)
      break;
  }
  return std::string::npos;
}

} // namespace

std::string with_half_specialisations(const std::string& text) {
  // template <> struct NAME<ARGUMENTS> [final] [: BASES] {
  static const std::regex pattern(
      R"(template\s*<\s*>\s*(struct|class)\s+(\w+)\s*<([^<>{};]*)>\s*(final\s*)?(:[^{};]*)?\{)");
  std::set<std::string> known; // specialisations
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), none; found != none; ++found)
    known.insert(without_blanks((*found)[2].str() + "<" + (*found)[3].str() + ">"));
  std::string result;
  std::size_t copied = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), none; found != none; ++found) {
    const std::string name = (*found)[2], arguments = (*found)[3], own = with_cuda_types(arguments);
    const bool is_final = (*found)[4].matched;
    if (own == arguments || is_final || !known.insert(without_blanks(name + "<" + own + ">")).second)
      continue;
    const std::size_t open = static_cast<std::size_t>(found->position() + found->length()) - 1;
    const std::size_t end = text.find(';', behind_brace(text, open));
    if (end == std::string::npos)
      continue;
    result += text.substr(copied, end + 1 - copied);
    copied = end + 1;
    result += fmt::format("\ntemplate <> struct {0}<{1}> : {0}<{2}> {{}};", name, own, arguments);
  }
  return result + text.substr(copied);
}

} // namespace lathe::refactor
