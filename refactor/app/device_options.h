// The options by which commands that judge a template say where it runs.
#pragma once

#include "refactor/guard/guard.h"
#include "tuner/app/options.h"

namespace lathe::refactor {

// Adds --device and --sanitizer.
void add_device_options(boost::program_options::options_description& options);

// Reads them into `guard`. Fails on a wrong use, and where a GPU that is asked for is not there.
Status read_device_options(const CommandLine& line, GuardOptions& guard);

} // namespace lathe::refactor
