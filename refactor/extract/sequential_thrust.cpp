#include "refactor/extract/sequential_thrust.h"

#include "tuner/base/files.h"

#include <algorithm>
#include <array>
#include <regex>
#include <vector>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr std::array<std::string_view, 21> SUPPLIED{
    "binary_search", "copy",        "count",       "device",         "exclusive_scan",
    "fill",          "find",        "for_each",    "inclusive_scan", "inner_product",
    "lower_bound",   "max_element", "min_element", "reduce",         "seq",
    "sort",          "sort_by_key", "stable_sort", "transform",      "transform_reduce",
    "upper_bound"};

// The outermost namespace: Thrust's own has inline ones within.
const NamespaceDecl* outermost_namespace(const NamedDecl& declaration) {
  const NamespaceDecl* found = nullptr;
  for (const DeclContext* at = declaration.getDeclContext(); at; at = at->getParent())
    if (const auto* space = dyn_cast<NamespaceDecl>(at))
      found = space;
  return found;
}

// Each with its last line break.
std::vector<std::string> paragraphs_of(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t blank = std::min(text.find("\n\n", begin), text.size() - 1);
    found.push_back(text.substr(begin, blank + 1 - begin));
    begin = blank + 2;
  }
  // The namespace and its policies are one.
  if (found.size() > 2) {
    found[0] += "\n" + found[1] + "\n" + found[2];
    found.erase(found.begin() + 1, found.begin() + 3);
  }
  return found;
}

// The name whose overloads the paragraph has.
std::string algorithm_of(const std::string& paragraph) {
  static const std::regex declared(R"((\w+)\(lathe_one_thread)");
  std::smatch match;
  return std::regex_search(paragraph, match, declared) ? match[1].str() : "";
}

} // namespace

bool is_sequential_thrust(const NamedDecl& declaration) {
  if (!declaration.getIdentifier() || declaration.getDeclContext()->isRecord())
    return false;
  const NamespaceDecl* space = outermost_namespace(declaration);
  return space && space->getName() == "thrust" &&
         std::ranges::find(SUPPLIED, std::string_view(declaration.getName())) != SUPPLIED.end();
}

Result<std::string> sequential_thrust_text(const std::set<std::string>& names) {
  LATHE_TRY(const std::filesystem::path file,
            shipped_file(std::filesystem::path("frontend") / SEQUENTIAL_THRUST));
  LATHE_TRY(const std::string text, read_file(file));
  std::vector<std::string> paragraphs = paragraphs_of(text);
  std::vector<bool> is_kept(paragraphs.size(), false);
  // The first opens the namespace and has the policies, the last closes it.
  is_kept.front() = is_kept.back() = true;
  std::set<std::string> wanted = names;
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t i = 0; i < paragraphs.size(); ++i) {
      if (is_kept[i] || !wanted.contains(algorithm_of(paragraphs[i])))
        continue;
      is_kept[i] = grows = true;
      static const std::regex called(R"(\bthrust::(\w+)\()");
      for (std::sregex_iterator at(paragraphs[i].begin(), paragraphs[i].end(), called), none; at != none;
           ++at)
        wanted.insert((*at)[1].str());
    }
  }
  std::string kept;
  for (std::size_t i = 0; i < paragraphs.size(); ++i)
    if (is_kept[i])
      kept += (kept.empty() ? "" : "\n") + paragraphs[i];
  return kept;
}

} // namespace lathe::refactor
