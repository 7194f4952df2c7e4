#include "refactor/rewrite/spelled_macros.h"

#include "refactor/frontend/parsed_source.h"
#include "tuner/base/text.h"

#include <algorithm>

namespace lathe::refactor {

namespace {

bool concerns_rules(const MacroExpansion& expansion) {
  static const std::set<std::string> wanted{"threadIdx", "blockIdx", "blockDim", "gridDim", "for"};
  // An assertion about threads stays one: written out it would be as one C library has it.
  static const std::set<std::string> unwanted{"__attribute__", "asm",          "__asm__",
                                              "__asm",         "_Pragma",      "__assert_fail",
                                              "__assertfail",  "__assert_rtn", "__PRETTY_FUNCTION__"};
  const auto is_one_of = [&](const std::set<std::string>& words) {
    return std::ranges::any_of(expansion.tokens,
                               [&](const ExpandedToken& token) { return words.contains(token.text); });
  };
  return expansion.is_plain && is_one_of(wanted) && !is_one_of(unwanted);
}

// Whether two tokens side by side stay two: neither words nor operators that may join.
bool may_touch(const std::string& before, const std::string& after) {
  constexpr std::string_view apart = "()[]{},;";
  const auto is_name = [](const std::string& token) {
    return is_word(token[0]) && (token[0] < '0' || token[0] > '9');
  };
  const char left = before.back(), right = after.front();
  if (left == '.' || right == '.') // of a number, or behind one, it would be a part of it
    return left == '.' ? before.size() == 1 && is_name(after) : after.size() == 1 && is_name(before);
  return apart.find(left) != std::string_view::npos || apart.find(right) != std::string_view::npos ||
         is_word(left) != is_word(right);
}

std::string written_out(const MacroExpansion& expansion, const std::set<std::string>& kept) {
  std::string text, before;
  clang::SourceLocation last_kept; // the expansion whose name has been written
  for (const ExpandedToken& token : expansion.tokens) {
    // The outermost of the names that stay.
    const auto name = std::find_if(token.through.rbegin(), token.through.rend(),
                                   [&](const auto& macro) { return kept.contains(macro.first); });
    const bool is_kept = name != token.through.rend();
    if (is_kept && name->second == last_kept)
      continue;
    last_kept = is_kept ? name->second : clang::SourceLocation();
    const std::string& next = is_kept ? name->first : token.text;
    if (next.empty())
      continue;
    if (!before.empty() && (token.has_space || !may_touch(before, next)))
      text += ' ';
    text += next;
    before = next;
  }
  return text;
}

} // namespace

std::vector<Edit> spell_out_macros(ParsedSource& source, const KernelView& view,
                                   const std::set<std::string>& kept, std::vector<std::string>& spelled) {
  const clang::SourceManager& sources = view.context().getSourceManager();
  std::vector<TextRange> bodies;
  for (const clang::FunctionDecl* function : view.functions())
    if (const clang::Stmt* body = function->getBody(); body && view.in_main_file(body->getBeginLoc()) &&
                                                       !body->getBeginLoc().isMacroID() &&
                                                       !body->getEndLoc().isMacroID())
      bodies.push_back(
          {sources.getFileOffset(body->getBeginLoc()), sources.getFileOffset(body->getEndLoc())});
  std::vector<Edit> edits;
  for (const MacroExpansion& expansion : implementation(source).record().expansions) {
    const bool is_inside = std::ranges::any_of(bodies, [&](const TextRange& body) {
      return body.begin < expansion.begin && expansion.end <= body.end;
    });
    if (!is_inside || !concerns_rules(expansion))
      continue;
    edits.push_back({expansion.begin, expansion.end - expansion.begin, written_out(expansion, kept)});
    std::string name = view.file_text().substr(expansion.begin, expansion.end - expansion.begin);
    name.erase(std::ranges::find_if_not(name, is_word), name.end());
    if (std::ranges::find(spelled, name) == spelled.end())
      spelled.push_back(name);
  }
  return edits;
}

} // namespace lathe::refactor
