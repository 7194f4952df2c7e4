// What a problem's buffers and parameters are to the runner.
#pragma once

#include "tuner/base/result.h"
#include "tuner/measure/cuda_protocol.h"
#include "tuner/spec/spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

// The problem's buffers with their contents under `seed`, its parameters and its cost. Kernels and timing are
// left for the caller. Errors: a dtype that no buffer or parameter can have.
// `unordered`: as MeasureOptions has it.
Result<SetupRequest> setup_request(const Workload& workload, std::uint64_t seed,
                                   const std::vector<std::string>& unordered);

} // namespace lathe
