// Sizes that a program passes to the function that launches a kernel: `launch(a, b, 4096)` in main().
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <clang/AST/Decl.h>

#include <cstdint>
#include <map>

namespace lathe::refactor {

// By integer parameter of the launcher: the largest number that a call passes for it, where every call in the
// file passes a constant or a variable that is one and is changed nowhere. Parameters that some call passes
// anything else for are not among them; nothing where the file does not call the launcher.
std::map<const clang::ParmVarDecl*, std::int64_t> sizes_of_callers(ParsedSourceImpl& source,
                                                                   const clang::FunctionDecl* launcher);

} // namespace lathe::refactor
