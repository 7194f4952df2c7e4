// The kinds of mistakes, as edits of a token text. Used by mutants.cpp only.
#pragma once

#include "refactor/guard/token_text.h"
#include "tuner/spec/spec.h"

#include <string>
#include <vector>

namespace lathe::refactor {

struct MutationEdit {
  std::size_t begin = 0, end = 0; // bytes of the text
  std::string replacement;
};

// One place where a kind applies: all its edits are made together.
struct Mutation {
  std::vector<MutationEdit> edits;
  int line = 0;
  std::string description;
};

// Whether runs can show a mistake of the kind. Those that run rarely, or depend on which thread is first, or
// say something false to the compiler, can leave every result as it was and are wrong all the same.
enum class ShownBy { runs, reading };

struct MutationKind {
  const char* name;
  void (*find)(const TokenText& text, const TuningSpec& spec, std::vector<Mutation>& found);
  ShownBy shown_by = ShownBy::runs;
};

// Mistakes in control flow and memory; in arithmetic and types; in cooperation, effects and interface; one
// thing for another that looks like it.
const std::vector<MutationKind>& flow_mutations();
const std::vector<MutationKind>& value_mutations();
const std::vector<MutationKind>& effect_mutations();
const std::vector<MutationKind>& exchange_mutations();

inline void mutate(std::vector<Mutation>& found, const TokenText& text, std::size_t first, std::size_t last,
                   std::string replacement, std::string description = {}) {
  if (description.empty())
    description = "'" + text.source(first, last) + "' became '" + replacement + "'";
  found.push_back({{{text[first].offset, text[last].end, std::move(replacement)}},
                   text[first].line,
                   std::move(description)});
}

// A store through an index or a pointer: `a[i] = v;`, `*p = v;`; `equals` is the token of its `=`.
struct Store {
  Statement statement;
  std::size_t equals = 0;
  std::string target; // the array's or pointer's name
};
std::vector<Store> stores(const TokenText& text);

// A `for` statement: header tokens and body.
struct Loop {
  std::size_t keyword = 0, open = 0, first_semicolon = 0, second_semicolon = 0, close = 0;
  std::size_t body_first = 0, body_last = 0;
};
std::vector<Loop> loops(const TokenText& text);

// An `if` without `constexpr`: its condition's parentheses and its statement.
struct Branch {
  std::size_t keyword = 0, open = 0, close = 0, body_first = 0, body_last = 0;
  bool has_else = false;
};
std::vector<Branch> branches(const TokenText& text);

// The kernel's parameter list: "(" and ")"; its body's "{".
struct Signature {
  std::size_t global = 0, open = 0, close = 0, body = 0;
  std::vector<std::pair<std::size_t, std::size_t>> parameters; // tokens of each
  std::string name_of(const TokenText& text, std::size_t parameter) const {
    return text[parameters[parameter].second].text;
  }
};
std::optional<Signature> kernel_signature(const TokenText& text, const TuningSpec& spec);

} // namespace lathe::refactor
