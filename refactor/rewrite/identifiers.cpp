#include "refactor/rewrite/identifiers.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>

namespace lathe::refactor {

using namespace clang;

std::vector<Identifier> identifiers(const std::string& text) {
  LangOptions language;
  language.CPlusPlus = language.CPlusPlus17 = true;
  Lexer lexer(SourceLocation(), language, text.data(), text.data(), text.data() + text.size());
  std::vector<Identifier> found;
  bool is_member = false;
  for (Token token; !lexer.LexFromRawLexer(token) || token.isNot(tok::eof);) {
    if (token.is(tok::raw_identifier) && !is_member)
      found.push_back({static_cast<std::size_t>(token.getRawIdentifier().data() - text.data()),
                       token.getRawIdentifier().str()});
    is_member = token.isOneOf(tok::period, tok::arrow, tok::coloncolon);
  }
  return found;
}

std::set<std::string> identifier_names(const std::string& text) {
  std::set<std::string> names;
  for (const Identifier& identifier : identifiers(text))
    names.insert(identifier.name);
  return names;
}

std::string rename_identifiers(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string renamed;
  std::size_t copied = 0;
  for (const Identifier& identifier : identifiers(text)) {
    const auto found = names.find(identifier.name);
    if (found == names.end())
      continue;
    renamed += text.substr(copied, identifier.offset - copied) + found->second;
    copied = identifier.offset + identifier.name.size();
  }
  return renamed + text.substr(copied);
}

} // namespace lathe::refactor
