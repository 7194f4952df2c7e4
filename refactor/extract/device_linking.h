// What only the linker of device code would bring together.
#pragma once

#include <clang/AST/Decl.h>

#include <vector>

namespace lathe::refactor {

// The first of the declarations that is a variable of the device whose definition stands in another
// translation unit (`extern __constant__ float table[];`); null where there is none. Shared memory is no such
// variable.
const clang::VarDecl* defined_elsewhere(const std::vector<const clang::Decl*>& declarations);

} // namespace lathe::refactor
