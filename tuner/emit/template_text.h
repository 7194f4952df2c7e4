// Turns parameters of a kernel template into constants, in its text.
#pragma once

#include "tuner/base/result.h"

#include <map>
#include <string>
#include <string_view>

namespace lathe {

// Takes the template parameters at the given positions (from 0) out of every declaration of the kernel, and
// puts `constexpr <type> <name> = <value>;` before the first, with the parameter's own type and name. A
// template without remaining parameters becomes a plain function. Comments, strings and directives are left
// alone. Fails when the kernel has no such template declaration.
Result<std::string> fix_template_parameters(std::string_view text, std::string_view kernel,
                                            const std::map<std::size_t, std::string>& values);

} // namespace lathe
