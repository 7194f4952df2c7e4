// Macros that stand for a thread's number or a loop, written out where they are used. Internal to this
// folder.
#pragma once

#include "refactor/knobs/kernel_view.h"
#include "refactor/rewrite/rewrite.h"

#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// Edits that put what the preprocessor makes of a macro in the macro's place, in the bodies of the kernel and
// of what it calls, where that reads threadIdx, blockIdx, blockDim or gridDim or is a loop: the rules cannot
// change what stands in a macro, and the compiler sees the same tokens. `kept`: names that stay as they are,
// as they are constants by then. Left alone are expansions with attributes, assembly or pragmas. The macros'
// names are appended to `spelled`, each once.
std::vector<Edit> spell_out_macros(ParsedSource& source, const KernelView& view,
                                   const std::set<std::string>& kept, std::vector<std::string>& spelled);

} // namespace lathe::refactor
