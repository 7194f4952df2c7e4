// Recursive descent over the tokens of an expression.
#pragma once

#include "tuner/expression/expression_tree.h"
#include "tuner/expression/lexer.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::expression {

// "math.ceil" and "np.prod" mean ceil and prod.
std::string_view without_module(std::string_view function);

class Parser {
public:
  Parser(std::string_view text, std::vector<Token> tokens, Dialect dialect)
      : text_(text), tokens_(std::move(tokens)), dialect_(dialect) {}

  // A whole text: an expression, or in Python's dialect a lambda, of which the body counts.
  Result<ExpressionNode> whole();
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
  void advance() {
    position_ += at_end() ? 0 : 1;
    ++steps_;
  }
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
  Result<ExpressionNode> call(std::string_view word);

  // A member of a list, which is there only where the condition holds.
  struct Item {
    ExpressionNode value;
    std::optional<ExpressionNode> condition;
  };
  using Items = std::vector<Item>;
  // What the test of a membership or of None came to: a boolean, or a list for an ordinary `in`.
  Result<ExpressionNode> membership(const ExpressionNode& left, bool wanted);
  Result<ExpressionNode> range_membership(const ExpressionNode& left);
  Result<ExpressionNode> list_equality(const ExpressionNode& left, const ExpressionNode& right, bool wanted);
  Result<ExpressionNode> equal_items(const ExpressionNode& left, const ExpressionNode& right);
  bool is_symbol_at(std::size_t place, std::string_view symbol) const {
    return place < tokens_.size() && tokens_[place].kind == TokenKind::symbol &&
           tokens_[place].text == symbol;
  }
  bool is_list_at(std::size_t place) const;
  bool is_tuple_at(std::size_t place) const;
  bool is_set_at(std::size_t place) const;
  // Where a word or symbol stands on the bracket level of `from`, before it closes.
  std::optional<std::size_t> find_on_level(std::size_t from, std::string_view word) const;
  Result<ExpressionNode> list_value();
  Result<Items> items();
  Result<Items> repeated_items();
  Result<Items> items_operand();
  Result<Items> display(std::string_view close);
  Result<Items> comprehension(std::string_view close);
  Status clauses(std::size_t element, std::string_view close, const std::optional<ExpressionNode>& condition,
                 Items& out);
  Status bind(const std::vector<std::string>& variables, const ExpressionNode& value);
  void skip_to_close();
  Result<Items> range();
  Result<std::vector<ExpressionNode>> range_arguments();
  std::optional<std::string_view> aggregate_here() const;
  Result<ExpressionNode> aggregate(std::string_view function);
  Result<ExpressionNode> aggregated(std::string_view function, Items items, std::size_t start);
  Result<ExpressionNode> fold(Operation operation, std::int64_t neutral, const Items& items);
  Result<Items> distinct(Items items);
  Status within_limits() const;

  Result<ExpressionNode> lambda();
  Result<ExpressionNode> subscript(std::string_view word);
  Result<ExpressionNode> named(std::string_view word);
  Result<ExpressionNode> bound(const ExpressionNode& value);

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
  std::size_t steps_ = 0; // tokens read, again and again in comprehensions, and nodes copied
  std::vector<std::string> names_;
  // What the variables of the comprehensions around this place stand for.
  std::map<std::string, ExpressionNode, std::less<>> bindings_;
  std::string record_; // a lambda's only parameter: record["name"] and record.name are names
};

} // namespace lathe::expression
