// vectorize-loop: threads that take elements one by one take several neighbours at once.
#include "refactor/knobs/element_loop.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/loop_hint.h"

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

const char* const helpers = R"(
// COUNT elements that are moved together.
template <class T, int COUNT> struct alignas(sizeof(T) * COUNT < 16 ? sizeof(T) * COUNT : 16) lathe_elements {
  T element[COUNT];
};
// Whether COUNT elements from here on can be moved together.
template <int COUNT, class T> __device__ __forceinline__ bool lathe_aligned(const T* first) {
  return reinterpret_cast<unsigned long long>(first) % alignof(lathe_elements<T, COUNT>) == 0;
}
)";

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
    for (const StridedLoop& loop : loops) {
      const std::string where = view.at_line(loop.loop->getBeginLoc());
      const auto others = std::ranges::count_if(
          loops, [&](const StridedLoop& other) { return other.step_by && other.limit == loop.limit; });
      if (others > 1) {
        reason = "the loop at " + where + " is one of several over the same elements";
        continue;
      }
      const auto read = read_element_loop(view, loop, facts);
      if (const auto* why = std::get_if<std::string>(&read)) {
        reason = *why;
        continue;
      }
      if (const auto why = vectorize(view, candidate, std::get<ElementLoop>(read), proposal))
        reason = *why;
    }
    if (proposal.knobs.empty())
      return Refusal{reason};
    if (!has_helper(candidate.text, "lathe_elements"))
      proposal.edits.push_back(insert(prelude_position(candidate.text), helpers));
    return proposal;
  }

