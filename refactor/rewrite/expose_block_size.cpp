// expose-block-size: blockDim becomes a template parameter where any block size computes the same.
#include "refactor/knobs/geometry.h"
#include "refactor/knobs/thread_model.h"
#include "refactor/rewrite/block_knob.h"
#include "refactor/rewrite/launch_facts.h"

namespace lathe::refactor {

namespace {

class ExposeBlockSize : public Rule {
public:
  std::string_view name() const override { return "expose-block-size"; }
  std::string_view summary() const override {
    return "turns blockDim into a template parameter where every block size computes the same";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    Proposal proposal;
    LaunchGeometry launch = candidate.launch;
    std::string reasons;
    for (int axis = 0; axis < 3; ++axis) {
      const std::string reason = expose(axis, source, kernel, candidate, launch, proposal);
      if (!reason.empty())
        reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    if (proposal.knobs.empty())
      return Refusal{reasons.empty() ? "the kernel does not read blockDim" : reasons};
    proposal.conditions.push_back(make_condition(block_threads(launch) + " <= device.max_threads_per_block",
                                                 "a block has no more threads than the device allows"));
    if (launch.shared_bytes.text() != candidate.launch.shared_bytes.text())
      proposal.conditions.push_back(
          make_condition("(" + launch.shared_bytes.text() + ") <= device.shared_per_block_optin",
                         "the dynamic shared memory follows the block size"));
    proposal.launch = launch;
    return proposal;
  }

private:
  // Adds the knob of one axis; returns why not, or nothing when the axis is not used or the knob was added.
  std::string expose(int axis, ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate,
                     LaunchGeometry& launch, Proposal& proposal) const {
    const std::string letter(1, "xyz"[axis]);
    const Expression raw = candidate.launch.block[static_cast<std::size_t>(axis)];
    const auto constant = constant_of(raw);
    KernelView view = view_of(source, kernel, candidate);
    const bool reads = [&] {
      bool found = false;
      view.visit([&](const clang::Stmt* statement) {
        if (const auto* pseudo = clang::dyn_cast<clang::PseudoObjectExpr>(statement))
          found |= KernelView::builtin_name(pseudo) == "blockDim." + letter;
      });
      return found;
    }();
    if (!reads)
      return {};
    if (constant == 1)
      return "the launcher's block has one thread along " + letter;
    const ThreadAxis thread_axis{"threadIdx." + letter, "blockDim." + letter};
    auto analysed = analyse_threads(view, thread_axis, !constant);
    if (const auto* refusal = std::get_if<ThreadRefusal>(&analysed))
      return refusal->reason;
    const ThreadModel& model = std::get<ThreadModel>(analysed);
    std::vector<std::string> taken;
    for (const Knob& knob : proposal.knobs)
      taken.push_back(knob.name);
    const std::string knob_name = free_name(candidate.text,
                                            axis == 0   ? "BLOCK"
                                            : axis == 1 ? "BLOCK_Y"
                                                        : "BLOCK_Z",
                                            taken);
    // 0 leaves the raw kernel's own text in force, so that its machine code needs no precondition.
    const std::string in_kernel = "(" + knob_name + " == 0 ? blockDim." + letter + " : " + knob_name + ")";
    BlockKnob block;
    block.name = knob_name;
    block.axis = axis;
    block.raw = raw;
    block.text = "(" + knob_name + " == 0 ? " + raw.text() + " : " + knob_name + ")";
    std::vector<Edit> edits;
    std::vector<const clang::FunctionDecl*> users;
    for (const clang::Expr* use : model.count_uses) {
      const auto bytes = view.range(use->getSourceRange());
      if (!bytes)
        return "blockDim." + letter + " at " + view.at_line(use->getBeginLoc()) + " comes from a macro";
      edits.push_back(replace(*bytes, in_kernel));
      users.push_back(view.enclosing_function(use));
    }
    if (auto reason = pass_knob_down(view, "unsigned", knob_name, users, edits))
      return "blockDim." + letter + ": " + *reason;
    LaunchGeometry changed = launch;
    if (auto reason = fit_grid(block, model, candidate, true, changed, proposal.conditions))
      return *reason;
    if (auto reason = follow_launch_bounds(view, block, constant, edits, proposal.conditions))
      return *reason;
    if (auto reason = follow_cub(view, knob_name, block_threads(changed), proposal.conditions))
      return *reason;
    add_block_conditions(block, model, true, proposal.conditions);
    LaunchFacts facts = launch_facts_of(kernel, candidate);
    facts.block[static_cast<std::size_t>(axis)] = block.text;
    if (auto reason =
            keep_rounds_whole(view, facts, model.whole_rounds, knob_name + " == 0 || ", proposal.conditions))
      return *reason;
    if (auto reason = keep_guarded_threads(view, facts, model, block, true, proposal.conditions))
      return *reason;
    proposal.knobs.push_back(make_knob(knob_name, KnobKind::block, "unsigned",
                                       block_values(candidate, axis, constant, true), "0",
                                       "blockDim." + letter + " deals the work out at " + model.evidence +
                                           "; 0 is the launcher's own " + raw.text()));
    proposal.edits.insert(proposal.edits.end(), edits.begin(), edits.end());
    launch = changed;
    return {};
  }
};

} // namespace

std::unique_ptr<Rule> make_expose_block_size() {
  return std::make_unique<ExposeBlockSize>();
}

} // namespace lathe::refactor
