// Which stored winners `lathe bench` measures on a device, and their times there.
#pragma once

#include "tuner/measure/measure.h"
#include "tuner/store/store.h"

#include <string>
#include <vector>

namespace lathe {

struct BenchedWinners {
  std::vector<StoredWinner> measured; // under the key of the device at hand, with its times
  // The other GPU whose winners these are: an exported header uses those here that gained much. Empty: the
  // device's own.
  std::string tuned_on;
  std::vector<std::string> failures; // a sentence for each winner that does not run here
};

// The winners that a header exported from `winners` would choose from on the backend's device: its own, else
// those of the first GPU of the same architecture. Each is verified and measured, interleaved with the raw
// kernel. Winners of other templates and host-executor results are no results for a GPU. Errors: a problem
// that cannot be prepared.
Result<BenchedWinners> bench_winners(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                                     Backend& backend, const MeasureOptions& options);

} // namespace lathe
