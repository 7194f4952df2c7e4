#include "tuner/emit/template_text.h"
#include "tuner/base/text.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace lathe {
namespace {

// The text with comments, literals and directives blanked out: same length, same line ends.
std::string code_only(std::string_view text) {
  std::string code(text);
  bool line_start = true; // nothing but blanks since the line began
  const auto blank = [&](std::size_t& i, std::size_t end) {
    for (; i < std::min(end, code.size()); ++i)
      if (code[i] != '\n')
        code[i] = ' ';
  };
  for (std::size_t i = 0; i < code.size();) {
    const char letter = code[i];
    if (text.substr(i, 2) == "//") {
      blank(i, text.find('\n', i));
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      blank(i, end == std::string_view::npos ? end : end + 2);
    } else if (letter == '#' && line_start) {
      std::size_t end = text.find('\n', i);
      while (end != std::string_view::npos && end > 0 && text[end - 1] == '\\')
        end = text.find('\n', end + 1);
      blank(i, end);
    } else if (letter == '"' || (letter == '\'' && (i == 0 || !is_word(text[i - 1])))) {
      std::size_t end = i + 1; // a quote after a digit separates digits
      while (end < text.size() && text[end] != letter)
        end += text[end] == '\\' ? 2 : 1;
      blank(i, end + 1);
      line_start = false;
    } else {
      line_start = letter == '\n' || (line_start && std::isspace(static_cast<unsigned char>(letter)));
      ++i;
    }
  }
  return code;
}

struct TemplateHead {
  std::size_t begin = 0, end = 0;                              // "template <...>"
  std::vector<std::pair<std::size_t, std::size_t>> parameters; // half-open
};

// Reads "template <...>" at `begin`; nothing where there is none.
std::optional<TemplateHead> read_head(const std::string& code, std::size_t begin) {
  constexpr std::size_t keyword = 8; // "template"
  std::size_t i = begin + keyword;
  while (i < code.size() && std::isspace(static_cast<unsigned char>(code[i])))
    ++i;
  if (i >= code.size() || code[i] != '<')
    return std::nullopt;
  TemplateHead head{begin, 0, {}};
  std::size_t from = ++i;
  int angles = 1, brackets = 0;
  for (; i < code.size(); ++i) {
    const char letter = code[i];
    if (letter == '(' || letter == '[' || letter == '{')
      ++brackets;
    else if (letter == ')' || letter == ']' || letter == '}')
      --brackets;
    else if (letter == '<' && brackets == 0)
      ++angles;
    else if (letter == '>' && brackets == 0)
      --angles;
    const bool closes = angles == 0;
    if (closes || (letter == ',' && angles == 1 && brackets == 0)) {
      head.parameters.emplace_back(from, i);
      from = i + 1;
    }
    if (closes) {
      head.end = i + 1;
      return head;
    }
  }
  return std::nullopt;
}

// Whether the declaration behind the head is a __global__ function of that name.
bool declares(const std::string& code, std::size_t from, std::string_view kernel) {
  const std::string declaration = code.substr(from, code.find_first_of(";{", from) - from);
  if (declaration.find("__global__") == std::string::npos)
    return false;
  for (std::size_t at = declaration.find(kernel); at != std::string::npos;
       at = declaration.find(kernel, at + 1)) {
    const std::size_t after = declaration.find_first_not_of(" \t\n", at + kernel.size());
    if ((at == 0 || !is_word(declaration[at - 1])) && after != std::string::npos && declaration[after] == '(')
      return true;
  }
  return false;
}

// "unsigned BLOCK = 256" as "unsigned BLOCK".
std::string without_default(const std::string& parameter) {
  return trimmed(parameter.substr(0, parameter.find('=')));
}

} // namespace

Result<std::string> fix_template_parameters(std::string_view text, std::string_view kernel,
                                            const std::map<std::size_t, std::string>& values) {
  const std::string code = code_only(text);
  std::string result;
  std::size_t copied = 0;
  bool found = false;
  for (std::size_t at = code.find("template"); at != std::string::npos; at = code.find("template", at + 1)) {
    if (at < copied) // within the parameters of the one before
      continue;
    if ((at > 0 && is_word(code[at - 1])) || is_word(code[std::min(at + 8, code.size() - 1)]))
      continue;
    const auto head = read_head(code, at);
    if (!head || !declares(code, head->end, kernel))
      continue;
    if (!values.empty() && values.rbegin()->first >= head->parameters.size())
      return Error{"cannot fix the constants of " + std::string(kernel),
                   "its template has fewer parameters than the instance has arguments", ""};
    std::string constants, kept;
    for (std::size_t p = 0; p < head->parameters.size(); ++p) {
      const auto [begin, end] = head->parameters[p];
      const auto value = values.find(p);
      if (value != values.end())
        constants +=
            "constexpr " + without_default(code.substr(begin, end - begin)) + " = " + value->second + ";\n";
      else
        kept += (kept.empty() ? "" : ", ") + trimmed(std::string(text.substr(begin, end - begin)));
    }
    result += text.substr(copied, head->begin - copied);
    if (!found)
      result += constants;
    if (!kept.empty())
      result += "template <" + kept + ">";
    copied = head->end;
    if (kept.empty())
      while (copied < text.size() && std::isspace(static_cast<unsigned char>(text[copied])))
        ++copied;
    found = true;
  }
  if (!found)
    return Error{"cannot fix the constants of " + std::string(kernel),
                 "its text holds no template of a __global__ function of that name", ""};
  result += text.substr(copied);
  return result;
}

} // namespace lathe
