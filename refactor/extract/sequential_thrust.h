// Algorithms of Thrust that a kernel calls with a policy, for its own thread. Their headers are the host's,
// and NVRTC knows none of them: the text that Lathe supplies stands in.
#pragma once

#include "tuner/base/result.h"

#include <clang/AST/Decl.h>

#include <set>
#include <string>

namespace lathe::refactor {

constexpr const char* SEQUENTIAL_THRUST = "lathe_thrust_sequential.h";

// Whether the text declares what this, a declaration of a system header, is: an algorithm, or a policy.
bool is_sequential_thrust(const clang::NamedDecl& declaration);

// What of the text these names need, to be put in front of what uses them.
Result<std::string> sequential_thrust_text(const std::set<std::string>& names);

} // namespace lathe::refactor
