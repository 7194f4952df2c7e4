// split-block: several blocks share what one raw block does, for launches that have fewer blocks than the
// device.
#include "refactor/knobs/communication.h"
#include "refactor/knobs/geometry.h"
#include "refactor/knobs/thread_model.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/ExprCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// The expression that a block-size knob made of a read of the block size, with its parentheses:
// (BLOCK == 0 ? blockDim.x : BLOCK).
const Expr* with_choice(const KernelView& view, const Expr* use) {
  const Expr* top = use;
  for (const Stmt* above = view.parent(use); above; above = view.parent(above)) {
    if (const auto* choice = dyn_cast<ConditionalOperator>(above); choice && view.decide(choice->getCond()))
      top = choice;
    else if (!isa<ParenExpr>(above) && !isa<CastExpr>(above) && !isa<PseudoObjectExpr>(above))
      break;
  }
  if (const auto* parentheses = dyn_cast_or_null<ParenExpr>(view.parent(top)); parentheses && top != use)
    top = parentheses;
  return top;
}

class SplitBlock : public Rule {
public:
  std::string_view name() const override { return "split-block"; }
  std::string_view summary() const override {
    return "lets several blocks share the loop of one raw block where its threads never communicate";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    if (const std::string how = communication(view); !how.empty())
      return Refusal{"the threads of a block communicate: " + how};
    if (constant_of(candidate.launch.grid[1]) != 1)
      return Refusal{"the grid's second axis is in use: " + candidate.launch.grid[1].text()};
    std::string count;
    std::vector<const Expr*> threads;
    bool other_axis = false;
    view.visit([&](const Stmt* statement) {
      const auto* pseudo = dyn_cast<PseudoObjectExpr>(statement);
      const std::string builtin = pseudo ? KernelView::builtin_name(pseudo) : "";
      if (builtin == "blockDim.x")
        count = builtin;
      if (builtin == "threadIdx.x")
        threads.push_back(pseudo);
      other_axis |= builtin == "blockIdx.y" || builtin == "gridDim.y" || builtin == "gridDim.x";
    });
    if (other_axis)
      return Refusal{"the kernel reads blockIdx.y or the grid's size"};
    std::string size = count;
    if (count.empty())
      for (const Knob& knob : candidate.knobs)
        if (canonical(candidate.launch.block[0]) == knob.name) {
          count = "template:" + knob.name;
          size = knob.name;
        }
    if (count.empty())
      return Refusal{"the kernel does not read its block size"};
    // A block-size knob must stay an atom for the analysis.
    std::map<std::string, std::int64_t> defaults;
    for (const Knob& knob : candidate.knobs)
      if (const auto value = constant_of(knob.default_value); value && count != "template:" + knob.name)
        defaults[knob.name] = *value;
    KernelView open(source, kernel, defaults);
    auto analysed = analyse_threads(open, {"threadIdx.x", count}, !constant_of(candidate.launch.block[0]));
    if (const auto* refusal = std::get_if<ThreadRefusal>(&analysed))
      return Refusal{refusal->reason};
    const ThreadModel& model = std::get<ThreadModel>(analysed);
    if (!model.unguarded.empty())
      return Refusal{model.unguarded};
    if (!model.whole_rounds.empty())
      return Refusal{"a loop's rounds are counted by a quotient, so that more threads would leave some over"};
    if (!model.guards.empty())
      return Refusal{"threads are compared with a size at " +
                     view.at_line(model.guards.front().limit->getBeginLoc())};
    if (!model.grid_axes.empty() || !model.strided)
      return Refusal{"the index spans blocks already: another grid does the same"};

    Proposal proposal;
    const std::string name = free_name(candidate.text, "SPLIT");
    std::set<std::size_t> done;
    std::vector<const FunctionDecl*> users;
    std::string own_size;
    for (const Expr* use : model.count_uses) {
      const Expr* top = with_choice(open, use);
      const auto bytes = open.range(top->getSourceRange());
      if (!bytes)
        return Refusal{"the block size at " + open.at_line(use->getBeginLoc()) + " comes from a macro"};
      if (!done.insert(bytes->begin).second)
        continue;
      own_size = open.text(*bytes);
      proposal.edits.push_back(insert(bytes->begin, "("));
      proposal.edits.push_back(insert(bytes->end, " * " + name + ")"));
      users.push_back(open.enclosing_function(use));
    }
    for (const Expr* use : threads) {
      const auto bytes = view.range(use->getSourceRange());
      if (!bytes)
        return Refusal{"threadIdx.x at " + view.at_line(use->getBeginLoc()) + " comes from a macro"};
      proposal.edits.push_back(replace(*bytes, "(" + name +
                                                   " == 1 ? threadIdx.x : threadIdx.x + blockIdx.y * " +
                                                   (own_size.empty() ? size : own_size) + ")"));
      users.push_back(view.enclosing_function(use));
    }
    if (auto reason = pass_knob_down(view, "unsigned", name, users, proposal.edits))
      return Refusal{*reason};
    LaunchGeometry launch = candidate.launch;
    launch.grid[1] = make_expression(name);
    proposal.launch = launch;
    proposal.knobs.push_back(
        make_knob(name, KnobKind::coarsen, "unsigned", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}, "1",
                  "blocks that share the loop of one raw block, dealt out at " + model.evidence));
    return proposal;
  }
};

} // namespace

std::unique_ptr<Rule> make_split_block() {
  return std::make_unique<SplitBlock>();
}

} // namespace lathe::refactor
