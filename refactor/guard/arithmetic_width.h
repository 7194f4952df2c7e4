// How wide a type of numbers is.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace clang {
class ASTContext;
class QualType;
} // namespace clang

namespace lathe::refactor {

// Class ('f': real, 'i': integer) and width in bits of an arithmetic type, of CUDA's small formats too; of an
// array its elements'.
std::optional<std::pair<char, int>> arithmetic_width(const clang::ASTContext& context, clang::QualType type);

std::string width_text(std::pair<char, int> width); // "f32"

} // namespace lathe::refactor
