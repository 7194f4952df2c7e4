// Where variables are declared, and what they are computed from.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string_view>

namespace lathe::refactor {

// The variable that the statement is the name of; null where it is something else.
const clang::VarDecl* named_variable(const clang::Stmt* statement);

// True when `root`, or a statement below it, declares the variable.
bool declares(const KernelView& view, const clang::Stmt* root, const clang::VarDecl* variable);

// True when a part of the statement, or of what a variable that it names starts with, and so on, is wanted.
// What `last` starts with is not looked at.
bool comes_from(const KernelView& view, const clang::Stmt* statement, const clang::VarDecl* last,
                const std::function<bool(const clang::Stmt*)>& wanted);

// Functions of the kernel that have labels: what stands between two of their statements may be left out.
std::set<const clang::FunctionDecl*> functions_with_labels(const KernelView& view);

// Built-ins that are others along x where a thread takes several elements.
bool is_of_thread_along_x(std::string_view builtin);

} // namespace lathe::refactor
