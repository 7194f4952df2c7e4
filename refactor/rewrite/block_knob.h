// What follows when a block size becomes a knob: geometry, launch bounds, values, conditions. Internal to
// this folder.
#pragma once

#include "refactor/knobs/thread_model.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

struct BlockKnob {
  std::string name; // of the knob
  int axis = 0;     // of the block
  Expression raw;   // the launcher's size along that axis
  std::string text; // the new size, over the knob: "BLOCK" or "(BLOCK == 0 ? raw : BLOCK)"
};

// Puts the knob into block, grid and shared memory. A reason when the grid or the shared memory would have to
// follow and does not show how; where it is enough for what warps leave there, a condition.
std::optional<std::string> follow_block(const BlockKnob& block, const ThreadModel& model,
                                        const Candidate& candidate, LaunchGeometry& launch,
                                        std::vector<Condition>& conditions);

// follow_block() where every index is compared with a bound and the grid shows how it follows; otherwise the
// blocks have exactly the threads of the launcher's blocks, which a condition says.
std::optional<std::string> fit_grid(const BlockKnob& block, const ThreadModel& model,
                                    const Candidate& candidate, bool zero_is_raw, LaunchGeometry& launch,
                                    std::vector<Condition>& conditions);

// Launch bounds that state the raw block size move with the knob; larger ones become a condition.
std::optional<std::string> follow_launch_bounds(const KernelView& view, const BlockKnob& block,
                                                std::optional<std::int64_t> constant,
                                                std::vector<Edit>& edits, std::vector<Condition>& conditions);

// cub's block-wide primitives are made for one number of threads: a reason against other block sizes, unless
// every reduction is told how many threads take part, or the number is the knob `name` itself. `threads`: of
// the new block.
std::optional<std::string> follow_cub(const KernelView& view, const std::string& name,
                                      const std::string& threads, std::vector<Condition>& conditions);

void add_block_conditions(const BlockKnob& block, const ThreadModel& model, bool zero_is_raw,
                          std::vector<Condition>& conditions);

// Adds that there are threads enough for every size that they are compared with, or a reason where a size is
// not known before the launch.
std::optional<std::string> keep_guarded_threads(const KernelView& view, const LaunchFacts& facts,
                                                const ThreadModel& model, const BlockKnob& block,
                                                bool zero_is_raw, std::vector<Condition>& conditions);

// Candidate sizes along an axis; 0 ("as the launcher") first when `with_zero`.
std::vector<std::int64_t> block_values(const Candidate& candidate, int axis, std::optional<std::int64_t> raw,
                                       bool with_zero);

// The arguments of the kernel's __launch_bounds__ as text ranges; empty when it has none.
struct LaunchBounds {
  std::vector<TextRange> arguments;
  std::vector<std::optional<std::int64_t>> values; // where they are integer literals or constants
  bool unreadable = false;                         // it has some, but from a macro
};
LaunchBounds launch_bounds_of(const KernelView& view);

} // namespace lathe::refactor
