// The GPU's counters of configurations: for a search that asks for them, and for studies of what the knobs
// do.
#pragma once

#include "tuner/measure/measure.h"
#include "tuner/search/search.h"
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

// Tells the search the counters that the store holds of its space.
Status tell_stored_counters(Search& search, const Space& space, Store& store, const StoreKey& key,
                            const std::vector<std::string>& knob_names);

// Reads, records and tells the counters that the search asks for, until `stop` is set. What cannot be read is
// told as such; where counters are denied, the search is not asked again. `reading` holds what came of all
// calls of one search.
Status tell_wanted_counters(Search& search, const Space& space, Backend& backend, Store& store,
                            const StoreKey& key, const std::vector<std::string>& knob_names,
                            CounterReading& reading, const std::atomic<bool>& stop);

} // namespace lathe
