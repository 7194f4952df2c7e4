// The instance of a kernel, or a choice between the instances of several:
// "KERNEL == 1 ? by_warps<{T}, 8> : by_blocks<{T}>".
#pragma once

#include "tuner/base/result.h"
#include "tuner/expression/expression.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::spec {

struct InstanceCase {
  std::optional<Expression> when; // nothing: always, which is the last
  std::string instance;           // with {name} placeholders
};

// The cases in their order: the first whose condition holds is meant. A plain instance is one case: it has no
// ? outside brackets, of which < and > are some. A condition with these signs stands in parentheses. Fails
// where a condition does not parse or a case is missing.
Result<std::vector<InstanceCase>> instance_cases(std::string_view text);

} // namespace lathe::spec
