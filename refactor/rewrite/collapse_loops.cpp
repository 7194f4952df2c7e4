// collapse-loops: the rounds of two nested loops are dealt out to the threads together, not those of the
// outer loop alone.
#include "refactor/knobs/collapsible_loops.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/loop_hint.h"
#include "refactor/rewrite/rule_support.h"

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class CollapseLoops : public Rule {
public:
  std::string_view name() const override { return "collapse-loops"; }
  std::string_view summary() const override {
    return "deals the rounds of two nested loops out to the threads together, so that neighbours access "
           "neighbouring elements";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    const auto found = find_collapsible_nests(view, launch_facts_of(kernel, candidate));
    if (const auto* reason = std::get_if<std::string>(&found))
      return Refusal{*reason};
    const std::string knob = free_name(candidate.text, "COLLAPSE");
    Proposal proposal;
    std::vector<std::string> taken;
    std::string lines;
    for (const CollapsibleNest& nest : std::get<std::vector<CollapsibleNest>>(found)) {
      const std::string counter = free_name(candidate.text, "lathe_round", taken);
      if (!collapse(view, nest, knob, counter, proposal.edits))
        continue;
      taken.push_back(counter);
      lines += (lines.empty() ? "" : ", ") + view.at_line(nest.outer.loop->getBeginLoc());
    }
    if (taken.empty())
      return Refusal{"the loops that could be dealt out together come from macros"};
    proposal.knobs.push_back(make_knob(
        knob, KnobKind::coarsen, "int", {0, 1, 2, 4, 8}, "0",
        "the loop at " + lines + " and the loop in it are one loop, unrolled so many times; 0: two loops"));
    return proposal;
  }

private:
  // As one side of an operator; empty where it has no text.
  static std::string operand(const KernelView& view, const Expr* value) {
    const std::string text = view.text(value);
    const Expr* plain = value->IgnoreImpCasts();
    const bool is_one = isa<DeclRefExpr>(plain) || isa<ParenExpr>(plain) || isa<IntegerLiteral>(plain);
    return text.empty() || is_one ? text : "(" + text + ")";
  }

  // The loop as one of `counter`, in front of the loops as they were.
  static bool collapse(const KernelView& view, const CollapsibleNest& nest, const std::string& knob,
                       const std::string& counter, std::vector<Edit>& edits) {
    const LoopHint outer_hint = loop_hint_of(view, nest.outer.loop),
                   inner_hint = loop_hint_of(view, nest.inner.loop);
    const auto start = view.range(nest.outer.counter->getInit()->getSourceRange());
    const auto loop = whole_statement(view, nest.outer.loop);
    const auto body = whole_statement(view, nest.inner.loop->getBody());
    const std::string rows = operand(view, nest.outer.bound), columns = operand(view, nest.inner.bound),
                      step = view.text(nest.outer.step_by);
    if (outer_hint.unreadable || inner_hint.unreadable || !start || !loop || !body || rows.empty() ||
        columns.empty() || step.empty())
      return false;
    const std::string& text = view.file_text();
    const std::string indent = indentation(text, loop->begin),
                      type = nest.counts_in_32_bits ? "unsigned" : "unsigned long long",
                      number = counter + "s";
    std::string declarations;
    for (const DeclStmt* declaration : nest.between) {
      const auto bytes = whole_statement(view, declaration);
      if (!bytes)
        return false;
      declarations += indent + "    " + view.text(*bytes) + "\n";
    }
    const std::string collapsed = fmt::format(
        "{0}if constexpr ({knob} != 0) {{\n"
        "{0}  const {type} {number} = {rows} > 0 && {columns} > 0 ? static_cast<{type}>({rows}) * "
        "static_cast<{type}>({columns}) : 0;\n"
        "#pragma unroll ({knob} == 0 ? 1 : {knob})\n"
        "{0}  for ({type} {counter} = {start}; {counter} < {number}; {counter} += {step}) {{\n"
        "{0}    const {row_type} {row} = {counter} / {columns};\n"
        "{declarations}"
        "{0}    const {column_type} {column} = {counter} % {columns};\n"
        "{0}    {body}\n"
        "{0}  }}\n"
        "{0}}} else {{\n",
        indent, fmt::arg("knob", knob), fmt::arg("type", type), fmt::arg("number", number),
        fmt::arg("rows", rows), fmt::arg("columns", columns), fmt::arg("counter", counter),
        fmt::arg("start", view.text(*start)), fmt::arg("step", step),
        fmt::arg("row_type", view.type_text(nest.outer.counter->getType())),
        fmt::arg("row", nest.outer.counter->getNameAsString()), fmt::arg("declarations", declarations),
        fmt::arg("column_type", view.type_text(nest.inner.counter->getType())),
        fmt::arg("column", nest.inner.counter->getNameAsString()), fmt::arg("body", view.text(*body)));
    const std::size_t first = outer_hint.present ? std::min(outer_hint.line.begin, loop->begin) : loop->begin;
    edits.push_back(insert(line_start(text, first), collapsed));
    edits.push_back(insert(loop->end, "\n" + indent + "}"));
    return true;
  }
};

} // namespace

std::unique_ptr<Rule> make_collapse_loops() {
  return std::make_unique<CollapseLoops>();
}

} // namespace lathe::refactor
