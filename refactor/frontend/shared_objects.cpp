#include "refactor/frontend/shared_objects.h"

#include "tuner/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace lathe::refactor {
namespace {

constexpr std::string_view SHARED = "__shared__";

bool is_blank(char letter) {
  return std::isspace(static_cast<unsigned char>(letter)) != 0;
}

std::size_t start_of_word(const std::string& text, std::size_t end) {
  while (end > 0 && is_word(text[end - 1]))
    --end;
  return end;
}

// Where the statement around `at` says __shared__; npos where it does not.
std::size_t shared_before(const std::string& text, std::size_t at) {
  const std::size_t found = text.rfind(SHARED, at);
  if (found == std::string::npos)
    return found;
  const std::string between = text.substr(found, at - found);
  return between.find_first_of(";{}") == std::string::npos ? found : std::string::npos;
}

// `alignas(16)`, `__align__(16)` out of `type`: what is in their brackets, each as an alignas.
std::string take_alignments(std::string& type) {
  std::string taken;
  for (const std::string_view word : {"__align__", "alignas"})
    for (std::size_t begin; (begin = type.find(word)) != std::string::npos;) {
      const std::size_t open = type.find('(', begin);
      std::size_t close = open;
      int depth = 0;
      for (; close < type.size(); ++close) {
        depth += (type[close] == '(') - (type[close] == ')');
        if (depth == 0)
          break;
      }
      if (open == std::string::npos || close >= type.size())
        return taken;
      taken += fmt::format("alignas{} ", type.substr(open, close + 1 - open));
      type.erase(begin, close + 1 - begin);
    }
  return taken;
}

// One of the names that a declaration declares, with its array's brackets.
struct Declarator {
  std::string name, brackets;
};

// "name[2][N]"
std::optional<Declarator> read_declarator(const std::string& written) {
  const std::size_t open = std::min(written.find('['), written.size());
  const Declarator found{trimmed(written.substr(0, open)), trimmed(written.substr(open))};
  const bool is_name = !found.name.empty() && std::ranges::all_of(found.name, is_word);
  return is_name && (found.brackets.empty() || found.brackets.back() == ']') ? std::optional(found)
                                                                             : std::nullopt;
}

// "Pair<int, 4> a[2], b": what stands between the commas that are in no brackets.
std::vector<std::string> split(const std::string& declared) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char letter : declared) {
    depth +=
        (letter == '<' || letter == '(' || letter == '[') - (letter == '>' || letter == ')' || letter == ']');
    if (letter == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

std::string free_name(const std::string& text, std::string name) {
  while (text.find(name) != std::string::npos)
    name += "_";
  return name;
}

} // namespace

std::optional<SharedStorage> storage_of_shared_object(const std::string& text, std::size_t at) {
  const std::size_t shared = shared_before(text, at), end = text.find(';', at);
  if (shared == std::string::npos || end == std::string::npos)
    return std::nullopt;
  std::size_t begin = shared;
  // `static` may stand before it.
  std::size_t before = shared;
  while (before > 0 && is_blank(text[before - 1]))
    --before;
  if (const std::size_t word = start_of_word(text, before); text.substr(word, before - word) == "static")
    begin = word;
  const std::string declared = text.substr(shared + SHARED.size(), end - shared - SHARED.size());
  if (declared.find_first_of("={}*&/\\#\"") != std::string::npos)
    return std::nullopt;
  std::vector<std::string> parts = split(declared);
  // The first holds the type.
  const std::size_t brackets =
      std::min(parts.front().find('[', parts.front().rfind('>') + 1), parts.front().size());
  std::size_t name_end = brackets;
  while (name_end > 0 && is_blank(parts.front()[name_end - 1]))
    --name_end;
  const std::size_t name = start_of_word(parts.front(), name_end);
  std::string type = parts.front().substr(0, name);
  parts.front().erase(0, name);
  const std::string alignments = take_alignments(type);
  type = trimmed(type);
  if (type.empty() || type.find(SHARED) != std::string::npos || type.find("volatile") != std::string::npos)
    return std::nullopt;
  std::string made;
  for (const std::string& part : parts) {
    const auto declarator = read_declarator(part);
    if (!declarator)
      return std::nullopt;
    const std::string bytes = free_name(text, declarator->name + "_storage"),
                      object = declarator->brackets.empty()
                                   ? fmt::format("{}*", type)
                                   : fmt::format("{}(*){}", type, declarator->brackets);
    made += fmt::format("{}alignas({}) {}__shared__ unsigned char {}[sizeof({}{})]; auto& {} = "
                        "*reinterpret_cast<{}>({})",
                        made.empty() ? "" : "; ", type, alignments, bytes, type, declarator->brackets,
                        declarator->name, object, bytes);
  }
  const std::string replaced = text.substr(begin, end - begin);
  made.append(static_cast<std::size_t>(std::ranges::count(replaced, '\n')), '\n');
  return SharedStorage{begin, end - begin, made};
}

} // namespace lathe::refactor
