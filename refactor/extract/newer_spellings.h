// Spellings of C++20 that Clang takes as C++17, and NVRTC does not.
#pragma once

#include <clang/AST/DeclBase.h>

namespace lathe::refactor {

// Whether the declaration names a dependent type without `typename` where C++17 asks for it.
bool leaves_typename_out(const clang::Decl* declaration);

} // namespace lathe::refactor
