// Recursive descent over the tokens of an expression.
#pragma once

#include "tuner/expression/expression_tree.h"
#include "tuner/expression/lexer.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::expression {

class Parser {
public:
  Parser(std::string_view text, std::vector<Token> tokens, Dialect dialect)
      : text_(text), tokens_(std::move(tokens)), dialect_(dialect) {}

  // One expression; stops at the first token that cannot continue it.
  Result<ExpressionNode> expression();
  // The same without Python's `a if b else c`, as in a comprehension's condition.
  Result<ExpressionNode> disjunction();
  // One operand of + and *: a value with its sign.
  Result<ExpressionNode> unary();

  const Token& token() const { return tokens_[position_]; }
  const Token& next_token() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  bool at_end() const { return token().kind == TokenKind::end; }
  bool at_symbol(std::string_view symbol) const {
    return token().kind == TokenKind::symbol && token().text == symbol;
  }
  bool at_word(std::string_view word) const {
    return token().kind == TokenKind::name && token().text == word;
  }
  bool accept_symbol(std::string_view symbol);
  bool accept_word(std::string_view word);
  Status expect_symbol(std::string_view symbol, std::string_view why);
  void advance() { position_ += at_end() ? 0 : 1; }
  // "expected <what>, found <the current token>".
  Error expected(std::string_view what) const;
  Error error(std::string why) const { return error_at(text_, token().column, std::move(why)); }

  std::vector<std::string>& names() { return names_; }

private:
  struct BinaryOperator {
    std::string_view symbol;
    Operation operation;
  };
  using Level = Result<ExpressionNode> (Parser::*)();

  Result<ExpressionNode> conjunction();
  Result<ExpressionNode> inversion();
  Result<ExpressionNode> c_bits();
  Result<ExpressionNode> c_bit_xor();
  Result<ExpressionNode> c_bit_and();
  Result<ExpressionNode> equality();
  Result<ExpressionNode> relation();
  Result<ExpressionNode> python_comparison();
  Result<ExpressionNode> python_bits();
  Result<ExpressionNode> python_bit_xor();
  Result<ExpressionNode> python_bit_and();
  Result<ExpressionNode> shift();
  Result<ExpressionNode> sum();
  Result<ExpressionNode> term();
  Result<ExpressionNode> power();
  Result<ExpressionNode> primary();
  Result<ExpressionNode> name();
  Result<ExpressionNode> list();

  Result<ExpressionNode> binary(Level operand, std::initializer_list<BinaryOperator> operators);
  Result<ExpressionNode> comparison(Level operand, bool relational, bool equal);
  Result<ExpressionNode> logical(Level operand, std::string_view symbol, std::string_view word,
                                 Operation operation);
  Result<ExpressionNode> make(Operation operation, std::vector<ExpressionNode> children) const;
  bool is_keyword(std::string_view word) const;

  std::string_view text_;
  std::vector<Token> tokens_;
  Dialect dialect_;
  std::size_t position_ = 0;
  std::size_t nesting_ = 0;
  std::vector<std::string> names_;
};

} // namespace lathe::expression
