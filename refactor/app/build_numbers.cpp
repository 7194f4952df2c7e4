#include "refactor/app/build_numbers.h"

#include "refactor/app/files_near.h"
#include "tuner/base/files.h"

#include <cctype>
#include <optional>
#include <regex>

namespace lathe::refactor {
namespace {

constexpr const char* USUAL_NUMBER = "64";

// Whether a definition of a macro may begin there: behind -D, or in one of CMake's lists of definitions
// (`target_compile_definitions(k PRIVATE N=64)`, `list(APPEND DEFINITIONS N=64)`).
bool is_defined_at(const std::string& text, std::size_t at) {
  // All of these files have comments that begin so.
  const std::size_t line = text.find_last_of('\n', at), comment = text.find('#', line + 1); // npos + 1 is 0
  if (comment < at)
    return false;
  constexpr std::size_t LONGEST_LIST = 1000;
  const std::size_t before = text.find_last_not_of(" ", at - 1);
  if (before != std::string::npos && before > 0 && text.compare(before - 1, 2, "-D") == 0)
    return true;
  if (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_')
    return false; // the end of another name
  const std::size_t begin = text.find_last_of("()", at - 1);
  if (begin == std::string::npos || text[begin] != '(' || at - begin > LONGEST_LIST)
    return false;
  static const std::regex of_definitions(R"(_definitions\s*$|^\s*APPEND\b)");
  const std::size_t command = begin > 40 ? begin - 40 : 0;
  return std::regex_search(text.substr(command, begin - command), of_definitions) ||
         std::regex_search(text.substr(begin + 1, 20), of_definitions);
}

// What a file of a build gives the macro; nothing where it does not define it with a value.
std::optional<std::string> number_in(const std::string& text, const std::string& macro) {
  constexpr std::size_t LONGEST_VALUE = 200;
  // N=64, N={SIZE}, "N=%d" % SIZE, "N=" + str(SIZE), N=${SIZE}
  static const std::regex value(
      R"re(^=(?:(\d+|float\b|double\b)|\$?[{(](\w+)|%\w["']\s*%\s*\(?(\w+)|["']\s*\+\s*str\((\w+)))re");
  for (std::size_t at = text.find(macro + "=", 1); at != std::string::npos;
       at = text.find(macro + "=", at + 1)) {
    std::smatch match;
    const std::string behind = text.substr(at + macro.size(), LONGEST_VALUE);
    if (!is_defined_at(text, at) || !std::regex_search(behind, match, value))
      continue;
    if (match[1].matched)
      return match[1].str();
    const std::string variable = match[2].str() + match[3].str() + match[4].str();
    const std::regex given("\\b" + variable +
                           R"re(\s*(?::\s*int\s*)?(?:=|\s)\s*(?:IN ITEMS\s+)?(\d+|float|double)\b)re");
    std::smatch number;
    return std::regex_search(text, number, given) ? number[1].str() : USUAL_NUMBER;
  }
  return std::nullopt;
}

// The same of a header that the build writes from a pattern: `#define N @N@`, `#cmakedefine N`, `#undef N`.
std::optional<std::string> number_in_pattern(const std::string& text, const std::string& macro) {
  if (text.find(macro) == std::string::npos)
    return std::nullopt;
  const std::regex defined(R"re((?:^|\n)[ \t]*#[ \t]*(define|cmakedefine|cmakedefine01|undef)[ \t]+)re" +
                           macro + R"re((?:[ \t]+(\d+|@\w+@|\$\{\w+\}))?[ \t]*(?:\r|\n|$))re");
  std::smatch match;
  if (!std::regex_search(text, match, defined))
    return std::nullopt;
  if (!match[2].matched)
    return "1"; // a switch, which the build turns on where it can
  const std::string value = match[2].str();
  return value.find_first_not_of("0123456789") == std::string::npos ? value : USUAL_NUMBER;
}

} // namespace

std::vector<std::string> numbers_of_build(const std::filesystem::path& source,
                                          const std::vector<std::string>& unknown) {
  std::vector<std::string> defined, left = unknown;
  if (left.empty())
    return defined;
  for (const std::filesystem::path& file :
       files_near(source, {".py", ".txt", ".cmake", ".sh", ".mk", ".in", "Makefile", "makefile", "make."})) {
    const auto text = read_file(file);
    if (!text.ok())
      continue;
    std::erase_if(left, [&](const std::string& macro) {
      const auto number =
          file.extension() == ".in" ? number_in_pattern(*text, macro) : number_in(*text, macro);
      if (number)
        defined.push_back(macro + "=" + *number);
      return number.has_value();
    });
    if (left.empty())
      break;
  }
  return defined;
}

} // namespace lathe::refactor
