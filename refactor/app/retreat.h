// What the rules do when the guard refuses what they made together: the template without the rules at fault.
#pragma once

#include "refactor/guard/guard.h"
#include "refactor/rewrite/rewrite.h"
#include "tuner/spec/spec.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// A template by rules, as the guard judged it.
struct JudgedTemplate {
  RewriteResult rewritten;
  TuningSpec spec;
  Certificate certificate;
  std::vector<std::string> notes; // what was assumed or left out
};

// Rewrites by these rules, writes the files and judges. Overwrites what the attempt before it has written.
using AttemptByRules = std::function<Result<JudgedTemplate>(const std::vector<std::string>& rules)>;

struct Retreat {
  std::optional<JudgedTemplate> accepted;
  bool is_out_of_time = false; // more would have been tried
};

// Tries again without rules that gave knobs to the configuration at which `refused` failed: first each by
// itself, then also without those tried before, and in the end with those alone that leave the launch and
// every thread's work as they are. The reports of what is accepted name the rules left out with the guard's
// reason. Nothing when a check is undecided rather than failed, or nothing that is left is accepted; the
// files are then those of the last attempt. Begins no attempt that would end behind `end` if it took as long
// as the longest before it.
Result<Retreat> retreat(const JudgedTemplate& refused, const AttemptByRules& attempt,
                        std::chrono::steady_clock::time_point end);

} // namespace lathe::refactor
