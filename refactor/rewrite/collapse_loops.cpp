// collapse-loops: the rounds of two nested loops are dealt out to the threads together, not those of the
// outer loop alone.
#include "refactor/knobs/collapsible_loops.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/loop_hint.h"
#include "refactor/rewrite/vector_code.h"

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// One nest as a loop of its own, in front of the loops as they were.
class Collapse {
public:
  Collapse(const KernelView& view, const CollapsibleNest& nest, std::string knob, std::string counter)
      : view_(view), nest_(nest), knob_(std::move(knob)), counter_(std::move(counter)),
        rounds_(counter_ + "s"), type_(nest.counts_in_32_bits ? "unsigned" : "unsigned long long"),
        rows_(operand(nest.outer.bound)), columns_(operand(nest.inner.bound)),
        step_(view.text(nest.outer.step_by)), row_(nest.outer.counter->getNameAsString()),
        row_type_(view.type_text(nest.outer.counter->getType())),
        column_type_(view.type_text(nest.inner.counter->getType())) {}

  const std::string& counter() const { return counter_; }

  // Lets a thread take `width` neighbouring columns at once where rows are whole and aligned.
  void widen(const std::string& width, const std::string& suffix) {
    width_ = width;
    code_.emplace(view_, nest_.neighbours, nest_.inner.counter, width, "_of_rows" + suffix);
  }

  // False where a part of the nest has no text of its own.
  bool edit(std::vector<Edit>& edits) {
    const LoopHint outer_hint = loop_hint_of(view_, nest_.outer.loop),
                   inner_hint = loop_hint_of(view_, nest_.inner.loop);
    const auto start = view_.range(nest_.outer.counter->getInit()->getSourceRange());
    const auto loop = whole_statement(view_, nest_.outer.loop);
    const auto body = whole_statement(view_, nest_.inner.loop->getBody());
    if (outer_hint.unreadable || inner_hint.unreadable || !start || !loop || !body || rows_.empty() ||
        columns_.empty() || step_.empty())
      return false;
    const std::string& text = view_.file_text();
    indent_ = indentation(text, loop->begin);
    start_ = view_.text(*start);
    for (const DeclStmt* declaration : nest_.between) {
      const auto bytes = whole_statement(view_, declaration);
      if (!bytes)
        return false;
      between_.push_back(view_.text(*bytes));
    }
    const std::size_t first = outer_hint.present ? std::min(outer_hint.line.begin, loop->begin) : loop->begin;
    edits.push_back(insert(line_start(text, first), collapsed(*body)));
    edits.push_back(insert(loop->end, "\n" + indent_ + "}"));
    return true;
  }

private:
  const KernelView& view_;
  const CollapsibleNest& nest_;
  std::string knob_, counter_, rounds_, type_, rows_, columns_, step_, row_, row_type_, column_type_;
  std::string width_; // the knob; empty: one column at a time
  std::optional<VectorCode> code_;
  std::string indent_, start_;
  std::vector<std::string> between_; // what a round declares in front of the inner loop

  // As one side of an operator; empty where it has no text.
  std::string operand(const Expr* value) const {
    const std::string text = view_.text(value);
    const Expr* plain = value->IgnoreImpCasts();
    const bool is_one = isa<DeclRefExpr>(plain) || isa<ParenExpr>(plain) || isa<IntegerLiteral>(plain);
    return text.empty() || is_one ? text : "(" + text + ")";
  }

  std::string declarations(const std::string& indent) const {
    std::string text;
    for (const std::string& declaration : between_)
      text += indent + declaration + "\n";
    return text;
  }

  // Those that `text` needs, and those need.
  std::string declarations_for(std::string text, const std::string& indent) const {
    std::string needed;
    for (std::size_t i = between_.size(); i-- > 0;)
      if (std::ranges::any_of(nest_.between[i]->decls(), [&](const Decl* declared) {
            return has_word(text, cast<NamedDecl>(declared)->getNameAsString());
          })) {
        needed.insert(0, indent + between_[i] + "\n");
        text += between_[i];
      }
    return needed;
  }

  std::string collapsed(TextRange body) const {
    return fmt::format(
        "{0}if constexpr ({knob} != 0) {{\n"
        "{0}  const {type} {number} = {rows} > 0 && {columns} > 0 ? "
        "static_cast<{type}>({rows}) * static_cast<{type}>({columns}) : 0;\n"
        "{wide}"
        "#pragma unroll ({knob} == 0 ? 1 : {knob})\n"
        "{0}  for ({type} {counter} = {done}{start}; {counter} < {number}; {counter} += {step}) {{\n"
        "{0}    const {row_type} {row} = {counter} / {columns};\n"
        "{declarations}"
        "{0}    const {column_type} {column} = {counter} % {columns};\n"
        "{0}    {body}\n"
        "{0}  }}\n"
        "{0}}} else {{\n",
        indent_, fmt::arg("knob", knob_), fmt::arg("type", type_), fmt::arg("number", rounds_),
        fmt::arg("rows", rows_), fmt::arg("columns", columns_),
        fmt::arg("wide", code_ ? whole_vectors(body) : ""), fmt::arg("counter", counter_),
        fmt::arg("done", code_ ? code_->done() + " + " : ""), fmt::arg("start", start_),
        fmt::arg("step", step_), fmt::arg("row_type", row_type_), fmt::arg("row", row_),
        fmt::arg("declarations", declarations(indent_ + "    ")), fmt::arg("column_type", column_type_),
        fmt::arg("column", nest_.inner.counter->getNameAsString()), fmt::arg("body", view_.text(body)));
  }

