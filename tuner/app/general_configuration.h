// One configuration for every problem: for builds that cannot dispatch by size, and for reading.
#pragma once

#include "tuner/app/tuning_session.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

struct GeneralConfiguration {
  std::string spec, types;
  KnobValues knobs;
  std::vector<std::string> knob_names;
  int problems = 0;
  double ratio =
      0; // raw / its time, geometric mean over the problems; by the search's times, not by paired samples
  double worst = 0; // the smallest of these
  std::string worst_problem;
};

// Of the raw kernel's own and the fastest few of every workload (all of one specification and one choice of
// types), the configuration with the best geometric mean of raw over tuned time on all of them. Those that
// fail or are invalid on one workload do not count; nothing where none is left or `stop` was set. Measures
// what the store does not hold, and records it: a search that goes on afterwards knows it.
Result<std::optional<GeneralConfiguration>>
find_general_configuration(const std::vector<const Workload*>& workloads, Backend& backend, Store& store,
                           const SessionOptions& options, const std::atomic<bool>& stop);

// "one configuration for all 14 problems: BLOCK=256 VEC=8, raw / tuned 1.213, worst 0.985
// (num_tokens=1,d=4096)"
std::string general_line(const GeneralConfiguration& general);

} // namespace lathe
