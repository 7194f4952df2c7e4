// Mistakes in control flow, bounds and memory accesses.
#include "refactor/guard/mutation_kinds.h"

#include <set>

namespace lathe::refactor {
namespace {

using Found = std::vector<Mutation>;

bool in_body(const TokenText& text, std::size_t i) {
  return text[i].depth > 0;
}

void weaken_bound(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (in_body(text, i) && text.is_binary(i) && (text.is(i, "<") || text.is(i, ">")))
      mutate(found, text, i, i, text[i].text + "=");
}
void strengthen_bound(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!in_body(text, i) || !text.is_binary(i))
      continue;
    if (text.is(i, "<"))
      mutate(found, text, i, i, "+ 1 <", "a bound is reached one step early");
    else if (text.is(i, ">=") || text.is(i, "<="))
      mutate(found, text, i, i, text[i].text.substr(0, 1));
  }
}
void flip_comparison(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (in_body(text, i) && text.is_binary(i) && (text.is(i, "==") || text.is(i, "!=")))
      mutate(found, text, i, i, text.is(i, "==") ? "!=" : "==");
}
void negate_condition(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Branch& branch : branches(text))
    mutate(found, text, branch.open, branch.close, "(!" + text.source(branch.open, branch.close) + ")");
}
void drop_guard(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Branch& branch : branches(text))
    if (!text.is(branch.body_first, "return"))
      mutate(found, text, branch.open, branch.close, "(true)",
             "the guard " + text.source(branch.open, branch.close) + " is gone");
}
void drop_early_return(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Branch& branch : branches(text))
    if (text.is(branch.body_first, "return") ||
        (text.is(branch.body_first, "{") && text.is(branch.body_first + 1, "return")))
      mutate(found, text, branch.keyword, branch.body_last, ";", "the early return is gone");
}
void swap_logic(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (in_body(text, i) && text.is_binary(i) && (text.is(i, "&&") || text.is(i, "||")))
      mutate(found, text, i, i, text.is(i, "&&") ? "||" : "&&");
}
void drop_half_of_condition(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Branch& branch : branches(text))
    for (std::size_t i = branch.open + 1; i < branch.close; ++i) {
      if (text.is(i, "("))
        i = text[i].partner;
      else if (text.is(i, "&&")) {
        mutate(found, text, branch.open + 1, i, "", "the left half of a condition is gone");
        mutate(found, text, i, branch.close - 1, "", "the right half of a condition is gone");
        break;
      }
    }
}
void drop_loop(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Loop& loop : loops(text))
    mutate(found, text, loop.keyword, loop.body_last, "for (; false;);",
           "a loop is gone"); // behind a pragma, too
}
void loop_once(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Loop& loop : loops(text))
    if (text.is(loop.body_first, "{"))
      found.push_back({{{text[loop.body_last].offset, text[loop.body_last].offset, " break; "}},
                       text[loop.keyword].line,
                       "a loop ends after its first turn"});
}
void loop_start(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Loop& loop : loops(text))
    if (loop.first_semicolon > loop.open + 2)
      found.push_back({{{text[loop.first_semicolon].offset, text[loop.first_semicolon].offset, " + 1"}},
                       text[loop.keyword].line,
                       "a loop starts one later"});
}
void loop_step(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Loop& loop : loops(text))
    for (std::size_t i = loop.second_semicolon + 1; i < loop.close; ++i) {
      if (text.is(i, "+="))
        found.push_back({{{text[i].end, text[i].end, " 2 *"}}, text[i].line, "a loop's step is doubled"});
      else if (text.is(i, "++") && i + 1 < loop.close)
        mutate(found, text, i, i + 1, text[i + 1].text + " += 2");
    }
}

void drop_store(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Store& store : stores(text))
    mutate(found, text, store.statement.first, store.statement.last, ";",
           "a store to " + store.target + " is gone");
}
void shift_store(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Store& store : stores(text))
    if (text.is(store.equals - 1, "]"))
      found.push_back({{{text[store.equals - 1].offset, text[store.equals - 1].offset, " + 1"}},
                       text[store.equals].line,
                       "a store to " + store.target + " is one element off"});
}
void duplicate_store(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Store& store : stores(text)) {
    if (!text.is(store.equals - 1, "]"))
      continue;
    std::string second = text.source(store.statement.first, store.statement.last);
    const std::size_t bracket = text[store.equals - 1].offset - text[store.statement.first].offset;
    second.insert(bracket, " + 1");
    mutate(found, text, store.statement.first, store.statement.last,
           "{ " + text.source(store.statement.first, store.statement.last) + " " + second + " }",
           "a store to " + store.target + " is made twice, the second time one element off");
  }
}
void accumulate_store(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Store& store : stores(text))
    mutate(found, text, store.equals, store.equals,
           "+=", "a store to " + store.target + " adds to what was there");
}
void shift_read(const TokenText& text, const TuningSpec&, Found& found) {
  std::set<std::size_t> written;
  for (const Store& store : stores(text))
    written.insert(store.equals - 1);
  for (std::size_t i = 1; i < text.size(); ++i)
    if (in_body(text, i) && text.is(i, "]") && !written.contains(i) && text[i].partner < i &&
        i - text[i].partner > 1 && text[text[i].partner - 1].kind == Token::Kind::word &&
        text[text[i].partner - 1].text != "__shared__" &&
        !(text[i].partner >= 2 && text[text[i].partner - 2].kind == Token::Kind::word))
      found.push_back({{{text[i].offset, text[i].offset, " + 1"}},
                       text[i].line,
                       "an access to " + text[text[i].partner - 1].text + " is one element off"});
}
void drop_statement(const TokenText& text, const TuningSpec&, Found& found) {
  for (const Statement& statement : text.statements())
    for (std::size_t i = statement.first; i < statement.last; ++i)
      if (text.is(i, "+=") || text.is(i, "*=") || text.is(i, "-="))
        mutate(found, text, statement.first, statement.last, ";",
               "'" + text.source(statement.first, statement.last) + "' is gone");
}

} // namespace

const std::vector<MutationKind>& flow_mutations() {
  static const std::vector<MutationKind> kinds{{"weaken-bound", weaken_bound},
                                               {"strengthen-bound", strengthen_bound},
                                               {"flip-comparison", flip_comparison},
                                               {"negate-condition", negate_condition},
                                               {"drop-guard", drop_guard},
                                               {"drop-early-return", drop_early_return},
                                               {"swap-logic", swap_logic},
                                               {"drop-half-of-condition", drop_half_of_condition},
                                               {"drop-loop", drop_loop},
                                               {"loop-once", loop_once},
                                               {"shift-loop-start", loop_start},
                                               {"double-loop-step", loop_step},
                                               {"drop-store", drop_store},
                                               {"shift-store", shift_store},
                                               {"duplicate-store", duplicate_store},
                                               {"accumulate-stale-output", accumulate_store},
                                               {"shift-read", shift_read},
                                               {"drop-update", drop_statement}};
  return kinds;
}

} // namespace lathe::refactor
