#include "refactor/app/build_numbers.h"

#include "refactor/app/files_near.h"
#include "tuner/base/files.h"

#include <optional>
#include <regex>

namespace lathe::refactor {
namespace {

constexpr const char* USUAL_NUMBER = "64";

// What a file of a build gives the macro; nothing where it does not define it with a value.
std::optional<std::string> number_in(const std::string& text, const std::string& macro) {
  if (text.find("-D") == std::string::npos || text.find(macro) == std::string::npos)
    return std::nullopt;
  // -DN=64, -DN={SIZE}, "-DN=%d" % SIZE, "-DN=" + str(SIZE), -DN=${SIZE}
  const std::regex defined("-D\\s*" + macro +
                           R"re(=(?:(\d+)|\$?[{(](\w+)|%\w["']\s*%\s*\(?(\w+)|["']\s*\+\s*str\((\w+)))re");
  std::smatch match;
  if (!std::regex_search(text, match, defined))
    return std::nullopt;
  if (match[1].matched)
    return match[1].str();
  const std::string variable = match[2].str() + match[3].str() + match[4].str();
  const std::regex given("\\b" + variable + R"re(\s*(?::\s*int\s*)?(?:=|\s)\s*(\d+)\b)re");
  return std::regex_search(text, match, given) ? match[1].str() : USUAL_NUMBER;
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
       files_near(source, {".py", ".txt", ".cmake", ".sh", ".mk", ".in"})) {
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
