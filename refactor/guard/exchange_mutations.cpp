// Mistakes of whoever exchanges one thing for another that looks like it: sizes, signs, branches, the order
// of a product and a quotient.
#include "refactor/guard/mutation_kinds.h"

#include <algorithm>
#include <map>
#include <set>

namespace lathe::refactor {
namespace {

using Found = std::vector<Mutation>;

bool in_body(const TokenText& text, std::size_t i) {
  return text[i].depth > 0;
}

// `height` where `width` belongs: integers among the parameters, by value.
void other_size(const TokenText& text, const TuningSpec& spec, Found& found) {
  static const std::set<std::string> INTEGERS{"int",     "unsigned", "long",     "int32_t",
                                              "int64_t", "uint32_t", "uint64_t", "size_t"};
  const auto signature = kernel_signature(text, spec);
  if (!signature)
    return;
  std::vector<std::string> sizes;
  for (std::size_t p = 0; p < signature->parameters.size(); ++p) {
    const auto [first, last] = signature->parameters[p];
    bool is_integer = false, is_pointer = false;
    for (std::size_t i = first; i <= last; ++i) {
      is_integer |= INTEGERS.contains(text[i].text);
      is_pointer |= text.is(i, "*");
    }
    if (is_integer && !is_pointer)
      sizes.push_back(signature->name_of(text, p));
  }
  if (sizes.size() < 2)
    return;
  for (std::size_t i = signature->body; i < text[signature->body].partner; ++i)
    if (const auto at = std::ranges::find(sizes, text[i].text); at != sizes.end())
      mutate(found, text, i, i, sizes[static_cast<std::size_t>(at - sizes.begin() + 1) % sizes.size()]);
}

void other_end(const TokenText& text, const TuningSpec&, Found& found) {
  static const std::map<std::string, std::string> others{{"continue", "break"}, {"break", "continue"}};
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (const auto other = others.find(text[i].text);
        other != others.end() && in_body(text, i) && text.is(i + 1, ";"))
      mutate(found, text, i, i, other->second);
}

// A `?` in a body, its `:`, and the last token of what stands behind that.
struct Choice {
  std::size_t question = 0, colon = 0, last = 0;
};
std::vector<Choice> choices(const TokenText& text) {
  std::vector<Choice> all;
  const auto ends = [&](std::size_t i) {
    return text.is(i, ";") || text.is(i, ",") || text.is(i, ")") || text.is(i, "]") || text.is(i, "}") ||
           text.is(i, "?") || text.is(i, ":");
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!in_body(text, i) || !text.is(i, "?"))
      continue;
    const auto end_of = [&](std::size_t at) {
      while (at < text.size() && !ends(at))
        at = (text[at].partner > at ? text[at].partner : at) + 1;
      return at;
    };
    const std::size_t colon = end_of(i + 1);
    const std::size_t end = text.is(colon, ":") ? end_of(colon + 1) : colon;
    if (text.is(colon, ":") && end < text.size() && !text.is(end, "?") && !text.is(end, ":"))
      all.push_back({i, colon, end - 1});
  }
  return all;
}
void swap_choice(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Choice& one : choices(text))
    mutate(found, text, one.question, one.last,
           "? " + text.source(one.colon + 1, one.last) + " : " +
               text.source(one.question + 1, one.colon - 1));
}
void drop_choice(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Choice& one : choices(text)) {
    const std::string first = text.source(one.question + 1, one.colon - 1);
    mutate(found, text, one.question, one.last, "? " + first + " : " + first,
           "'" + text.source(one.colon + 1, one.last) + "' is never chosen");
  }
}

// `name = value;` of something that was declared before.
void drop_assignment(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Statement& statement : text.statements())
    if (text[statement.first].kind == Token::Kind::word && text.is(statement.first + 1, "="))
      mutate(found, text, statement.first, statement.last, ";",
             "'" + text.source(statement.first, statement.last) + "' is gone");
}

// Numbers below zero become large ones.
void lose_sign(const TokenText& text, const TuningSpec&, Found& found) {
  static const std::map<std::string, std::string> others{
      {"int", "unsigned"}, {"int32_t", "uint32_t"}, {"int64_t", "uint64_t"}};
  for (std::size_t i = 0; i + 2 < text.size(); ++i)
    if (const auto other = others.find(text[i].text); other != others.end() && in_body(text, i) &&
                                                      text[i + 1].kind == Token::Kind::word &&
                                                      text.is(i + 2, "="))
      mutate(found, text, i, i, other->second, "'" + text[i + 1].text + "' has no sign");
}

// `a * b / c` as `a / c * b`.
void divide_first(const TokenText& text, const TuningSpec&, Found& found) {
  const auto is_operand = [&](std::size_t i) {
    return text[i].kind == Token::Kind::word || text[i].kind == Token::Kind::number;
  };
  for (std::size_t i = 1; i + 3 < text.size(); ++i)
    if (in_body(text, i) && text.is_binary(i) && text.is(i, "*") && text.is_binary(i + 2) &&
        text.is(i + 2, "/") && is_operand(i + 1) && is_operand(i + 3) && !text.is(i + 4, "(") &&
        !text.is(i + 4, "[") && !text.is(i + 4, "."))
      mutate(found, text, i, i + 3, "/ " + text[i + 3].text + " * " + text[i + 1].text);
}

} // namespace

const std::vector<MutationKind>& exchange_mutations() {
  static const std::vector<MutationKind> kinds{
      {"other-size", other_size},    {"other-end", other_end}, {"swap-choice", swap_choice},
      {"drop-choice", drop_choice},  {"lose-sign", lose_sign}, {"drop-assignment", drop_assignment},
      {"divide-first", divide_first}};
  return kinds;
}

} // namespace lathe::refactor
