// A CUDA text as tokens, for mutations: what an edit needs to know without a parse.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor {

struct Token {
  enum class Kind { word, number, punctuation, other } kind = Kind::other;
  std::string text;
  std::size_t offset = 0, end = 0;
  int line = 0;
  int depth = 0;           // of braces: 0 outside every body
  std::size_t partner = 0; // of a bracket: the index of the other one; itself for everything else
};

// A statement of a body that ends in a semicolon: tokens [first, last], `last` being the semicolon.
struct Statement {
  std::size_t first = 0, last = 0;
};

class TokenText {
public:
  explicit TokenText(std::string_view text);
  const std::string& text() const { return text_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  const Token& operator[](std::size_t i) const { return tokens_[i]; }
  std::size_t size() const { return tokens_.size(); }
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].text == text;
  }
  // Between blanks, as formatted code writes a binary operator (and never a template's bracket).
  bool is_binary(std::size_t i) const;
  // The source of tokens [first, last].
  std::string source(std::size_t first, std::size_t last) const;
  // Statements of bodies, without those inside the headers of loops.
  const std::vector<Statement>& statements() const { return statements_; }

private:
  void find_statements();
  std::string text_;
  std::vector<Token> tokens_;
  std::vector<Statement> statements_;
};

} // namespace lathe::refactor
