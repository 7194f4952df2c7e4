// parallelize-loop: what the first thread of a block does in a loop, all of its threads do in turn.
#include "refactor/knobs/first_thread_loops.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/Stmt.h>

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class Parallelize {
public:
  Parallelize(const KernelView& view, const FirstThreadLoops& work, const std::string& knob)
      : view_(view), work_(work), knob_(knob),
        thread_(work.along_x ? "threadIdx.x" : "(threadIdx.y * blockDim.x + threadIdx.x)"),
        threads_(work.along_x ? "blockDim.x" : "(blockDim.x * blockDim.y)") {}

  // False where a part of the branch has no text of its own.
  bool edit(std::vector<Edit>& edits) const {
    const std::string& text = view_.file_text();
    const auto branch = whole_statement(view_, work_.branch);
    const auto close = view_.range(SourceRange(work_.branch->getRParenLoc(), work_.branch->getRParenLoc()));
    if (!branch || !close)
      return false;
    std::vector<Edit> headers;
    for (const StridedLoop& loop : work_.loops)
      if (!stride(loop, close->end, headers))
        return false;
    const auto shared = apply_edits(text.substr(close->end, branch->end - close->end), headers);
    std::string condition;
    for (const Expr* other : work_.others) {
      const std::string one = view_.text(other);
      if (one.empty())
        return false;
      condition += (condition.empty() ? "" : " && ") + one;
    }
    if (!shared.ok())
      return false;
    const std::string indent = indentation(text, branch->begin);
    const bool has_braces = condition.empty() && isa<CompoundStmt>(work_.branch->getThen());
    std::string before = "if constexpr (" + knob_ + " != 0)";
    if (has_braces)
      before += *shared;
    else
      before += " {" +
                (condition.empty() ? *shared : fmt::format("\n{}  if ({}){}", indent, condition, *shared)) +
                "\n" + indent + "}";
    edits.push_back(insert(branch->begin, before + " else {\n" + indent));
    edits.push_back(insert(branch->end, "\n" + indent + "}"));
    return true;
  }

private:
  const KernelView& view_;
  const FirstThreadLoops& work_;
  const std::string knob_, thread_, threads_;

  // The loop's header, in a copy of the text from `origin` on: a block-stride loop.
  bool stride(const StridedLoop& loop, std::size_t origin, std::vector<Edit>& headers) const {
    const auto start = view_.range(loop.counter->getInit()->getSourceRange()),
               step = view_.range(loop.loop->getInc()->getSourceRange());
    if (!start || !step || start->begin < origin)
      return false;
    const std::string type = view_.type_text(loop.counter->getType()),
                      own = "static_cast<" + type + ">(" + thread_ + ")",
                      all = "static_cast<" + type + ">(" + threads_ + ")";
    const bool is_deduced = loop.counter->getType()->getContainedAutoType() != nullptr;
    const std::string by = loop.step_by ? "(" + view_.text(loop.step_by) + ") * " : "";
    std::string first = loop.start.is_zero() && by.empty() ? is_deduced ? own : thread_
                        : loop.start.is_zero()             ? by + own
                                                           : "(" + view_.text(*start) + ") + " + by + own;
    const auto at = [&](TextRange range) { return TextRange{range.begin - origin, range.end - origin}; };
    headers.push_back(replace(at(*start), std::move(first)));
    headers.push_back(
        replace(at(*step), loop.counter->getNameAsString() + " += " + by + (by.empty() ? threads_ : all)));
    return !loop.step_by || !view_.text(loop.step_by).empty();
  }
};

class ParallelizeLoop : public Rule {
public:
  std::string_view name() const override { return "parallelize-loop"; }
  std::string_view summary() const override {
    return "deals a loop that is left to the first thread of a block out to all of its threads";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    if (std::ranges::find(candidate.applied, name()) != candidate.applied.end())
      return Refusal{"the first thread's loops are dealt out already"};
    KernelView view(source, kernel); // what holds must hold whatever the knobs are
    const auto found = find_first_thread_loops(view, launch_facts_of(kernel, candidate));
    if (const auto* reason = std::get_if<std::string>(&found))
      return Refusal{*reason};
    const std::string knob = free_name(candidate.text, "BLOCK_STRIDE");
    Proposal proposal;
    std::string lines;
    for (const FirstThreadLoops& work : std::get<std::vector<FirstThreadLoops>>(found))
      if (Parallelize(view, work, knob).edit(proposal.edits))
        for (const StridedLoop& loop : work.loops)
          lines += (lines.empty() ? "" : ", ") + view.at_line(loop.loop->getBeginLoc());
    if (lines.empty())
      return Refusal{"the loops of the first thread come from macros"};
    proposal.knobs.push_back(make_knob(knob, KnobKind::coarsen, "int", {0, 1}, "0",
                                       "1: the rounds of the loop at " + lines +
                                           " are dealt out to all threads of the block; 0: its first thread "
                                           "does them, as in the raw kernel"));
    return proposal;
  }
};

} // namespace

std::unique_ptr<Rule> make_parallelize_loop() {
  return std::make_unique<ParallelizeLoop>();
}

} // namespace lathe::refactor
