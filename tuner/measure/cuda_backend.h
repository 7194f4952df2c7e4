// The CUDA backend with a runner of the caller's choice: tests put misbehaving ones in its place.
#pragma once

#include "tuner/measure/measure.h"

namespace lathe {

std::unique_ptr<Backend> make_backend_with_runner(DeviceInfo device, std::vector<std::string> runner_command);

} // namespace lathe
