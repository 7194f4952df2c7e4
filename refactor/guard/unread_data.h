// What the raw kernel does not read of its inputs: slots behind a sequence's length, rows that a mask leaves
// out. Nobody has to have written anything there, so a template may neither take it for a number nor follow
// it as an index.
#pragma once

#include "refactor/guard/host_trial.h"

#include <cstddef>
#include <span>
#include <vector>

namespace lathe::refactor {

// Whether a run with these accesses (none: they were not recorded) left elements of an input unread.
bool leaves_unread(const Workload& workload, const std::vector<BufferAccess>& accesses);

// Fills the elements of the workload's buffer `index` that a run with these accesses did not read with
// `poison`. Buffers that are no inputs, and truth values, which garbage is none of, stay as they are.
void poison_unread(const Workload& workload, std::size_t index, const std::vector<BufferAccess>& accesses,
                   std::byte poison, std::span<std::byte> bytes);

} // namespace lathe::refactor
