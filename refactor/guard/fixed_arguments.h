// Integer parameters whose value an instance knows when it is compiled.
#pragma once

#include <cstdint>
#include <map>

namespace lathe::refactor {

struct Configuration;

// By the parameter's index the value that is passed for it.
using FixedArguments = std::map<int, std::int64_t>;

// The parameters for which the raw kernel is passed what a knob of the configuration makes a constant of the
// template's instance. Such an instance is launched at that size alone.
FixedArguments fixed_arguments(const Configuration& configuration);

} // namespace lathe::refactor
