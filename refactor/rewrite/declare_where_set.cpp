// declare-where-set: `int i; ... i = threadIdx.x;` becomes `int i = threadIdx.x;`, which the other rules
// read.
#include "refactor/knobs/late_variables.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// A declaration as written: `int` and what it declares, `*a`, `b = 2`.
struct Declarators {
  TextRange whole; // with the semicolon
  std::string head;
  std::vector<std::string> texts;
};

// Nothing where something stands between a name and the one before that is not a comma and stars.
std::optional<Declarators> declarators_of(const KernelView& view, const DeclStmt* declaration) {
  const auto whole = whole_statement(view, declaration);
  const std::string& text = view.file_text();
  if (!whole || text[whole->end - 1] != ';')
    return std::nullopt;
  Declarators found{*whole, "", {}};
  std::vector<std::size_t> starts;
  for (const Decl* declared : declaration->decls()) {
    const auto name = view.range(declared->getLocation());
    if (!name)
      return std::nullopt;
    std::size_t start = name->begin;
    while (start > whole->begin && std::string_view(" \t\n*").find(text[start - 1]) != std::string::npos)
      --start;
    while (text[start] == ' ' || text[start] == '\t' || text[start] == '\n')
      ++start;
    starts.push_back(start);
  }
  found.head = text.substr(whole->begin, starts.front() - whole->begin);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::size_t end = whole->end - 1;
    if (i + 1 < starts.size()) {
      end = text.find_last_not_of(" \t\n", starts[i + 1] - 1);
      if (text[end] != ',')
        return std::nullopt;
    }
    found.texts.push_back(text.substr(starts[i], end - starts[i]));
  }
  return found;
}

class DeclareWhereSet : public Rule {
public:
  std::string_view name() const override { return "declare-where-set"; }
  std::string_view summary() const override {
    return "declares variables where they get their first value, where other rules see what they are";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    const KernelView view = view_of(source, kernel, candidate);
    std::map<const DeclStmt*, std::vector<LateVariable>> late;
    for (LateVariable& variable : late_variables(view))
      late[variable.declaration].push_back(std::move(variable));
    Proposal proposal;
    std::vector<std::pair<std::size_t, std::string>> names; // by where they are declared
    for (const auto& [declaration, variables] : late)
      if (move(view, declaration, variables, proposal.edits))
        for (const LateVariable& variable : variables)
          names.emplace_back(view.range(variable.variable->getLocation())->begin,
                             variable.variable->getNameAsString());
    if (names.empty())
      return Refusal{"every variable is declared where it is set"};
    std::ranges::sort(names);
    for (const auto& [place, variable] : names)
      proposal.detail += (proposal.detail.empty() ? "" : ", ") + variable;
    proposal.detail += " declared where they are set";
    return proposal;
  }

private:
  static bool move(const KernelView& view, const DeclStmt* declaration,
                   const std::vector<LateVariable>& variables, std::vector<Edit>& edits) {
    const auto written = declarators_of(view, declaration);
    if (!written)
      return false;
    std::vector<Edit> moved;
    for (const LateVariable& late : variables)
      for (const Expr* assignment : late.assignments) {
        const auto place = view.range(assignment->getSourceRange());
        if (!place)
          return false;
        moved.push_back(insert(place->begin, view.type_text(late.variable->getType()) + " "));
      }
    std::string kept;
    std::size_t index = 0;
    for (const Decl* declared : declaration->decls()) {
      if (std::ranges::none_of(variables,
                               [&](const LateVariable& late) { return late.variable == declared; }))
        kept += (kept.empty() ? "" : ", ") + written->texts[index];
      ++index;
    }
    edits.push_back(kept.empty() ? replace(with_line(view.file_text(), written->whole), "")
                                 : replace(written->whole, written->head + kept + ";"));
    std::ranges::move(moved, std::back_inserter(edits));
    return true;
  }
};

} // namespace

std::unique_ptr<Rule> make_declare_where_set() {
  return std::make_unique<DeclareWhereSet>();
}

} // namespace lathe::refactor
