#include "refactor/frontend/made_tensors.h"

#include <clang/AST/ExprCXX.h>

#include <set>

namespace lathe::refactor {

using namespace clang;

const InitListExpr* written_list(const Expr* argument) {
  while (argument && !isa<InitListExpr>(argument)) {
    if (const auto* made = dyn_cast<CXXConstructExpr>(argument))
      argument = made->getNumArgs() > 0 ? made->getArg(0) : nullptr;
    else if (const auto* list = dyn_cast<CXXStdInitializerListExpr>(argument))
      argument = list->getSubExpr();
    else if (const Expr* bare = argument->IgnoreImplicit()->IgnoreParens(); bare != argument)
      argument = bare;
    else if (const auto* cast = dyn_cast<CastExpr>(argument))
      argument = cast->getSubExpr();
    else
      return nullptr;
  }
  return cast_or_null<InitListExpr>(argument);
}

bool makes_tensor(const std::string& function) {
  static const std::set<std::string> factories{"empty", "zeros", "ones", "full", "rand", "randn"};
  return factories.contains(function);
}

const HostValue* known_size(const HostValue& tensor, int axis) {
  const auto axes = static_cast<int>(tensor.elements.size());
  const int from_first = axis < 0 ? axis + axes : axis;
  if (tensor.kind != HostValue::Kind::unknown || from_first < 0 || from_first >= axes)
    return nullptr;
  return &tensor.elements[static_cast<std::size_t>(from_first)];
}

} // namespace lathe::refactor
