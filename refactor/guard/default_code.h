// The code of a template's defaults beside the raw kernel's, before anything else is judged.
#pragma once

#include "refactor/guard/guard.h"

#include <string>

namespace lathe::refactor {

// "L0" or "L1" as Certificate::identity_level has them where machine code or PTX says so for all defaults and
// their launches are the raw kernel's; "L3" otherwise. It stands for no check: a judgement looks again. Fails
// where judge() does, and where the template cannot be judged.
Result<std::string> identity_of_defaults(const TuningSpec& spec, const GuardOptions& options);

} // namespace lathe::refactor
