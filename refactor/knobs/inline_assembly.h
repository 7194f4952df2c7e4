// What a kernel's inline PTX does, as far as the rules have to know.
#pragma once

#include <clang/AST/Stmt.h>

namespace lathe::refactor {

// `griddepcontrol.*`: orders whole grids (programmatic dependent launch) and passes nothing between threads.
bool is_dependency_control(const clang::AsmStmt* statement);

// Arithmetic, logic, conversions and moves between registers alone, of values that are no addresses: nothing
// in it depends on which thread runs it, and nobody else notices.
bool is_computation(const clang::AsmStmt* statement);

// Either: no other thread of the grid learns anything by it.
inline bool passes_nothing_on(const clang::AsmStmt* statement) {
  return is_dependency_control(statement) || is_computation(statement);
}

} // namespace lathe::refactor
