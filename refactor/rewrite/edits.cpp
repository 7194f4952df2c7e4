#include "refactor/rewrite/edits.h"

#include <algorithm>

namespace lathe::refactor {

Result<std::string> apply_edits(const std::string& text, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
  std::string result;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.offset > text.size() || edit.length > text.size() - edit.offset)
      return Error{"edit of the kernel", "it reaches past the end of the text",
                   "report the rule that made it"};
    if (edit.offset < at)
      return Error{
          "edit of the kernel",
          "two edits overlap at line " +
              std::to_string(1 + std::count(text.begin(),
                                            text.begin() + static_cast<std::ptrdiff_t>(edit.offset), '\n')),
          "apply the rules one at a time"};
    result.append(text, at, edit.offset - at);
    result += edit.replacement;
    at = edit.offset + edit.length;
  }
  return result + text.substr(at);
}

InstanceName split_instance(const std::string& instance) {
  InstanceName result;
  const std::size_t open = instance.find('<');
  const std::size_t close = instance.rfind('>');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    result.name = instance;
    return result;
  }
  result.name = instance.substr(0, open);
  result.has_list = true;
  std::string argument;
  int depth = 0, parentheses = 0; // within parentheses, < and > compare
  const auto flush = [&] {
    const auto begin = argument.find_first_not_of(" \t\n");
    const auto end = argument.find_last_not_of(" \t\n");
    if (begin != std::string::npos)
      result.arguments.push_back(argument.substr(begin, end - begin + 1));
    argument.clear();
  };
  for (std::size_t i = open + 1; i < close; ++i) {
    const char c = instance[i];
    parentheses += c == '(';
    parentheses -= c == ')';
    depth += (c == '<' && parentheses == 0) || c == '[' || c == '{';
    depth -= (c == '>' && parentheses == 0) || c == ']' || c == '}';
    if (c == ',' && depth == 0 && parentheses == 0)
      flush();
    else
      argument += c;
  }
  flush();
  return result;
}

std::string InstanceName::text() const {
  if (!has_list)
    return name;
  std::string text = name + "<";
  for (std::size_t i = 0; i < arguments.size(); ++i)
    text += (i ? ", " : "") + arguments[i];
  return text + ">";
}

} // namespace lathe::refactor
