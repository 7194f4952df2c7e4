// The commands of `lathe`. Each takes its own arguments (without the command's name), prints its result on
// standard output, its progress and errors on standard error, and returns the process's exit code: 0 done, 1
// the work failed, 2 usage, 3 no device.
#pragma once

#include "tuner/base/result.h"

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

using Arguments = std::vector<std::string>;

int bench_command(const Arguments& arguments);
int completion_command(const Arguments& arguments);
int devices_command(const Arguments& arguments);
int doctor_command(const Arguments& arguments);
int export_command(const Arguments& arguments);
int manual_command(const Arguments& arguments);
int replay_command(const Arguments& arguments);
int report_command(const Arguments& arguments);
int spaces_command(const Arguments& arguments);
int tune_command(const Arguments& arguments);

// Prints "lathe: what: why: what to do" on standard error and returns the exit code that the error stands
// for.
int fail(const Error& error);
// What is said of an exception that nothing foresaw: commands return errors as values.
Error defect(const std::exception& thrown);

// Standard error is a terminal and NO_COLOR is not set.
bool use_colour();

} // namespace lathe
