// launch-bounds: the minimum number of blocks a multiprocessor must hold becomes a knob.
#include "refactor/rewrite/block_knob.h"

#include "refactor/knobs/geometry.h"

#include <clang/Basic/SourceManager.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// NVRTC and nvcc 13.0 treat __launch_bounds__(0, 0) as if it were absent, and a second argument of 0 as if it
// were not given: identical machine code and resource records, so the default needs no precondition.
class LaunchBoundsRule : public Rule {
public:
  std::string_view name() const override { return "launch-bounds"; }
  std::string_view summary() const override {
    return "adds the minimum number of resident blocks to the launch bounds";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    const LaunchBounds bounds = launch_bounds_of(view);
    if (bounds.unreadable)
      return Refusal{"the launch bounds come from a macro"};
    Proposal proposal;
    const std::string name = free_name(candidate.text, "MIN_BLOCKS");
    std::int64_t raw = 0;
    std::string why = "registers against resident blocks; 0 leaves it to the compiler as the raw kernel does";
    if (bounds.arguments.size() > 2)
      return Refusal{"the launch bounds state a cluster size"};
    if (bounds.arguments.size() == 2) {
      if (!bounds.values[1])
        return Refusal{"the minimum of resident blocks, " + view.text(bounds.arguments[1]) +
                       ", is not a constant"};
      for (const Knob& knob : candidate.knobs)
        if (has_word(view.text(bounds.arguments[1]), knob.name))
          return Refusal{"the minimum of resident blocks is a knob already"};
      raw = *bounds.values[1];
      proposal.edits.push_back(replace(bounds.arguments[1], name));
      why = "the launch bounds at " + view.at_line(view.kernel()->getLocation());
    } else if (bounds.arguments.size() == 1) {
      proposal.edits.push_back(insert(bounds.arguments[0].end, ", " + name));
    } else {
      const SourceManager& manager = view.context().getSourceManager();
      const SourceLocation at = view.kernel()->getLocation();
      if (at.isMacroID())
        return Refusal{"the kernel's name comes from a macro"};
      proposal.edits.push_back(insert(manager.getFileOffset(at),
                                      "__launch_bounds__(" + name +
                                          " == 0 ? 0 : " + block_bound(candidate).text + ", " + name + ") "));
    }
    // Several axes may have become knobs, each within the bounds by itself. Bounds that name a knob follow
    // it.
    const auto follows = [&](const Knob& knob) {
      return has_word(view.text(bounds.arguments[0]), knob.name);
    };
    if (!bounds.arguments.empty() && bounds.values[0] && !candidate.knobs.empty() &&
        std::ranges::none_of(candidate.knobs, follows))
      proposal.conditions.push_back(
          make_condition(block_threads(candidate.launch) + " <= " + std::to_string(*bounds.values[0]),
                         "the kernel's launch bounds"));
    std::vector<std::int64_t> values{0, 1, 2, 3, 4, 6, 8, 12, 16};
    if (std::find(values.begin(), values.end(), raw) == values.end())
      values.push_back(raw);
    proposal.knobs.push_back(make_knob(name, KnobKind::occupancy, "int", values, std::to_string(raw), why));
    proposal.conditions.push_back(make_condition(
        name + " <= 1 || " + name + " * " + block_threads(candidate.launch) + " <= device.max_threads_per_sm",
        "the blocks asked for fit into a multiprocessor"));
    return proposal;
  }
};

} // namespace

std::unique_ptr<Rule> make_launch_bounds() {
  return std::make_unique<LaunchBoundsRule>();
}

} // namespace lathe::refactor
