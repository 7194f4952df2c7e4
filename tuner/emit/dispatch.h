// The header's own functions: which configuration for which problem, and launch().
#pragma once

#include "tuner/base/result.h"
#include "tuner/emit/winning_table.h"

#include <string>

namespace lathe {

// The devices and rows as arrays.
std::string dispatch_tables(const TuningSpec& spec, const WinningTable& table);
// admits(), select(), launch() and launch_raw(), over tuned::launch_<configuration> and raw::launch_<types>.
Result<std::string> dispatch_functions(const TuningSpec& spec, const WinningTable& table);

} // namespace lathe
