// What a model's template may not declare: host functions, variables that outlive a launch, kernels of its
// own.
#pragma once

#include "refactor/frontend/frontend.h"

namespace lathe::refactor::llm {

// Compares the declarations of both main files. What the raw kernel's text declares itself is allowed word
// for word. An error's `why` names the line and what is there.
Status screen_declarations(ParsedSource& templated, ParsedSource& raw);

} // namespace lathe::refactor::llm
