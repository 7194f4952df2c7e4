#include "refactor/rewrite/early_rounds.h"

#include "refactor/knobs/early_elements.h"

#include <clang/AST/StmtCXX.h>

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

struct Names {
  std::string knob, array, round, indent;
};

std::string counter_of(const StridedLoop& loop, const std::string& round) {
  return loop.counts_rounds() ? loop.counter->getNameAsString() : round;
}

// `if constexpr (LOAD_EARLY == 1) { ... array[round].load(address); }`, for the start of the first loop's
// body.
std::string asks_early(const KernelView& view, const KeptElements& kept, const EarlyElements& early,
                       const Names& names) {
  const std::string inner = names.indent + "  ";
  std::string text = fmt::format("\n{}if constexpr ({} == 1) {{", names.indent, names.knob);
  const VarDecl *here = kept.loops.front().counter, *there = kept.loops[early.loop].counter;
  if (here->getName() != there->getName())
    text += fmt::format("\n{}const auto {} = {};", inner, there->getNameAsString(), here->getNameAsString());
  for (const DeclStmt* declaration : early.declarations)
    text += "\n" + inner + view.text(*whole_statement(view, declaration));
  std::string conditions;
  for (const auto& [condition, holds] : early.conditions)
    conditions += fmt::format("{}{}", conditions.empty() ? "" : " && ",
                              holds && early.conditions.size() == 1
                                  ? view.text(condition)
                                  : fmt::format("{}({})", holds ? "" : "!", view.text(condition)));
  text += "\n" + inner;
  if (!conditions.empty())
    text += fmt::format("if ({})\n{}  ", conditions, inner);
  const std::string element = names.array + "[" + counter_of(kept.loops.front(), names.round) + "]";
  if (early.access.is_address)
    text += element + view.text(early.access.call).substr(view.text(early.access.object).size()) + ";";
  else
    text += element + " = " + view.text(early.access.expression) + ";";
  return text + "\n" + names.indent + "}";
}

bool has_text(const KernelView& view, const EarlyElements& early) {
  const Stmt* statement = early.access.is_address ? early.access.statement : early.access.expression;
  return view.range(statement->getSourceRange()).has_value();
}

void take_from_registers(const KernelView& view, const KeptElements& kept, const EarlyElements& early,
                         const Names& names, std::vector<Edit>& edits) {
  const std::string element = names.array + "[" + counter_of(kept.loops[early.loop], names.round) + "]";
  if (!early.access.is_address) {
    const TextRange place = *view.range(early.access.expression->getSourceRange());
    edits.push_back(
        replace(place, fmt::format("({} == 0 ? {} : {})", names.knob, view.text(place), element)));
    return;
  }
  const TextRange statement = *whole_statement(view, early.access.statement);
  const std::string indent = indentation(view.file_text(), statement.begin);
  edits.push_back(insert(statement.begin, fmt::format("if constexpr ({} == 0)\n{}  ", names.knob, indent)));
  edits.push_back(insert(statement.end, fmt::format("\n{0}else\n{0}  {1} = {2};", indent,
                                                    view.text(early.access.object), element)));
}

} // namespace

std::optional<EarlyRounds> early_rounds(const KernelView& view, const Candidate& candidate,
                                        const KeptElements& kept, const std::string& keep,
                                        const std::string& round) {
  const ForStmt* first = kept.loops.front().loop;
  const auto body = view.range(first->getBody()->getSourceRange());
  const auto begin = view.range(SourceRange(first->getBeginLoc(), first->getBeginLoc()));
  if (!isa<CompoundStmt>(first->getBody()) || !body || !begin)
    return std::nullopt;
  Names names{free_name(candidate.text, "LOAD_EARLY"), "", round,
              indentation(view.file_text(), begin->begin) + "  "};
  EarlyRounds result;
  std::vector<std::string> taken;
  std::string lines;
  for (const EarlyElements& early : find_early_elements(view, kept)) {
    if (!has_text(view, early))
      continue;
    names.array = free_name(candidate.text, "lathe_early", taken);
    taken.push_back(names.array);
    const std::string type = early.access.is_address ? early.object_type : view.type_text(early.element);
    result.declarations.push_back(
        fmt::format("{} {}[{} == 0 ? 1 : {}];", type, names.array, names.knob, keep));
    result.edits.push_back(insert(body->begin + 1, asks_early(view, kept, early, names)));
    take_from_registers(view, kept, early, names, result.edits);
    lines += (lines.empty() ? "" : ", ") + view.at_line(early.access.expression->getBeginLoc());
  }
  if (taken.empty())
    return std::nullopt;
  result.condition = make_condition(names.knob + " == 0 || " + keep + " > 0",
                                    "how many rounds there are is known where they are kept");
  result.knob =
      make_knob(names.knob, KnobKind::stage, "int", {0, 1}, "0",
                "1: the loop at " + view.at_line(first->getBeginLoc()) + " asks for what is loaded at " +
                    lines + "; 0: it is loaded where the raw kernel does");
  return result;
}

} // namespace lathe::refactor
