// What a model's template may not contain, read off its text before anything compiles it: foreign files, host
// code, assembly, preprocessor tricks. The guard judges what the template does; this keeps text that has no
// business in a kernel away from every compiler.
#pragma once

#include "tuner/base/result.h"

#include <string>
#include <string_view>

namespace lathe::refactor::llm {

// The raw kernel's text tells what is allowed beyond the usual. An error's `why` names the line and what is
// there.
Status screen_text(std::string_view text, std::string_view raw);

} // namespace lathe::refactor::llm
