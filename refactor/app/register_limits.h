// How many threads a block may have by the registers and the launch bounds of the raw kernel.
#pragma once

#include "refactor/app/raw_candidate.h"
#include "tuner/device/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

// The most threads, in whole warps, for which a block has registers when each thread has so many, above 0.
// They are given out to a warp in units of the device's.
std::int64_t most_threads_by_registers(std::int64_t registers_of_thread, const DeviceInfo& device);

// Halves guessed sizes that the launch's block follows, the largest first, until a block's threads have no
// more registers than the architecture's multiprocessors hold, and are no more than the kernel's launch
// bounds admit: at others the raw kernel cannot be launched. `notes` says so. Leaves the problems alone where
// the kernel does not compile or no size decides the block.
void fit_to_registers(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                      std::vector<std::string>& notes);

} // namespace lathe::refactor
