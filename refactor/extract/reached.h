// The declarations that a declaration refers to.
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <clang/AST/Decl.h>

#include <functional>
#include <set>

namespace lathe::refactor {

// The declaration at namespace level that has to be written out for `declaration` to be known: its template,
// its outermost class, the function it is local to. Null for what needs no text (builtins, implicit
// declarations).
const clang::Decl* unit_of(const clang::Decl* declaration);

// Calls `found` for each declaration that the text of `unit` names (as found: using-declarations, aliases of
// namespaces and types before what they stand for).
void for_each_reference(const clang::Decl* unit, const std::function<void(const clang::NamedDecl*)>& found);

// What the template arguments name wherever the file uses the kernel: functions, functors, traits.
void for_each_kernel_argument(clang::ASTContext& context, const clang::FunctionDecl* kernel,
                              const std::function<void(const clang::NamedDecl*)>& found);

} // namespace lathe::refactor
