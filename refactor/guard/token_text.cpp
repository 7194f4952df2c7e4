#include "refactor/guard/token_text.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

namespace lathe::refactor {

TokenText::TokenText(std::string_view text) : text_(text) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus14 = language.CPlusPlus17 = true;
  const char* begin = text_.c_str();
  clang::Lexer lexer(clang::SourceLocation(), language, begin, begin, begin + text_.size());
  clang::Token token;
  bool directive = false;
  int depth = 0;
  std::vector<std::size_t> open;
  for (bool done = false; !done;) {
    done = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof))
      break;
    if (token.isAtStartOfLine())
      directive = token.is(clang::tok::hash);
    if (directive)
      continue;
    Token own;
    own.end = static_cast<std::size_t>(lexer.getBufferLocation() - begin);
    own.offset = own.end - token.getLength();
    own.text = text_.substr(own.offset, token.getLength());
    own.line = 1 + static_cast<int>(std::count(begin, begin + own.offset, '\n'));
    own.kind = token.is(clang::tok::raw_identifier)     ? Token::Kind::word
               : token.is(clang::tok::numeric_constant) ? Token::Kind::number
               : token.isLiteral()                      ? Token::Kind::other
                                                        : Token::Kind::punctuation;
    if (own.text == "}")
      --depth;
    own.depth = depth;
    if (own.text == "{")
      ++depth;
    own.partner = tokens_.size();
    if (own.text == "(" || own.text == "[" || own.text == "{") {
      open.push_back(tokens_.size());
    } else if ((own.text == ")" || own.text == "]" || own.text == "}") && !open.empty()) {
      own.partner = open.back();
      tokens_[open.back()].partner = tokens_.size();
      open.pop_back();
    }
    tokens_.push_back(std::move(own));
  }
  find_statements();
}

bool TokenText::is_binary(std::size_t i) const {
  const Token& token = tokens_[i];
  return token.offset > 0 && token.end < text_.size() && text_[token.offset - 1] == ' ' &&
         text_[token.end] == ' ';
}

std::string TokenText::source(std::size_t first, std::size_t last) const {
  return text_.substr(tokens_[first].offset, tokens_[last].end - tokens_[first].offset);
}

void TokenText::find_statements() {
  std::size_t start = 0;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& text = tokens_[i].text;
    if (text == "{" || text == "}" || text == "else" || text == "do") {
      start = i + 1;
    } else if ((text == "if" || text == "for" || text == "while" || text == "switch") &&
               i + 1 < tokens_.size()) {
      const std::size_t header = i + 1 + (tokens_[i + 1].text == "constexpr");
      if (header < tokens_.size() && tokens_[header].text == "(")
        i = tokens_[header].partner;
      start = i + 1;
    } else if (text == ";") {
      if (start < i && tokens_[i].depth > 0)
        statements_.push_back({start, i});
      start = i + 1;
    }
  }
}

} // namespace lathe::refactor
