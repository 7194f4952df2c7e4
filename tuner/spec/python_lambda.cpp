#include "tuner/spec/python_lambda.h"

#include "tuner/expression/lexer.h"

#include <algorithm>

namespace lathe::spec {
namespace {

using expression::Token;
using expression::TokenKind;

bool is_symbol(const std::vector<Token>& tokens, std::size_t place, std::string_view symbol) {
  return place < tokens.size() && tokens[place].kind == TokenKind::symbol && tokens[place].text == symbol;
}

// The parameters of a lambda; none where there is something else.
std::vector<std::string_view> parameters_of(const std::vector<Token>& tokens) {
  std::vector<std::string_view> names;
  if (tokens[0].kind != TokenKind::name || tokens[0].text != "lambda")
    return names;
  for (std::size_t i = 1; i + 1 < tokens.size() && tokens[i].kind == TokenKind::name; i += 2) {
    names.push_back(tokens[i].text);
    if (is_symbol(tokens, i + 1, ":"))
      return names;
    if (!is_symbol(tokens, i + 1, ","))
      break;
  }
  return {};
}

} // namespace

std::string with_knob_names(std::string_view text, const std::vector<std::string>& listed,
                            const std::vector<std::string>& knobs) {
  const std::string unchanged(text);
  const auto read = expression::tokenize(text);
  if (!read.ok() || listed.empty())
    return unchanged;
  const std::vector<Token>& tokens = *read;
  const std::vector<std::string_view> parameters = parameters_of(tokens);
  const auto is_knob = [&](std::string_view name) {
    return std::find(knobs.begin(), knobs.end(), name) != knobs.end();
  };
  if (parameters.empty() || std::all_of(parameters.begin(), parameters.end(), is_knob))
    return unchanged;
  const bool has_members = std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
    return token.kind == TokenKind::name && token.text.size() > parameters[0].size() &&
           token.text.starts_with(parameters[0]) && token.text[parameters[0].size()] == '.';
  });
  std::string renamed;
  std::size_t copied = 0;
  const auto replace = [&](const Token& first, const Token& last, const std::string& name) {
    renamed += text.substr(copied, first.column - 1 - copied);
    renamed += name;
    copied = last.column - 1 + last.text.size();
  };
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != TokenKind::name)
      continue;
    const auto found = std::find(parameters.begin(), parameters.end(), tokens[i].text);
    if (found == parameters.end())
      continue;
    const auto place = static_cast<std::size_t>(found - parameters.begin());
    const bool is_member = parameters.size() == 1 && is_symbol(tokens, i + 1, "[") &&
                           is_symbol(tokens, i + 3, "]") && tokens[i + 2].kind == TokenKind::integer;
    if (is_member && tokens[i + 2].integer < listed.size())
      replace(tokens[i], tokens[i + 3], listed[tokens[i + 2].integer]);
    else if (parameters.size() == listed.size() && !has_members)
      replace(tokens[i], tokens[i], listed[place]);
  }
  return renamed + std::string(text.substr(copied));
}

} // namespace lathe::spec
