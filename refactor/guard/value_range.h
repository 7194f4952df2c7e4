// How large a whole number may be, by the text that computes it.
#pragma once

#include <cstdint>
#include <optional>

namespace clang {
class ASTContext;
class Expr;
} // namespace clang

namespace lathe::refactor {

// The most that an expression of numbers without a sign comes to: bytes that are put together. Nothing where
// it is not known, may be below zero, or passes 2^32.
std::optional<std::uint64_t> most_of(const clang::Expr* expression, const clang::ASTContext& context);

} // namespace lathe::refactor
