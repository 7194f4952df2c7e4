// Counters of loops whose text says how many steps they have.
#pragma once

namespace clang {
class ASTContext;
class ForStmt;
class VarDecl;
} // namespace clang

namespace lathe::refactor {

// `j` of `for (int j = 0; j < VEC; ++j)`, where every integer type holds all its values; null for every other
// loop.
const clang::VarDecl* counter_of_few_steps(const clang::ForStmt* loop, const clang::ASTContext& context);

} // namespace lathe::refactor
