// What the functions that a call reaches do: they are looked for by name, since a call in a template may not
// say more.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>
#include <string_view>

namespace lathe::refactor {

// Without namespaces, template arguments and the object that a method is called of; "" where it is not known.
std::string callee_name(const KernelView& view, const clang::CallExpr* call);

// True for names of functions that make threads wait for each other, exchange values or write one place
// together.
bool threads_meet_in(std::string_view function_name);

// Visits every statement of the file's functions that the call may reach, each function once. The kernel is
// not among them.
void visit_called(const KernelView& view, const clang::CallExpr* call,
                  const std::function<void(const clang::Stmt*)>& visitor);

// A call in the statement of a function of the file that names memory which it is not handed and which may
// change: variables of the device or shared ones, of the file or of the kernel's dynamic memory. Null where
// there is none.
const clang::CallExpr* call_at_named_memory(const KernelView& view, const clang::Stmt* statement);

} // namespace lathe::refactor
