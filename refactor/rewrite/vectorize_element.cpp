// vectorize-element: threads that take one element each take several neighbours at once.
#include "refactor/knobs/thread_element.h"
#include "refactor/rewrite/grid_end.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/vector_code.h"

namespace lathe::refactor {

using namespace clang;

namespace {

class VectorizeElement : public Rule {
public:
  std::string_view name() const override { return "vectorize-element"; }
  std::string_view summary() const override {
    return "lets each thread take several neighbouring elements at once where it takes one";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    if (std::ranges::find(candidate.applied, name()) != candidate.applied.end())
      return Refusal{"a thread takes several elements already"};
    KernelView view = view_of(source, kernel, candidate);
    auto read = read_thread_element(view, launch_facts_of(kernel, candidate));
    if (const auto* reason = std::get_if<std::string>(&read))
      return Refusal{*reason};
    const ThreadElement& element = std::get<ThreadElement>(read);
    const std::string where = "the work at " + view.at_line(element.guard->getBeginLoc());
    if (auto unknown = unknown_element(view, candidate, element.accesses))
      return Refusal{where + " " + *unknown};

    Proposal proposal;
    const std::string knob = free_name(candidate.text, "VEC");
    const VectorCode code(view, element.accesses, element.number, knob, "");
    const auto text = vector_part(view, element, code, knob);
    const auto guard = view.range(element.guard->getSourceRange());
    if (!text || !guard)
      return Refusal{where + " comes from a macro"};
    proposal.edits.push_back(insert(line_start(view.file_text(), guard->begin), *text));
    VectorCode::add_helpers(candidate.text, proposal.edits);
    proposal.knobs.push_back(vector_knob(knob, where));

    // Elements behind the raw grid's end are taken too, where its last block has room for them.
    divide_grid(view, kernel, candidate, knob, "the grid's elements are whole blocks'", ", or all there are",
                proposal);
    return proposal;
  }

private:
  // In front of the guard: whole vectors, and what else belongs to the thread an element at a time.
  static std::optional<std::string> vector_part(const KernelView& view, const ThreadElement& element,
                                                const VectorCode& code, const std::string& knob) {
    const auto guard = view.range(element.guard->getSourceRange());
    const auto condition = view.range(element.guard->getCond()->getSourceRange());
    const std::string bound = view.text(element.bound);
    if (!guard || !condition || bound.empty())
      return std::nullopt;
    const std::string in = indentation(view.file_text(), guard->begin), deep = in + "      ";
    const std::string number = element.number->getNameAsString(),
                      type = view.type_text(element.number->getType());

    std::string together = code.first() + " < " + code.done();
    for (const Expr* asked : element.conditions) {
      const std::string text = view.text(asked);
      if (text.empty())
        return std::nullopt;
      together += (element.leaves ? " && !(" : " && (") + text + ")";
    }
    together += " && " + code.aligned(code.first());

    std::string one = deep + code.own_number() + "\n", several = one, asked_of_each = one;
    for (const DeclStmt* declaration : element.dependent) {
      const auto bytes = whole_statement(view, declaration);
      if (!bytes)
        return std::nullopt;
      one += deep + view.text(*bytes) + "\n";
      asked_of_each += deep + view.text(*bytes) + "\n";
      several += deep + code.work(*bytes) + "\n";
    }
    one += deep + "if (" + (element.leaves ? "!(" + view.text(*condition) + ")" : view.text(*condition)) +
           ") {\n";
    for (const Stmt* statement : element.work) {
      const auto bytes = whole_statement(view, statement);
      if (!bytes)
        return std::nullopt;
      one += deep + "  " + view.text(*bytes) + "\n";
      several += deep + code.work(*bytes) + "\n";
    }
    one += deep + "}\n";

    const std::string lanes = in + "    for (int " + code.lane() + " = 0; " + code.lane() + " < " + knob +
                              "; ++" + code.lane() + ") {\n";
    // What the guard asks of the element is asked of each.
    std::string whole;
    if (!element.of_element.empty()) {
      const std::string is_whole = free_name(view.file_text(), "lathe_whole");
      asked_of_each += deep + is_whole + " = " + is_whole;
      for (const Expr* asked : element.of_element) {
        const std::string text = view.text(asked);
        if (text.empty())
          return std::nullopt;
        asked_of_each += (element.leaves ? " && !(" : " && (") + text + ")";
      }
      whole = in + "  bool " + is_whole + " = " + together + ";\n" + in + "  if (" + is_whole + ") {\n" +
              "#pragma unroll\n" + lanes + asked_of_each + ";\n" + in + "    }\n" + in + "  }\n";
      together = is_whole;
    }
    return in + "if constexpr (" + knob + " > 1) {\n" + in + "  const " + type + " " + code.first() + " = " +
           number + " * " + knob + ", " + code.done() + " = (" + bound + ") / " + knob + " * " + knob +
           ";\n" + whole + in + "  if (" + together + ") {\n" + code.loads(in + "    ") + "#pragma unroll\n" +
           lanes + several + in + "    }\n" + code.stores(in + "    ") + in + "  } else {\n" + lanes + one +
           in + "    }\n" + in + "  }\n" + in + "  return;\n" + in + "}\n";
  }
};

} // namespace

std::unique_ptr<Rule> make_vectorize_element() {
  return std::make_unique<VectorizeElement>();
}

} // namespace lathe::refactor
