#include "tuner/emit/header_source.h"

#include <algorithm>
#include <cctype>

namespace lathe {
namespace {

// The directive's name and what follows it, or nothing: "#  include <a>" -> {"include", "<a>"}.
bool directive(std::string_view line, std::string_view& name, std::string_view& rest) {
  const auto skip_blanks = [&] {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t'))
      line.remove_prefix(1);
  };
  skip_blanks();
  if (line.empty() || line.front() != '#')
    return false;
  line.remove_prefix(1);
  skip_blanks();
  std::size_t length = 0;
  while (length < line.size() && std::isalpha(static_cast<unsigned char>(line[length])))
    ++length;
  name = line.substr(0, length);
  line.remove_prefix(length);
  skip_blanks();
  rest = line;
  return true;
}

// Whether a block comment is open after the line, given whether it was before.
bool comment_open_after(std::string_view line, bool open) {
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (!open && line.substr(i, 2) == "//")
      return false;
    if (line.substr(i, 2) == (open ? "*/" : "/*")) {
      open = !open;
      ++i;
    }
  }
  return open;
}

} // namespace

HeaderSource split_source(std::string_view text) {
  HeaderSource source;
  bool in_comment = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view name, rest;
    const bool is_directive = !in_comment && directive(line, name, rest);
    in_comment = comment_open_after(line, in_comment);
    if (is_directive && name == "include") {
      source.includes.emplace_back("#include " + std::string(rest));
      continue;
    }
    if (is_directive && name == "pragma" && rest.starts_with("once"))
      continue;
    if (is_directive && name == "define") {
      std::size_t length = 0;
      while (length < rest.size() &&
             (std::isalnum(static_cast<unsigned char>(rest[length])) || rest[length] == '_'))
        ++length;
      const std::string macro(rest.substr(0, length));
      if (std::find(source.macros.begin(), source.macros.end(), macro) == source.macros.end())
        source.macros.push_back(macro);
    }
    source.body.append(line);
    source.body += '\n';
  }
  return source;
}

} // namespace lathe
