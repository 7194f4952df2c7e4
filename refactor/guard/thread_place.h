// Values that say where a thread is in its block and nothing else.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

namespace lathe::refactor {

// Whether the value follows from threadIdx and constants alone, through integer variables of the function
// too: what a comparison with it decides is the same for every size, every block and all data.
bool is_place_in_block(const clang::Expr* expression, const clang::ASTContext& context);

} // namespace lathe::refactor
