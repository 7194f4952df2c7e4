// Which classes something is for that code may use without naming it: an operator, a specialisation.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>

#include <vector>

namespace lathe::refactor {

// The classes, or class templates, of the parameters of an operator that stands outside of classes; none for
// any other declaration.
std::vector<const clang::NamedDecl*> classes_of_operator(const clang::NamedDecl& used);

// The classes, or class templates, among the arguments of a specialisation.
std::vector<const clang::NamedDecl*>
classes_among_arguments(const clang::ClassTemplateSpecializationDecl& specialised);

} // namespace lathe::refactor
