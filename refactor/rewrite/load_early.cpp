// load-early: loads are asked for before what stands in front of them, so that their latencies overlap.
#include "refactor/knobs/early_loads.h"
#include "refactor/rewrite/loop_hint.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/StmtCXX.h>

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class LoadEarly : public Rule {
public:
  std::string_view name() const override { return "load-early"; }
  std::string_view summary() const override {
    return "asks for what is loaded before the computation, the loop or the barrier that stands in front of "
           "it";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    const KernelView view = view_of(source, kernel, candidate);
    const auto found = find_early_loads(view);
    if (const auto* reason = std::get_if<std::string>(&found))
      return Refusal{*reason};
    const std::string knob = free_name(candidate.text, "LOAD_EARLY");
    Proposal proposal;
    std::vector<std::string> taken;
    std::string lines;
    for (const EarlyLoad& load : std::get<std::vector<EarlyLoad>>(found)) {
      const std::string variable = free_name(candidate.text, "lathe_early", taken);
      if (!move(view, load, knob, variable, proposal.edits))
        continue;
      taken.push_back(variable);
      lines += (lines.empty() ? "" : ", ") + view.at_line(load.place->getBeginLoc());
    }
    if (taken.empty())
      return Refusal{"the loads that could be moved, or what stands in front of them, come from macros"};
    proposal.knobs.push_back(make_knob(
        knob, KnobKind::stage, "int", {0, 1}, "0",
        "1: what is loaded at " + lines +
            " is asked for before the computation in front of it; 0: where the raw kernel loads it"));
    return proposal;
  }

private:
  // Where the text of a statement starts, its pragma included, and whose indentation it has.
  struct Start {
    std::size_t offset, indented;
  };
  static std::optional<Start> start_of(const KernelView& view, const Stmt* statement) {
    const auto* attributed = dyn_cast<AttributedStmt>(statement);
    const Stmt* inner = attributed ? attributed->getSubStmt() : statement;
    const auto begin = view.range(SourceRange(inner->getBeginLoc(), inner->getBeginLoc()));
    if (!begin)
      return std::nullopt;
    if (!attributed)
      return Start{begin->begin, begin->begin};
    const LoopHint hint = loop_hint_of(view, inner);
    if (!hint.present || hint.unreadable)
      return std::nullopt;
    return Start{hint.line.begin, begin->begin};
  }

  static bool move(const KernelView& view, const EarlyLoad& load, const std::string& knob,
                   const std::string& variable, std::vector<Edit>& edits) {
    const std::string& text = view.file_text();
    const auto place = view.range(load.place->getSourceRange());
    const auto before = start_of(view, load.before);
    if (!place || !before)
      return false;
    const std::string value = view.text(*place), type = view.type_text(load.type);
    std::string conditions;
    for (const auto& [condition, holds] : load.conditions)
      conditions += fmt::format(" && {}({})", holds ? "" : "!", view.text(condition));
    const std::string declaration =
        fmt::format("const {0} {1} = {2} == 1{3} ? {4} : {0}();", type, variable, knob, conditions, value);
    const std::size_t line = line_start(text, before->offset);
    const bool starts_its_line = text.find_first_not_of(" \t", line) == before->offset;
    edits.push_back(starts_its_line ? insert(above_comments(text, line),
                                             indentation(text, before->indented) + declaration + "\n")
                                    : insert(before->offset, declaration + " "));
    edits.push_back(replace(*place, fmt::format("({} == 1 ? {} : {})", knob, variable, value)));
    return true;
  }

  // The start of the first of the lines in front that are comments and nothing else.
  static std::size_t above_comments(const std::string& text, std::size_t start) {
    while (start > 0) {
      const std::size_t previous = line_start(text, start - 1);
      const std::size_t first = text.find_first_not_of(" \t", previous);
      if (text.compare(first, 2, "//") != 0)
        break;
      start = previous;
    }
    return start;
  }
};

} // namespace

std::unique_ptr<Rule> make_load_early() {
  return std::make_unique<LoadEarly>();
}

} // namespace lathe::refactor
