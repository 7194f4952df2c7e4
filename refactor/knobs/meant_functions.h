// Which functions a name in a kernel's text may mean: in a template, a call often says no more than a name
// and a number of arguments.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>

#include <vector>

namespace lathe::refactor {

// The pattern of an instance of a template, and of several declarations the one that has the body.
const clang::FunctionDecl* definition_of(const clang::FunctionDecl* function);

// The definitions of what a reference to a function, or to a set of overloads, may mean, explicit
// specialisations of a template among them; empty for anything else.
std::vector<const clang::FunctionDecl*> functions_meant(const clang::Stmt* name);

// The bodies that a function template has for some arguments of its own.
std::vector<const clang::FunctionDecl*>
explicit_specialisations(const clang::FunctionTemplateDecl& described);

// Whether a call with that many arguments may be one of the function: defaults, packs and `...` are seen to.
bool takes(const clang::FunctionDecl* function, unsigned arguments);

} // namespace lathe::refactor
