#include "tuner/spec/instance.h"

namespace lathe::spec {
namespace {

// The first `mark` outside all brackets, of which < and > are some.
std::size_t find_outside(std::string_view text, char mark) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    const bool opens = letter == '(' || letter == '[' || letter == '{' || letter == '<';
    const bool closes = letter == ')' || letter == ']' || letter == '}' || letter == '>';
    depth += (opens ? 1 : 0) - (closes ? 1 : 0);
    // "ns::kernel": two colons are one word.
    const bool is_scope =
        letter == ':' && ((i + 1 < text.size() && text[i + 1] == ':') || (i > 0 && text[i - 1] == ':'));
    if (letter == mark && depth == 0 && !is_scope)
      return i;
  }
  return std::string_view::npos;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos)
    return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
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
