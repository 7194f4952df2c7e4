#include "refactor/guard/arithmetic_width.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>

namespace lathe::refactor {

using namespace clang;

std::optional<std::pair<char, int>> arithmetic_width(const ASTContext& context, QualType type) {
  type = type.getNonReferenceType().getCanonicalType();
  while (const auto* array = type->getAsArrayTypeUnsafe())
    type = array->getElementType().getCanonicalType();
  if (type->isDependentType())
    return std::nullopt;
  if (type->isRealFloatingType())
    return std::pair('f', static_cast<int>(context.getTypeSize(type)));
  if (type->isIntegerType() && !type->isBooleanType() && !type->isEnumeralType())
    return std::pair('i', static_cast<int>(context.getTypeSize(type)));
  if (const auto* record = type->getAsCXXRecordDecl()) {
    const StringRef name = record->getName();
    if (name == "__half" || name == "__half2" || name == "__nv_bfloat16" || name == "__nv_bfloat162")
      return std::pair('f', 16);
    if (name.starts_with("__nv_fp8"))
      return std::pair('f', 8);
    if (name.starts_with("__nv_fp4"))
      return std::pair('f', 4);
  }
  return std::nullopt;
}

std::string width_text(std::pair<char, int> width) {
  return std::to_string(width.second).insert(0, 1, width.first);
}

} // namespace lathe::refactor
