// What only the linker of device code would bring together.
#pragma once

#include <clang/AST/Decl.h>

#include <vector>

namespace lathe::refactor {

// The first of the declarations that is a variable of the device (`extern __constant__ float table[];`) or a
// function for it (`__device__ void push(int);`) whose definition stands in another translation unit; null
// where there is none. Shared memory is no such variable, what the compiler knows (__nv_expf) no such
// function.
const clang::NamedDecl* defined_elsewhere(const std::vector<const clang::Decl*>& declarations);

} // namespace lathe::refactor
