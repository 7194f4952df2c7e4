// What memory without a type is used as.
#pragma once

#include <string>

namespace clang {
class ASTContext;
class FunctionDecl;
} // namespace clang

namespace lathe::refactor {

// The type of element that a function reads or writes through its parameter of type void*, as the function
// spells it ("T"): the one that all casts of the parameter name, its own and those of the functions that it
// passes the parameter on to. Empty when there is none, or more than one.
std::string element_by_casts(const clang::FunctionDecl& function, unsigned parameter,
                             clang::ASTContext& context);

} // namespace lathe::refactor
