// How much code a statement becomes.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <cstddef>

namespace lathe::refactor {

// About how many operations and calls the statement is once the file's functions are inlined and loops whose
// ends are constants are unrolled, which compilers do; never more than a million. Functions are looked for by
// name, since a call in a template may not say more; of one that calls itself one level counts.
std::size_t unrolled_size(const KernelView& view, const clang::Stmt* statement);

} // namespace lathe::refactor