  // All rounds, where every row is whole vectors: each row begins as far behind the one before, so that all
  // are aligned where two are.
  std::string whole_vectors(TextRange body) const {
    // The threads of a grid times the width can be more than 32 bits hold.
    const std::string type = nest_.spans_grid ? "unsigned long long" : type_;
    const auto widened = [&](const std::string& value) {
      return nest_.spans_grid ? "static_cast<" + type + ">(" + value + ")" : "(" + value + ")";
    };
    const std::string aligned = code_->aligned("0"), on_chip = code_->aligned_on_chip("0");
    const std::string declares_together =
        on_chip.empty() ? "" : indent_ + "    bool " + code_->together() + " = true;\n";
    const std::string notes_together =
        on_chip.empty() ? ""
                        : fmt::format("{0}      {1} = {1} && {2};\n", indent_, code_->together(), on_chip);
    return fmt::format(
        "{0}  {round_type} {done} = 0;\n"
        "{0}  if constexpr ({width} > 1) {{\n"
        "{0}    bool {whole} = {columns} % {width} == 0;\n"
        "{declares_together}"
        "{0}    for ({row_type} {row} = 0; {row} < 2 && {row} < {rows}; ++{row}) {{\n"
        "{row_declarations}"
        "{0}      {whole} = {whole} && {aligned};\n"
        "{notes_together}"
        "{0}    }}\n"
        "{0}    {done} = {whole} ? {number} : 0;\n"
        "#pragma unroll ({knob} == 0 ? 1 : {knob})\n"
        "{0}    for ({type} {counter} = {first_round} * {width}; {counter} < {done}; "
        "{counter} += {further} * {width}) {{\n"
        "{0}      const {row_type} {row} = {counter} / {columns};\n"
        "{declarations}"
        "{0}      const {column_type} {first} = {counter} % {columns};\n"
        "{loads}"
        "#pragma unroll\n"
        "{0}      for (int {lane} = 0; {lane} < {width}; ++{lane}) {{\n"
        "{0}        {column}\n"
        "{0}        {body}\n"
        "{0}      }}\n"
        "{stores}"
        "{0}    }}\n"
        "{0}  }}\n",
        indent_, fmt::arg("round_type", type_), fmt::arg("type", type), fmt::arg("done", code_->done()),
        fmt::arg("width", width_), fmt::arg("columns", columns_), fmt::arg("row_type", row_type_),
        fmt::arg("row", row_), fmt::arg("rows", rows_),
        fmt::arg("declarations", declarations(indent_ + "      ")),
        fmt::arg("whole", free_name(view_.file_text(), "lathe_whole")), fmt::arg("aligned", aligned),
        fmt::arg("row_declarations", declarations_for(aligned + on_chip, indent_ + "      ")),
        fmt::arg("declares_together", declares_together), fmt::arg("notes_together", notes_together),
        fmt::arg("number", rounds_), fmt::arg("knob", knob_), fmt::arg("counter", counter_),
        fmt::arg("first_round", widened(start_)), fmt::arg("further", widened(step_)),
        fmt::arg("column_type", column_type_), fmt::arg("first", code_->first()),
        fmt::arg("loads", code_->loads(indent_ + "      ")), fmt::arg("lane", code_->lane()),
        fmt::arg("column", code_->own_number()), fmt::arg("body", code_->work(body)),
        fmt::arg("stores", code_->stores(indent_ + "      ")));
  }
};

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
    const std::string knob = free_name(candidate.text, "COLLAPSE"),
                      width = free_name(candidate.text, "COLLAPSE_VEC");
    Proposal proposal;
    std::vector<std::string> taken;
    std::string lines, wide_lines;
    bool on_chip = false;
    for (CollapsibleNest nest : std::get<std::vector<CollapsibleNest>>(found)) {
      std::erase_if(nest.neighbours, [&](const ElementAccess& access) {
        return access.on_chip && unknown_element(view, candidate, {access}).has_value();
      });
      const std::string line = view.at_line(nest.outer.loop->getBeginLoc());
      const bool is_wide =
          std::ranges::any_of(nest.neighbours, [](const ElementAccess& access) { return !access.on_chip; }) &&
          !unknown_element(view, candidate, nest.neighbours).has_value();
      Collapse collapse(view, nest, knob, free_name(candidate.text, "lathe_round", taken));
      if (is_wide)
        collapse.widen(width, taken.empty() ? "" : "_" + std::to_string(taken.size() + 1));
      if (!collapse.edit(proposal.edits))
        continue;
      taken.push_back(collapse.counter());
      lines += (lines.empty() ? "" : ", ") + line;
      if (!is_wide)
        continue;
      wide_lines += (wide_lines.empty() ? "" : ", ") + line;
      on_chip |= std::ranges::any_of(nest.neighbours, &ElementAccess::on_chip);
    }
    if (taken.empty())
      return Refusal{"the loops that could be dealt out together come from macros"};
    proposal.knobs.push_back(make_knob(
        knob, KnobKind::coarsen, "int", {0, 1, 2, 4, 8}, "0",
        "the loop at " + lines + " and the loop in it are one loop, unrolled so many times; 0: two loops"));
    if (!wide_lines.empty()) {
      proposal.knobs.push_back(vector_knob(width, "the one loop that those at " + wide_lines + " are"));
      proposal.conditions.push_back(
          make_condition(width + " == 1 || " + knob + " != 0", "two loops take one element at a time"));
      VectorCode::add_helpers(candidate.text, proposal.edits, on_chip);
    }
    return proposal;
  }
};

} // namespace

std::unique_ptr<Rule> make_collapse_loops() {
  return std::make_unique<CollapseLoops>();
}

} // namespace lathe::refactor
