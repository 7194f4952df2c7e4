// Macro actions: what may be done to a kernel as it is now, and where. Enumerated from what the rules read in
// the AST; nothing that their analyses refuse is ever offered.
//
// The four kinds are MTMC's (QiMeng-Kernel, arXiv 2511.20100): tiling, fusion, pipeline, reordering. The five
// directions are HTAM's names (arXiv 2605.29734). Which rule belongs to which of them is ours.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::refactor::agents {

// Numbers that are known of a kernel, a problem or a state: by name, in a fixed order.
using Features = std::vector<std::pair<std::string, double>>;

// What a rule says of itself; nothing where there is no rule of this name.
std::optional<std::string> summary_of(const std::string& rule);

enum class ActionKind { tiling, fusion, pipeline, reordering };
std::string_view to_string(ActionKind kind);

// HTAM's global directions.
enum class Direction {
  memory_access,
  data_reuse,
  parallel_mapping,
  boundary_handling,
  instruction_throughput
};
inline constexpr std::size_t direction_count = 5;
std::string_view to_string(Direction direction);
std::optional<Direction> parse_direction(std::string_view text);

ActionKind kind_of_rule(std::string_view rule);
// A rule's knobs decide where it matters: a vector width is memory access, a block size parallel mapping.
Direction direction_of(std::string_view rule, const std::vector<KnobKind>& kinds);

struct Action {
  ActionKind kind = ActionKind::tiling;
  Direction direction = Direction::parallel_mapping;
  std::string rule;
  std::vector<std::string> knobs; // of the sites taken; all of the rule's sites where `whole`
  std::vector<KnobKind> knob_kinds;
  bool whole = true;                 // every site of the rule at once
  int first_line = 0, last_line = 0; // the region; 0: the launch or the template's header only
  std::string why;

  // "expose-unroll(UNROLL)": what a memory, a log and a golden list call it.
  std::string label() const;
  // The local strategy of the transition memory: rule and kinds of knobs, without names of this kernel.
  std::string strategy() const;
};

struct RefusedAction {
  ActionKind kind = ActionKind::tiling;
  std::string rule, reason;
};

struct ActionSet {
  std::vector<Action> legal;
  std::vector<RefusedAction> refused;
};

// Each site of each rule by itself and, where a rule has several, all of them together. Order: the rules',
// then the sites'.
Result<ActionSet> enumerate_actions(const Candidate& candidate, const ParseOptions& options);

// The candidate after the action, or why it could not be done.
Result<Candidate> apply_action(const Candidate& candidate, const Action& action, const ParseOptions& options);

// The state_key() of the candidate after each action, not parsed again; empty where the action cannot be
// done.
Result<std::vector<std::string>> keys_after(const Candidate& candidate, const std::vector<Action>& actions,
                                            const ParseOptions& options);

// The same for candidates that differ only in the order in which their knobs were exposed: 16 hexadecimal
// digits.
std::string state_key(const Candidate& candidate);

} // namespace lathe::refactor::agents
