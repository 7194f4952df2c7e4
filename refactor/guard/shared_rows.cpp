#include "refactor/guard/shared_rows.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

namespace lathe::refactor {

using namespace clang;

std::optional<std::string> vectors_across_rows(const CastExpr* cast, ASTContext& context) {
  const QualType to = cast->getType()->getPointeeType(),
                 from = cast->getSubExpr()->getType()->getPointeeType();
  if (to.isNull() || from.isNull() || to->isDependentType() || from->isDependentType() ||
      to->isIncompleteType() || from->isIncompleteType() || to->isFunctionType() || from->isFunctionType())
    return std::nullopt;
  const auto alignment = context.getTypeAlignInChars(to).getQuantity();
  if (alignment <= context.getTypeAlignInChars(from).getQuantity())
    return std::nullopt;
  const Expr* place = cast->getSubExpr()->IgnoreParenImpCasts();
  if (const auto* address = dyn_cast<UnaryOperator>(place); address && address->getOpcode() == UO_AddrOf)
    place = address->getSubExpr()->IgnoreParenImpCasts();
  else if (const auto* sum = dyn_cast<BinaryOperator>(place); sum && sum->isAdditiveOp())
    place = sum->getLHS()->IgnoreParenImpCasts();
  const Expr* row = nullptr; // the index of the outermost dimension
  while (const auto* element = dyn_cast<ArraySubscriptExpr>(place)) {
    row = element->getIdx();
    place = element->getBase()->IgnoreParenImpCasts();
  }
  const auto* reference = dyn_cast<DeclRefExpr>(place);
  const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  const auto* array = variable ? context.getAsConstantArrayType(variable->getType()) : nullptr;
  Expr::EvalResult value;
  if (!row || !array || !variable->hasAttr<CUDASharedAttr>() || !array->getElementType()->isArrayType() ||
      row->isValueDependent() || row->EvaluateAsRValue(value, context))
    return std::nullopt;
  const auto length = context.getTypeSizeInChars(array->getElementType()).getQuantity();
  if (length % alignment == 0)
    return std::nullopt;
  return "vectors of " + std::to_string(alignment) + " bytes through rows of " + std::to_string(length);
}

} // namespace lathe::refactor
