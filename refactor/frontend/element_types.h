// What the parameters of kernels consist of: numbers behind names, structures and templates.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>

#include <string>

namespace lathe::refactor {

// The one kind of number that an object of the type consists of, as C++ names it: of an enumeration its
// integer, of a structure or array its members' where they agree, of Vec<T> the T. Null where they differ, or
// where the type is still open.
clang::QualType number_of(clang::QualType type);

// Whether the type, which the kernel's parameter points to, is a structure that any bytes are a value of:
// numbers, and arrays and structures of them, and pointers that neither the kernel nor what it calls names.
bool is_plain_structure(clang::QualType type, const clang::ParmVarDecl& parameter);

// A number whose type is computed from template parameters (opmath_t<T>): the type that it has in most of the
// instances that the file itself makes; null where it is none.
clang::QualType type_in_instances(const clang::FunctionDecl& kernel, unsigned index);

// The kernel's template parameter, or the number, that what the parameter points to consists of in every
// instance that the file itself makes: float4 where T is float and uint4 where it is unsigned is a T.
std::string element_in_instances(const clang::FunctionDecl& kernel, unsigned index,
                                 clang::ASTContext& context);

} // namespace lathe::refactor
