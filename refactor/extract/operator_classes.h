// Which classes an operator is for.
#pragma once

#include <clang/AST/Decl.h>

#include <vector>

namespace lathe::refactor {

// The classes, or class templates, of the parameters of an operator that stands outside of classes; none for
// any other declaration.
std::vector<const clang::NamedDecl*> classes_of_operator(const clang::NamedDecl& used);

} // namespace lathe::refactor
