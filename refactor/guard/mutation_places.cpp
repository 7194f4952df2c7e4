// Where mutations apply.
#include "refactor/guard/mutation_kinds.h"

namespace lathe::refactor {
namespace {

// The last token of the statement that starts at `first`.
std::size_t statement_end(const TokenText& text, std::size_t first) {
  if (text.is(first, "{"))
    return text[first].partner;
  for (std::size_t i = first; i < text.size(); ++i) {
    if (text.is(i, "(") || text.is(i, "[") || text.is(i, "{")) {
      const bool block = text.is(i, "{");
      i = text[i].partner;
      if (block && !text.is(i + 1, ";") && !text.is(i + 1, ",") && !text.is(i + 1, ")"))
        return text.is(i + 1, "else") ? statement_end(text, i + 2) : i;
    } else if (text.is(i, ";")) {
      return text.is(i + 1, "else") ? statement_end(text, i + 2) : i;
    } else if (text.is(i, "}")) {
      return i == 0 ? 0 : i - 1;
    }
  }
  return text.size() - 1;
}

} // namespace

std::vector<Store> stores(const TokenText& text) {
  std::vector<Store> found;
  for (const Statement& statement : text.statements()) {
    std::size_t equals = 0;
    for (std::size_t i = statement.first; i < statement.last; ++i) {
      if (text.is(i, "(") || text.is(i, "[")) {
        i = text[i].partner;
      } else if (text.is(i, "=")) {
        equals = i;
        break;
      }
    }
    if (equals <= statement.first)
      continue;
    const bool indexed = text.is(equals - 1, "]") && text[text[equals - 1].partner].partner == equals - 1;
    const bool dereferenced = text.is(statement.first, "*");
    if (!indexed && !dereferenced)
      continue;
    // A declaration `float a[4] = {..}` is no store: two words in a row before the bracket.
    std::size_t name = indexed ? text[equals - 1].partner : statement.first + 1;
    while (indexed && name > statement.first && text.is(name - 1, "]"))
      name = text[name - 1].partner;
    if (indexed && name > statement.first)
      --name;
    if (indexed && name > statement.first && text[name - 1].kind == Token::Kind::word)
      continue;
    std::string target;
    for (std::size_t i = indexed ? name : statement.first; i < equals; ++i)
      if (text[i].kind == Token::Kind::word) {
        target = text[i].text;
        if (indexed)
          break;
      }
    found.push_back({statement, equals, target});
  }
  return found;
}

std::vector<Loop> loops(const TokenText& text) {
  std::vector<Loop> found;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (!text.is(i, "for") || !text.is(i + 1, "("))
      continue;
    Loop loop;
    loop.keyword = i;
    loop.open = i + 1;
    loop.close = text[i + 1].partner;
    for (std::size_t k = loop.open + 1; k < loop.close; ++k) {
      if (text.is(k, "(") || text.is(k, "["))
        k = text[k].partner;
      else if (text.is(k, ";"))
        (loop.first_semicolon ? loop.second_semicolon : loop.first_semicolon) = k;
    }
    if (!loop.second_semicolon)
      continue;
    loop.body_first = loop.close + 1;
    loop.body_last = statement_end(text, loop.body_first);
    found.push_back(loop);
  }
  return found;
}

std::vector<Branch> branches(const TokenText& text) {
  std::vector<Branch> found;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (!text.is(i, "if") || !text.is(i + 1, "("))
      continue;
    Branch branch;
    branch.keyword = i;
    branch.open = i + 1;
    branch.close = text[i + 1].partner;
    branch.body_first = branch.close + 1;
    if (text.is(branch.body_first, "{"))
      branch.body_last = text[branch.body_first].partner;
    else
      for (branch.body_last = branch.body_first;
           branch.body_last + 1 < text.size() && !text.is(branch.body_last, ";"); ++branch.body_last)
        if (text.is(branch.body_last, "(") || text.is(branch.body_last, "[") ||
            text.is(branch.body_last, "{"))
          branch.body_last = text[branch.body_last].partner;
    branch.has_else = text.is(branch.body_last + 1, "else");
    found.push_back(branch);
  }
  return found;
}

std::optional<Signature> kernel_signature(const TokenText& text, const TuningSpec& spec) {
  std::string name = spec.kernel.instance.substr(0, spec.kernel.instance.find('<'));
  if (const std::size_t colons = name.rfind("::"); colons != std::string::npos)
    name = name.substr(colons + 2);
  Signature signature;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text.is(i, "__global__"))
      signature.global = i;
    if (!text.is(i, name) || !text.is(i + 1, "(") || signature.global == 0)
      continue;
    signature.open = i + 1;
    signature.close = text[i + 1].partner;
    signature.body = signature.close + 1;
    if (!text.is(signature.body, "{"))
      continue;
    std::size_t first = signature.open + 1;
    for (std::size_t k = first; k <= signature.close; ++k) {
      if (k < signature.close && (text.is(k, "(") || text.is(k, "[")))
        k = text[k].partner;
      else if ((text.is(k, ",") || k == signature.close) && k > first) {
        signature.parameters.emplace_back(first, k - 1);
        first = k + 1;
      }
    }
    return signature;
  }
  return std::nullopt;
}

} // namespace lathe::refactor
