#include "refactor/guard/architectures.h"

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

namespace lathe::refactor {
namespace {

constexpr const char* NAME = "__CUDA_ARCH__";
// That CUDA 13 compiles for, times ten.
constexpr int ARCHITECTURES[] = {750, 800, 860, 890, 900, 1000, 1030, 1200};

// The directives of a text and its other lines, without blanks at their ends; spliced lines are one.
std::vector<std::string> lines_of(std::string_view text) {
  const std::string joined = std::regex_replace(std::string(text), std::regex(R"(\\[ \t]*\n)"), " ");
  static const std::regex blanks(R"(\s+)");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < joined.size();) {
    const std::size_t end = std::min(joined.find('\n', at), joined.size());
    std::string line = std::regex_replace(joined.substr(at, end - at), blanks, " ");
    line.erase(0, line.find_first_not_of(' '));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty())
      lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

bool is_directive(const std::string& line, std::string_view name) {
  static const std::regex form(R"(^# ?(\w+).*$)");
  std::smatch match;
  return std::regex_match(line, match, form) && match[1].str().starts_with(name);
}

// Each whole group of a condition that names the architecture, from its #if to its #endif.
std::set<std::string> forks_of(std::string_view text) {
  struct Open {
    std::string text;
    bool asks = false;
  };
  std::vector<Open> open;
  std::set<std::string> forks;
  for (const std::string& line : lines_of(text)) {
    if (is_directive(line, "if"))
      open.emplace_back();
    if (!open.empty() && (is_directive(line, "if") || is_directive(line, "elif")))
      open.back().asks |= line.find(NAME) != std::string::npos;
    for (Open& group : open)
      group.text += line + "\n";
    if (!open.empty() && is_directive(line, "endif")) {
      if (open.back().asks)
        forks.insert(std::move(open.back().text));
      open.pop_back();
    }
  }
  return forks;
}

// Numbers that the architecture is compared with.
std::set<int> thresholds(const std::set<std::string>& forks) {
  static const std::regex behind(std::string(NAME) + R"(\s*\)?\s*[<>=!]=?\s*(\d{3,4}))"),
      before(std::string(R"((\d{3,4})\s*[<>=!]=?\s*\(?\s*)") + NAME);
  std::set<int> numbers;
  for (const std::string& fork : forks)
    for (const std::regex* form : {&behind, &before})
      for (std::sregex_iterator at(fork.begin(), fork.end(), *form), end; at != end; ++at)
        numbers.insert(std::stoi((*at)[1]));
  return numbers;
}

} // namespace

std::vector<int> other_architectures(std::string_view raw, std::string_view templated) {
  const std::set<std::string> of_raw = forks_of(raw), of_template = forks_of(templated);
  if (std::ranges::includes(of_raw, of_template))
    return {};
  std::set<std::string> all = of_raw;
  all.insert(of_template.begin(), of_template.end());
  const std::set<int> numbers = thresholds(all);
  // How an architecture lies to each number: below, at, above.
  const auto signs = [&](int architecture) {
    std::vector<int> found;
    for (const int number : numbers)
      found.push_back(architecture < number ? -1 : architecture > number);
    return found;
  };
  std::set<std::vector<int>> seen{signs(HOST_ARCHITECTURE)};
  std::vector<int> others;
  for (const int architecture : ARCHITECTURES)
    if (seen.insert(signs(architecture)).second)
      others.push_back(architecture);
  return others;
}

} // namespace lathe::refactor
