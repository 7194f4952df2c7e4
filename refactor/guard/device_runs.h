// Both kernels on a GPU. The host executor sees every access and every order of threads; a GPU has the sizes
// of production, real warps and the machine code that will run. So it is asked where there is one, and its
// word is added: nothing is accepted for it that the other checks do not accept.
#pragma once

#include "refactor/guard/checks.h"
#include "tuner/measure/measure.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Runs the template beside the raw kernel on the backend's device: at the sizes and configurations that the
// differential check ran (`ran`), and at the specification's problems. Each run twice, outputs poisoned
// differently, with guard bands and data under secret seeds. Sizes at which the raw kernel itself does not
// run there, or gives other results from run to run, are left out and named. `backend` is the check's own
// until it returns. `unordered`: results that are compared as sets, as the differential check found them.
CheckResult check_device(const JudgedPair& subject, const std::vector<Configuration>& ran, Backend& backend,
                         const std::vector<std::string>& unordered = {});

// Runs both on the GPU with index `device` at `ran` under tools of compute-sanitizer ("memcheck",
// "racecheck", "initcheck", "synccheck"), each in a process of its own. What a tool finds in the raw kernel
// too is reported, anything else fails.
CheckResult check_sanitizer(const JudgedPair& subject, const std::vector<Configuration>& ran, int device,
                            const std::vector<std::string>& tools);

} // namespace lathe::refactor
