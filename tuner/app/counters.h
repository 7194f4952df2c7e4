// The GPU's counters of many configurations, for studies of what the knobs do to them.
#pragma once

#include "tuner/measure/measure.h"
#include "tuner/store/store.h"

#include <atomic>
#include <string>
#include <vector>

namespace lathe {

struct CounterReading {
  int read = 0, failed = 0;
  std::string problem; // why there are none, or fewer; empty when all went well
};

// Reads the counters of the configurations, in an order that the seed shuffles, and records each in the
// store, until all are read, `seconds` have passed or `stop` is set. Configurations of which the store holds
// counters are left out. A configuration that cannot be profiled costs itself; where counters are denied it
// ends.
Result<CounterReading> record_counters(Backend& backend, Store& store, const StoreKey& key,
                                       const std::vector<std::string>& knob_names,
                                       std::vector<KnobValues> configurations, double seconds,
                                       std::uint64_t seed, const std::atomic<bool>& stop);

} // namespace lathe
