#include "refactor/rewrite/template_argument.h"
#include "tuner/base/text.h"

#include <optional>
#include <vector>

namespace lathe::refactor {
namespace {

// The position of the bracket that closes the one at `open`; npos where none does.
std::size_t closing(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' || text[i] == '{';
    depth -= text[i] == ')' || text[i] == ']' || text[i] == '}';
    if (depth == 0)
      return i;
  }
  return std::string::npos;
}

std::vector<std::string> arguments_of(const std::string& list) {
  std::vector<std::string> arguments(1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == ',') {
      arguments.emplace_back();
      continue;
    }
    const std::size_t end = list[i] == '(' ? closing(list, i) : i;
    if (end == std::string::npos)
      return {};
    arguments.back() += list.substr(i, end - i + 1);
    i = end;
  }
  for (std::string& argument : arguments) {
    argument.erase(0, argument.find_first_not_of(' '));
    argument.erase(argument.find_last_not_of(' ') + 1);
  }
  return arguments;
}

// min and max as choices, the innermost first.
std::string without_extrema(const std::string& text) {
  for (const std::string name : {"max", "min"})
    for (std::size_t at = text.find(name + "("); at != std::string::npos;
         at = text.find(name + "(", at + 1)) {
      std::size_t begin = at;
      if (begin >= 5 && text.compare(begin - 5, 5, "std::") == 0)
        begin -= 5;
      if (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == ':' || text[begin - 1] == '.'))
        continue;
      const std::size_t open = at + name.size(), close = closing(text, open);
      const auto arguments = close == std::string::npos
                                 ? std::vector<std::string>()
                                 : arguments_of(text.substr(open + 1, close - open - 1));
      if (arguments.size() != 2)
        continue;
      const std::string a = without_extrema(arguments[0]), b = without_extrema(arguments[1]);
      const std::string sign = name == "max" ? " > " : " < ";
      return text.substr(0, begin) + "((" + a + ")" + sign + "(" + b + ") ? (" + a + ") : (" + b + "))" +
             without_extrema(text.substr(close + 1));
    }
  return text;
}

bool compares_openly(const std::string& text) {
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '(';
    depth -= letter == ')';
    if (depth == 0 && (letter == '<' || letter == '>'))
      return true;
  }
  return false;
}

// What stands in the parentheses at `at`, which then lies behind them.
std::optional<std::string> group(const std::string& text, std::size_t& at) {
  if (at >= text.size() || text[at] != '(')
    return std::nullopt;
  const std::size_t close = closing(text, at);
  if (close == std::string::npos)
    return std::nullopt;
  const std::size_t open = at;
  at = close + 1;
  return text.substr(open + 1, close - open - 1);
}

bool skip(const std::string& text, std::size_t& at, const std::string& words) {
  if (text.compare(at, words.size(), words) != 0)
    return false;
  at += words.size();
  return true;
}

} // namespace

std::string to_template_argument(const std::string& expression) {
  const std::string text = without_extrema(expression);
  return compares_openly(text) ? "(" + text + ")" : text;
}

std::string fold_extrema(const std::string& argument) {
  for (std::size_t begin = argument.find("(("); begin != std::string::npos;
       begin = argument.find("((", begin + 1)) {
    std::size_t at = begin + 1;
    const auto left = group(argument, at);
    const bool is_max = left && skip(argument, at, " > ");
    if (!left || !(is_max || skip(argument, at, " < ")))
      continue;
    const auto right = group(argument, at);
    if (!right || !skip(argument, at, " ? ") || group(argument, at) != left || !skip(argument, at, " : ") ||
        group(argument, at) != right || at >= argument.size() || argument[at] != ')')
      continue;
    return argument.substr(0, begin) + (is_max ? "max(" : "min(") + fold_extrema(*left) + ", " +
           fold_extrema(*right) + ")" + fold_extrema(argument.substr(at + 1));
  }
  return argument;
}

} // namespace lathe::refactor
