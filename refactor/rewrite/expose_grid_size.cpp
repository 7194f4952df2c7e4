// expose-grid-size: how many blocks share the loops of a grid-stride kernel.
#include "refactor/knobs/geometry.h"
#include "refactor/knobs/grid_work.h"
#include "refactor/rewrite/launch_facts.h"

namespace lathe::refactor {

using namespace clang;

namespace {

// The polynomial as a Lathe expression, blockDim and template parameters being what the launch gives them.
std::optional<std::string> launch_text(const Polynomial& value, const LaunchFacts& facts) {
  std::string sum;
  for (const auto& [monomial, coefficient] : value.terms()) {
    if (coefficient <= 0)
      return std::nullopt;
    std::string product = std::to_string(coefficient);
    for (const std::string& atom : monomial) {
      std::optional<std::string> factor;
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (atom == "blockDim." + std::string(1, "xyz"[axis]))
          factor = facts.block[axis];
      if (atom.rfind("template:", 0) == 0)
        factor = facts.template_parameter(atom.substr(std::string("template:").size()));
      if (!factor)
        return std::nullopt;
      product += " * (" + *factor + ")";
    }
    sum += (sum.empty() ? "" : " + ") + product;
  }
  return sum.empty() ? std::nullopt : std::optional(sum);
}

// More blocks than these would find nothing to do in the loop.
std::optional<std::string> blocks_with_work(const KernelView& view, const GridLoop& loop,
                                            const LaunchFacts& facts) {
  const auto end = launch_expression(view, loop.loop.bound, facts);
  const auto each = launch_text(loop.each, facts);
  if (!end || !each)
    return std::nullopt;
  std::string elements = *end;
  const Polynomial first = loop.loop.start.without("blockIdx.x").without("threadIdx.x");
  if (!first.is_zero()) {
    LaunchFacts at_start = facts;
    for (const char* axis : {"x", "y", "z"})
      for (const char* index : {"blockIdx.", "threadIdx."})
        at_start.builtins[std::string(index) + axis] = "0";
    if (const auto begin = launch_expression(view, loop.loop.counter->getInit(), at_start))
      elements = "max((" + *end + ") - (" + *begin + "), 0)";
  }
  return "ceil_div(" + elements + ", " + *each + ")";
}

class ExposeGridSize : public Rule {
public:
  std::string_view name() const override { return "expose-grid-size"; }
  std::string_view summary() const override {
    return "gives a kernel whose loops step by the whole grid a knob for the number of its blocks";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (std::find(candidate.applied.begin(), candidate.applied.end(), name()) != candidate.applied.end())
      return Refusal{"the number of blocks is a knob already"};
    KernelView view = view_of(source, kernel, candidate);
    const auto read = read_grid_work(view);
    if (const auto* reason = std::get_if<std::string>(&read))
      return Refusal{*reason};
    const auto& loops = std::get<std::vector<GridLoop>>(read);
    const LaunchFacts facts = launch_facts_of(kernel, candidate);
    const std::string raw = canonical(candidate.launch.grid[0]);
    std::string most;
    for (const GridLoop& loop : loops) {
      const std::string blocks = blocks_with_work(view, loop, facts).value_or(raw);
      if (most.find(blocks) == std::string::npos)
        most = most.empty() ? blocks : "max(" + most + ", " + blocks + ")";
    }
    Proposal proposal;
    const std::string name = free_name(candidate.text, "BLOCKS_PER_SM");
    LaunchGeometry launch = candidate.launch;
    launch.grid[0] = make_expression("(" + name + " == 0 ? " + raw + " : max(1, min(" + name +
                                     " * device.multiprocessors, " + most + ")))");
    proposal.launch = launch;
    proposal.launch_only = true;
    proposal.knobs.push_back(make_knob(
        name, KnobKind::coarsen, "unsigned", {0, 1, 2, 3, 4, 6, 8, 12, 16, 32}, "0",
        "blocks a multiprocessor that share the loop over the whole grid at " +
            view.at_line(loops.front().loop.loop->getBeginLoc()) + "; 0 is the launcher's own " + raw));
    return proposal;
  }
};

} // namespace

std::unique_ptr<Rule> make_expose_grid_size() {
  return std::make_unique<ExposeGridSize>();
}

} // namespace lathe::refactor
