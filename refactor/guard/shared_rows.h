// Vectors in arrays of rows in shared memory.
#pragma once

#include <optional>
#include <string>

namespace clang {
class ASTContext;
class CastExpr;
} // namespace clang

namespace lathe::refactor {

// reinterpret_cast<float4*>(&tile[r][c]) of `float tile[32][33]`: every other row starts where no vector may.
// What is wrong with such a cast, in words; nothing for every other.
std::optional<std::string> vectors_across_rows(const clang::CastExpr* cast, clang::ASTContext& context);

} // namespace lathe::refactor
