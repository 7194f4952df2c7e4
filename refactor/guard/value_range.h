// Between which numbers a whole number lies, by the text that computes it.
#pragma once

#include <cstdint>
#include <optional>

namespace clang {
class ASTContext;
class Expr;
class QualType;
} // namespace clang

namespace lathe::refactor {

// Both included.
struct IntegerRange {
  std::int64_t least = 0, most = 0;
};

// The numbers of a type of integers; nothing for other types and such as are wider than 32 bits.
std::optional<IntegerRange> range_of_type(clang::QualType type, const clang::ASTContext& context);

// A range that holds every value of an expression of integers: of numbers, bytes and other small integers
// that are put together, limits (`min`, `max`), choices, and constants of the function. Nothing where it is
// wider than 32 bits and not known.
std::optional<IntegerRange> range_of(const clang::Expr* expression, const clang::ASTContext& context);

} // namespace lathe::refactor
