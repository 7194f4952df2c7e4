// The C++ compiler as a child process.
#pragma once

#include "tuner/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace lathe::host {

// What the command writes to its standard output, given `input` on its standard input. The error carries the
// first diagnostic and names `file_name`.
Result<std::string> run_compiler(const std::vector<std::string>& command, double time_limit_s,
                                 std::string_view file_name, std::string_view input);

} // namespace lathe::host
