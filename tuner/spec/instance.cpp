#include "tuner/spec/instance.h"
#include "tuner/base/text.h"

#include <map>
#include <string>

namespace lathe::spec {
namespace {

// The first `mark` outside all brackets, of which < and > are some where they are no comparison: inside
// parentheses, > closes nothing but a < of the same parentheses.
std::size_t find_outside(std::string_view text, char mark) {
  static const std::map<char, char> opening{{')', '('}, {']', '['}, {'}', '{'}};
  std::string open; // the brackets around this place, the innermost last
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    // "ns::kernel": two colons are one word.
    const bool is_scope =
        letter == ':' && ((i + 1 < text.size() && text[i + 1] == ':') || (i > 0 && text[i - 1] == ':'));
    if (letter == mark && open.empty() && !is_scope)
      return i;
    if (letter == '(' || letter == '[' || letter == '{' || letter == '<')
      open.push_back(letter);
    else if (letter == '>' && open.ends_with('<'))
      open.pop_back();
    else if (const auto pair = opening.find(letter); pair != opening.end())
      open.resize(open.find_last_of(pair->second) == std::string::npos ? 0 : open.find_last_of(pair->second));
  }
  return std::string_view::npos;
}

} // namespace

Result<std::vector<InstanceCase>> instance_cases(std::string_view text) {
  std::vector<InstanceCase> cases;
  for (std::size_t question; (question = find_outside(text, '?')) != std::string_view::npos;) {
    const std::string_view rest = text.substr(question + 1);
    const std::size_t colon = find_outside(rest, ':');
    if (colon == std::string_view::npos)
      return Error{"instance \"" + std::string(text) + "\"", "a choice has no second kernel",
                   "write CONDITION ? INSTANCE : INSTANCE"};
    LATHE_TRY(Expression when, Expression::parse(trimmed(text.substr(0, question))));
    cases.push_back({std::move(when), trimmed(rest.substr(0, colon))});
    text = rest.substr(colon + 1);
  }
  cases.push_back({std::nullopt, trimmed(text)});
  return cases;
}

} // namespace lathe::spec
