// The fastest configurations that the store holds of a workload.
#pragma once

#include "tuner/app/finalists.h"
#include "tuner/measure/measure.h"
#include "tuner/store/store.h"

#include <cstddef>
#include <vector>

namespace lathe {

// At most `most` of the workload's configurations that worked on the device and were measured to the end,
// fastest first, each once, with the knobs in the specification's order.
Result<std::vector<Ranked>> best_stored(const Workload& workload, const DeviceInfo& device, Store& store,
                                        std::size_t most);

} // namespace lathe
