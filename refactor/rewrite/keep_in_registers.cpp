// keep-in-registers: what a thread writes to shared memory only to read it again itself stays in registers.
#include "refactor/knobs/geometry.h"
#include "refactor/knobs/kept_elements.h"
#include "refactor/rewrite/constant_knob.h"
#include "refactor/rewrite/early_rounds.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/loop_hint.h"
#include "tuner/base/text.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

class KeepInRegisters : public Rule {
public:
  std::string_view name() const override { return "keep-in-registers"; }
  std::string_view summary() const override {
    return "keeps what a thread writes to shared memory and reads again itself in registers";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    // Read where the knobs that are the raw kernel at 0 are 0; all others stay what they are.
    std::map<std::string, std::int64_t> zeros;
    for (const Knob& knob : candidate.knobs)
      if (constant_of(knob.default_value) == 0)
        zeros[knob.name] = 0;
    auto reading = std::make_unique<KernelView>(source, kernel, zeros);
    auto found = find_kept_elements(*reading, launch_facts_of(kernel, candidate));
    // What is left to loops behind whole vectors is not the same in all of them: nothing is kept there.
    std::vector<std::string> widths;
    if (std::holds_alternative<std::string>(found))
      for (const Knob& knob : candidate.knobs)
        if (knob.kind == KnobKind::vector && constant_of(knob.default_value) == 1)
          widths.push_back(knob.name);
    if (!widths.empty()) {
      for (const std::string& width : widths)
        zeros[width] = 1;
      reading = std::make_unique<KernelView>(source, kernel, zeros);
      found = find_kept_elements(*reading, launch_facts_of(kernel, candidate));
    }
    const KernelView& view = *reading;
    if (const auto* reason = std::get_if<std::string>(&found))
      return Refusal{*reason};
    const KeptElements& kept = std::get<KeptElements>(found);

    Proposal proposal;
    const Names names{free_name(candidate.text, "KEEP"), free_name(candidate.text, "lathe_kept"),
                      free_name(candidate.text, "lathe_round")};
    const std::optional<EarlyRounds> early = early_rounds(view, candidate, kept, names.knob, names.round);
    declare(view, kept, names, early ? early->declarations : std::vector<std::string>(), proposal.edits);
    for (std::size_t i = 0; i < kept.loops.size(); ++i) {
      const std::string round =
          kept.loops[i].counts_rounds() ? kept.loops[i].counter->getNameAsString() : names.round;
      std::optional<Edit> closing; // behind what the accesses put there
      if (auto reason = rewrite_header(view, candidate, kept, kept.loops[i], names, proposal, closing))
        return Refusal{*reason};
      for (const BufferAccess& access : kept.accesses[i]) {
        const bool fills = kept.in_global_memory && i == 0;
        if (auto reason = !kept.object_type.empty()
                              ? keep_object(view, access, fills, round, names, proposal.edits)
                          : fills ? copy_access(view, access, round, names, proposal.edits)
                                  : rewrite_access(view, kept, access, round, names, proposal.edits))
          return Refusal{*reason};
      }
      if (closing)
        proposal.edits.push_back(*closing);
    }
    if (early)
      proposal.edits.insert(proposal.edits.end(), early->edits.begin(), early->edits.end());
    if (auto reason = state_limits(kept, candidate, names.knob, proposal))
      return Refusal{*reason};
    for (const std::string& width : widths)
      proposal.conditions.push_back(
          make_condition(names.knob + " == 0 || " + width + " == 1", "vectors are not kept"));
    const std::string array = kept.array->getNameAsString();
    proposal.knobs.push_back(
        make_knob(names.knob, KnobKind::tile, "unsigned", {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, "0",
                  "rounds of the loops at " + view.at_line(kept.loops.front().loop->getBeginLoc()) + " and " +
                      view.at_line(kept.loops.back().loop->getBeginLoc()) + " whose elements of " + array +
                      " stay in registers; 0 keeps none"));
    if (early) {
      proposal.conditions.push_back(early->condition);
      proposal.knobs.push_back(early->knob);
    }
    return proposal;
  }

private:
  struct Names {
    std::string knob, array, round;
  };

  // The registers, before the first loop.
  static void declare(const KernelView& view, const KeptElements& kept, const Names& names,
                      const std::vector<std::string>& further, std::vector<Edit>& edits) {
    const SourceManager& manager = view.context().getSourceManager();
    const std::string& text = view.file_text();
    std::size_t at = manager.getFileOffset(manager.getExpansionLoc(kept.loops.front().loop->getBeginLoc()));
    const LoopHint hint = loop_hint_of(view, kept.loops.front().loop);
    if (hint.present && hint.line.begin < at)
      at = hint.line.begin;
    const std::string count = kept.each == "1" ? names.knob : names.knob + " * " + kept.each;
    const bool vectors = kept.each != "1";
    const std::string type = !kept.object_type.empty()
                                 ? kept.object_type
                                 : std::string(vectors ? "alignas(16) " : "") + view.type_text(kept.element);
    std::vector<std::string> declarations{type + " " + names.array + "[" + names.knob +
                                          " == 0 ? 1 : " + count + "];"};
    declarations.insert(declarations.end(), further.begin(), further.end());
    const std::size_t start = line_start(text, at);
    const bool alone = text.find_first_not_of(" \t", start) == at;
    const std::string indent = hint.present ? indentation(text, manager.getFileOffset(manager.getExpansionLoc(
                                                                    kept.loops.front().loop->getBeginLoc())))
                                            : indentation(text, at);
    std::string lines;
    for (const std::string& declaration : declarations)
      lines += (alone || !lines.empty() ? indent : "") + declaration + "\n";
    edits.push_back(insert(alone ? start : at, lines));
  }

  static std::optional<std::string> rewrite_header(const KernelView& view, const Candidate& candidate,
                                                   const KeptElements& kept, const StridedLoop& loop,
                                                   const Names& names, Proposal& proposal,
                                                   std::optional<Edit>& closing) {
    const std::string where = "the loop at " + view.at_line(loop.loop->getBeginLoc());
    const LoopHint hint = loop_hint_of(view, loop.loop);
    const auto condition = view.range(loop.loop->getCond()->getSourceRange());
    const auto initial = view.range(loop.counter->getSourceRange());
    const auto step = view.range(loop.loop->getInc()->getSourceRange());
    const auto body = whole_statement(view, loop.loop->getBody());
    if (hint.unreadable || !condition || !initial || !step || !body)
      return where + " comes from a macro";
    if (hint.present && hint.owner.empty() && !hint.factor)
      return where + " is unrolled fully already";
    if (hint.present) {
      // An unroll knob is in force where nothing is kept.
      const std::string raw = view.text(hint.line).substr(view.text(hint.line).find("unroll") + 6);
      const std::string factor = hint.owner.empty() ? std::to_string(*hint.factor) : trimmed(raw);
      proposal.edits.push_back(replace(hint.line, "#pragma unroll (" + names.knob + " == 0 ? " + factor +
                                                      " : " + names.knob + ")"));
      for (const Knob& knob : candidate.knobs)
        if (knob.name == hint.owner)
          proposal.conditions.push_back(
              make_condition(names.knob + " == 0 || " + knob.name + " == " + knob.default_value.text(),
                             names.knob + " unrolls the loop itself"));
    } else {
      proposal.edits.push_back(set_loop_hint(view, loop.loop, hint, "#pragma unroll " + names.knob));
    }
    const std::string own = view.text(*condition);
    const std::string round = loop.counts_rounds() ? loop.counter->getNameAsString() : names.round;
    if (!loop.counts_rounds()) {
      proposal.edits.push_back(insert(initial->end, ", " + names.round + " = 0"));
      proposal.edits.push_back(insert(step->end, ", ++" + names.round));
    }
    proposal.edits.push_back(
        replace(*condition, names.knob + " == 0 ? " + own + " : " + round + " < " + names.knob));
    // Where the counter counts rounds, the conditions make KEEP their number.
    if (kept.guarded || loop.counts_rounds())
      return std::nullopt;
    const std::string& text = view.file_text();
    const std::string indent =
        indentation(text, view.range(SourceRange(loop.loop->getBeginLoc(), loop.loop->getBeginLoc()))->begin);
    const std::string guard = "\n" + indent + "  if constexpr (" + names.knob + " > 0) {\n" + indent +
                              "    if (!(" + own + "))\n" + indent + "      continue;\n" + indent + "  }";
    if (isa<CompoundStmt>(loop.loop->getBody())) {
      proposal.edits.push_back(insert(body->begin + 1, guard));
      return std::nullopt;
    }
    proposal.edits.push_back(insert(body->begin, "{" + guard + "\n" + indent + "  "));
    closing = insert(body->end, "\n" + indent + "}");
    return std::nullopt;
  }

  static std::optional<std::string> rewrite_access(const KernelView& view, const KeptElements& kept,
                                                   const BufferAccess& access, const std::string& round,
                                                   const Names& names, std::vector<Edit>& edits) {
    const auto bytes = view.range(access.expression->getSourceRange());
    if (!bytes)
      return "the access at " + view.at_line(access.expression->getBeginLoc()) + " comes from a macro";
    const std::string raw = view.text(*bytes);
    if (!access.is_address) {
      edits.push_back(
          replace(*bytes, "(" + names.knob + " == 0 ? " + raw + " : " + names.array + "[" + round + "])"));
      return std::nullopt;
    }
    const std::string offset = kept.each == "1" ? round : round + " * " + kept.each;
    edits.push_back(replace(*bytes, names.knob + " == 0 ? " + raw + " : " + names.array + " + " + offset));
    // The helper moves its object: it must not be larger than what the thread has in a round.
    const auto object = view.range(access.object->getSourceRange());
    const auto statement = view.range(access.statement->getSourceRange());
    if (!object || !statement)
      return "the access at " + view.at_line(access.expression->getBeginLoc()) + " comes from a macro";
    const std::string& text = view.file_text();
    const std::size_t start = line_start(text, statement->begin);
    const bool alone = text.find_first_not_of(" \t", start) == statement->begin;
    const std::string size =
        (kept.each == "1" ? "" : kept.each + " * ") + "sizeof(" + view.type_text(kept.element) + ")";
    const std::string assertion = "static_assert(" + names.knob + " == 0 || (sizeof(" + view.text(*object) +
                                  ") <= " + size + " && alignof(decltype(" + view.text(*object) +
                                  ")) <= 16));";
    edits.push_back(alone ? insert(start, indentation(text, start) + assertion + "\n")
                          : insert(statement->begin, assertion + " "));
    return std::nullopt;
  }

  // What goes to or comes from global memory goes there still, and to the registers.
  static std::optional<std::string> copy_access(const KernelView& view, const BufferAccess& access,
                                                const std::string& round, const Names& names,
                                                std::vector<Edit>& edits) {
    const auto bytes = view.range(access.expression->getSourceRange());
    if (!bytes)
      return "the access at " + view.at_line(access.expression->getBeginLoc()) + " comes from a macro";
    const std::string raw = view.text(*bytes), copy = names.array + "[" + round + "]";
    if (!access.writes) {
      edits.push_back(
          replace(*bytes, "(" + names.knob + " == 0 ? " + raw + " : (" + copy + " = " + raw + "))"));
      return std::nullopt;
    }
    // At 0 nobody reads the copy, and the compiler drops it.
    const auto assignment = binary_parts(view.parent(access.expression));
    const auto value =
        assignment ? view.range(assignment->right->getSourceRange()) : std::optional<TextRange>();
    if (!value || assignment->operation != BO_Assign)
      return "the store at " + view.at_line(access.expression->getBeginLoc()) + " comes from a macro";
    edits.push_back(insert(value->begin, names.array + "[" + names.knob + " == 0 ? 0 : " + round + "] = "));
    return std::nullopt;
  }

  // An object that a method fills: the first loop's is copied, and later ones are the copy.
  static std::optional<std::string> keep_object(const KernelView& view, const BufferAccess& access,
                                                bool fills, const std::string& round, const Names& names,
                                                std::vector<Edit>& edits) {
    const auto bytes = view.range(access.statement->getSourceRange());
    const std::string& text = view.file_text();
    const std::size_t end = bytes ? text.find_first_not_of(" \t\n", bytes->end) : std::string::npos;
    if (end == std::string::npos || text[end] != ';')
      return "the access at " + view.at_line(access.expression->getBeginLoc()) + " comes from a macro";
    const std::string object = view.text(access.object), copy = names.array + "[" + round + "]";
    const std::string indent = indentation(text, bytes->begin);
    if (fills) {
      edits.push_back(insert(end + 1, "\n" + indent + "if constexpr (" + names.knob + " > 0)\n" + indent +
                                          "  " + copy + " = " + object + ";"));
      return std::nullopt;
    }
    edits.push_back(insert(bytes->begin, "if constexpr (" + names.knob + " == 0)\n" + indent + "  "));
    edits.push_back(insert(end + 1, "\n" + indent + "else\n" + indent + "  " + object + " = " + copy + ";"));
    return std::nullopt;
  }

  // The rounds cover the loop, no round is idle, and the elements fit into registers.
  static std::optional<std::string> state_limits(const KeptElements& kept, const Candidate& candidate,
                                                 const std::string& knob, Proposal& proposal) {
    const std::string covers = kept.per_round == "1" ? "" : " * (" + kept.per_round + ")";
    proposal.conditions.push_back(make_condition(knob + " == 0 || " + knob + covers + " >= " + kept.bound,
                                                 "the rounds that are kept cover the loop"));
    const std::string free = kept.loops.front().counts_rounds() && !kept.guarded ? " == 0" : " <= 1";
    proposal.conditions.push_back(
        make_condition(knob + free + " || (" + knob + " - 1)" + covers + " < " + kept.bound,
                       "no round that is kept lies behind the loop's end"));
    const auto size = size_of_type(candidate, kept.element.getAsString());
    if (size && !kept.each_at_launch.empty())
      proposal.conditions.push_back(
          make_condition(knob + " * " + kept.each_at_launch + " * " + *size + " <= 512",
                         "what is kept fits into registers"));
    if (!kept.before || !size)
      return std::nullopt;
    // Only what stands before the kept elements is used then.
    LaunchGeometry launch = candidate.launch;
    launch.shared_bytes = make_expression("(" + knob + " == 0 ? " + canonical(candidate.launch.shared_bytes) +
                                          " : (" + *kept.before + ") * " + *size + ")");
    proposal.launch = launch;
    return std::nullopt;
  }
};

} // namespace

std::unique_ptr<Rule> make_keep_in_registers() {
  return std::make_unique<KeepInRegisters>();
}

} // namespace lathe::refactor
