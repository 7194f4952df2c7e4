// vectorize-loop: threads that take elements one by one take several neighbours at once.
#include "refactor/knobs/element_loop.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/loop_hint.h"
#include "refactor/rewrite/vector_code.h"

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

class VectorizeLoop : public Rule {
public:
  std::string_view name() const override { return "vectorize-loop"; }
  std::string_view summary() const override {
    return "lets each thread of a loop over elements take several neighbours at once";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    const LaunchFacts facts = launch_facts_of(kernel, candidate);
    const std::vector<StridedLoop> loops = strided_loops(view);
    std::string reason = "no loop deals elements out to threads";
    Proposal proposal;
    std::vector<std::pair<Polynomial, std::string>> knobs; // of loops over the same elements: one
    for (const StridedLoop& loop : loops) {
      const auto read = read_element_loop(view, loop, facts);
      if (const auto* why = std::get_if<std::string>(&read)) {
        reason = *why;
        continue;
      }
      if (const auto why = vectorize(view, candidate, std::get<ElementLoop>(read), knobs, proposal))
        reason = *why;
    }
    if (proposal.knobs.empty())
      return Refusal{reason};
    VectorCode::add_helpers(candidate.text, proposal.edits);
    return proposal;
  }

private:
  static std::optional<std::string> vectorize(const KernelView& view, const Candidate& candidate,
                                              const ElementLoop& read,
                                              std::vector<std::pair<Polynomial, std::string>>& knobs,
                                              Proposal& proposal) {
    const StridedLoop& loop = read.loop;
    const std::string where = "the loop at " + view.at_line(loop.loop->getBeginLoc());
    const LoopHint hint = loop_hint_of(view, loop.loop);
    const auto initial = view.range(loop.counter->getInit()->getSourceRange());
    const auto whole = view.written_range(loop.loop->getSourceRange());
    const auto body = whole_statement(view, loop.loop->getBody());
    const std::string bound = view.text(loop.bound), step = view.text(loop.step_by);
    if (hint.unreadable || !initial || !whole || !body || bound.empty() || step.empty())
      return where + " comes from a macro";
    std::vector<ElementAccess> accesses = read.accesses;
    std::erase_if(accesses, [&](const ElementAccess& access) {
      return access.on_chip && unknown_element(view, candidate, {access});
    });
    if (auto unknown = unknown_element(view, candidate, accesses))
      return where + " " + *unknown;
    const std::string& text = view.file_text();

    const std::string suffix = knobs.empty() ? "" : "_" + std::to_string(knobs.size() + 1);
    const auto shared = std::ranges::find(knobs, loop.limit, &std::pair<Polynomial, std::string>::first);
    const bool is_new = shared == knobs.end();
    std::vector<std::string> taken;
    for (const auto& [limit, name] : knobs)
      taken.push_back(name);
    const std::string knob = is_new ? free_name(text, "VEC", taken) : shared->second;
    knobs.emplace_back(loop.limit, knob);
    const VectorCode code(view, accesses, loop.counter, knob, suffix);

    const std::size_t at = hint.present ? std::min(hint.line.begin, whole->begin) : whole->begin;
    const std::string before = vector_part(view.type_text(loop.counter->getType()), code, knob, *body,
                                           view.text(*initial), bound, step, indentation(text, whole->begin));
    proposal.edits.push_back(insert(line_start(text, at), before));
    proposal.edits.push_back(insert(initial->begin, code.done() + " + "));
    if (needs_parentheses(loop.counter->getInit())) {
      proposal.edits.back().replacement += "(";
      proposal.edits.push_back(insert(initial->end, ")"));
    }
    if (is_new)
      proposal.knobs.push_back(vector_knob(knob, where));
    return std::nullopt;
  }

  static bool needs_parentheses(const Expr* expression) {
    const Expr* plain = expression->IgnoreImpCasts();
    return !isa<DeclRefExpr>(plain) && !isa<PseudoObjectExpr>(plain) && !isa<ParenExpr>(plain) &&
           !isa<IntegerLiteral>(plain);
  }

  // Whole vectors first; the loop as it was goes on behind them.
  static std::string vector_part(const std::string& type, const VectorCode& code, const std::string& knob,
                                 TextRange body, const std::string& start, const std::string& bound,
                                 const std::string& step, const std::string& indent) {
    std::string text = indent + "const " + type + " " + code.done() + " = " + knob +
                       " == 1 ? 0 : " + code.aligned("0") + " ? (" + bound + ") / " + knob + " * " + knob +
                       " : 0;\n";
    text += indent + "if constexpr (" + knob + " > 1) {\n";
    if (const std::string on_chip = code.aligned_on_chip("0"); !on_chip.empty())
      text += indent + "  const bool " + code.together() + " = " + on_chip + ";\n";
    text += indent + "  for (" + type + " " + code.first() + " = (" + start + ") * " + knob + "; " +
            code.first() + " < " + code.done() + "; " + code.first() + " += (" + step + ") * " + knob +
            ") {\n";
    text += code.loads(indent + "    ");
    text += "#pragma unroll\n";
    text += indent + "    for (int " + code.lane() + " = 0; " + code.lane() + " < " + knob + "; ++" +
            code.lane() + ") {\n";
    text += indent + "      " + code.own_number() + "\n";
    text += indent + "      " + code.work(body) + "\n";
    text += indent + "    }\n" + code.stores(indent + "    ") + indent + "  }\n" + indent + "}\n";
    return text;
  }
};

} // namespace

std::unique_ptr<Rule> make_vectorize_loop() {
  return std::make_unique<VectorizeLoop>();
}

} // namespace lathe::refactor