private:
  struct Names {
    std::string knob, done, first, lane;
    std::vector<std::string> vectors; // one an access
  };

  static std::string type_text(const KernelView& view, QualType type) {
    return type.getUnqualifiedType().getAsString(view.context().getPrintingPolicy());
  }

  static std::optional<std::string> vectorize(const KernelView& view, const Candidate& candidate,
                                              const ElementLoop& read, Proposal& proposal) {
    const StridedLoop& loop = read.loop;
    const std::string where = "the loop at " + view.at_line(loop.loop->getBeginLoc());
    const LoopHint hint = loop_hint_of(view, loop.loop);
    const auto initial = view.range(loop.counter->getInit()->getSourceRange());
    const auto whole = view.range(loop.loop->getSourceRange());
    auto body = view.range(loop.loop->getBody()->getSourceRange());
    const std::string bound = view.text(loop.bound), step = view.text(loop.step_by);
    if (hint.unreadable || !initial || !whole || !body || bound.empty() || step.empty())
      return where + " comes from a macro";
    for (const ElementAccess& access : read.accesses)
      if (!size_of_type(candidate, type_text(view, access.element)))
        return where + " moves elements of type " + type_text(view, access.element);
    const std::string& text = view.file_text();
    if (!isa<CompoundStmt>(loop.loop->getBody()))
      if (const std::size_t next = text.find_first_not_of(" \t\n", body->end);
          next != std::string::npos && text[next] == ';' && text[body->end - 1] != ';')
        body->end = next + 1;

    std::vector<std::string> taken;
    for (const Knob& knob : proposal.knobs)
      taken.push_back(knob.name);
    const std::string suffix = taken.empty() ? "" : "_" + std::to_string(taken.size() + 1);
    Names names{free_name(text, "VEC", taken),
                free_name(text, "lathe_done" + suffix),
                free_name(text, "lathe_first" + suffix),
                free_name(text, "lathe_lane" + suffix),
                {}};
    for (const ElementAccess& access : read.accesses)
      names.vectors.push_back(free_name(text, "lathe_" + access.name + suffix, names.vectors));

    const std::size_t at = hint.present ? std::min(hint.line.begin, whole->begin) : whole->begin;
    const std::string before = vector_part(view, read, names, *body, view.text(*initial), bound, step,
                                           indentation(text, whole->begin));
    proposal.edits.push_back(insert(line_start(text, at), before));
    proposal.edits.push_back(insert(initial->begin, names.done + " + "));
    if (needs_parentheses(loop.counter->getInit())) {
      proposal.edits.back().replacement += "(";
      proposal.edits.push_back(insert(initial->end, ")"));
    }
    proposal.knobs.push_back(make_knob(names.knob, KnobKind::vector, "int", {1, 2, 4, 8, 16}, "1",
                                       "neighbouring elements that a thread takes at once in " + where));
    return std::nullopt;
  }

  static bool needs_parentheses(const Expr* expression) {
    const Expr* plain = expression->IgnoreImpCasts();
    return !isa<DeclRefExpr>(plain) && !isa<PseudoObjectExpr>(plain) && !isa<ParenExpr>(plain) &&
           !isa<IntegerLiteral>(plain);
  }

  // Whole vectors first; the loop as it was goes on behind them.
  static std::string vector_part(const KernelView& view, const ElementLoop& read, const Names& names,
                                 TextRange body, const std::string& start, const std::string& bound,
                                 const std::string& step, const std::string& indent) {
    const std::string counter = read.loop.counter->getNameAsString(),
                      type = type_text(view, read.loop.counter->getType());
    const auto address = [&](const ElementAccess& access, const std::string& index) {
      return "&" + replace_word(access.text, counter, index);
    };
    const auto vector = [&](const ElementAccess& access) {
      return "lathe_elements<" + type_text(view, access.element) + ", " + names.knob + ">";
    };
    std::string aligned, loads, stores;
    for (std::size_t i = 0; i < read.accesses.size(); ++i) {
      const ElementAccess& access = read.accesses[i];
      aligned += (i ? " && " : "") + ("lathe_aligned<" + names.knob + ">(") + address(access, "0") + ")";
      const std::string place = "reinterpret_cast<" + std::string(access.writes ? "" : "const ") +
                                vector(access) + "*>(" + address(access, names.first) + ")";
      loads += indent + "    " + (access.writes ? "" : "const ") + vector(access) + " " + names.vectors[i] +
               (access.reads ? " = *" + place : "") + ";\n";
      if (access.writes)
        stores += indent + "    *" + place + " = " + names.vectors[i] + ";\n";
    }
    std::string text = indent + "const " + type + " " + names.done + " = " + names.knob +
                       " == 1 ? 0 : " + aligned + " ? (" + bound + ") / " + names.knob + " * " + names.knob +
                       " : 0;\n";
    text += indent + "if constexpr (" + names.knob + " > 1) {\n";
    text += indent + "  for (" + type + " " + names.first + " = (" + start + ") * " + names.knob + "; " +
            names.first + " < " + names.done + "; " + names.first + " += (" + step + ") * " + names.knob +
            ") {\n";
    text += loads;
    text += "#pragma unroll\n";
    text += indent + "    for (int " + names.lane + " = 0; " + names.lane + " < " + names.knob + "; ++" +
            names.lane + ") {\n";
    text += indent + "      const " + type + " " + counter + " = " + names.first + " + " + names.lane + ";\n";
    text += indent + "      " + element_work(view, read, names, body) + "\n";
    text += indent + "    }\n" + stores + indent + "  }\n" + indent + "}\n";
    return text;
  }

  // The body, with each access that moves as part of a vector in its place there.
  static std::string element_work(const KernelView& view, const ElementLoop& read, const Names& names,
                                  TextRange body) {
    std::vector<std::pair<TextRange, std::string>> changes;
    for (std::size_t i = 0; i < read.accesses.size(); ++i)
      for (const TextRange& place : read.accesses[i].places)
        changes.emplace_back(place, names.vectors[i] + ".element[" + names.lane + "]");
    std::ranges::sort(changes, {}, [](const auto& change) { return change.first.begin; });
    std::string work;
    std::size_t done = body.begin;
    for (const auto& [place, replacement] : changes) {
      work += view.text({done, place.begin}) + replacement;
      done = place.end;
    }
    return work + view.text({done, body.end});
  }
};

} // namespace

std::unique_ptr<Rule> make_vectorize_loop() {
  return std::make_unique<VectorizeLoop>();
}

} // namespace lathe::refactor
