#include "refactor/knobs/unrolled_size.h"

#include "refactor/knobs/called_functions.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr std::size_t MOST = 1'000'000;
constexpr std::int64_t MOST_ROUNDS = 32; // loops of more are seldom unrolled whole

class Size {
public:
  explicit Size(const KernelView& view) : view_(view) {}

  std::size_t of(const Stmt* statement) {
    std::size_t size = is_operation(statement) ? 1 : 0;
    if (const auto* call = dyn_cast<CallExpr>(statement))
      size += of_called(callee_name(view_, call));
    else if (const auto* construct = dyn_cast<CXXConstructExpr>(statement))
      size += of_called(construct->getConstructor()->getNameAsString());
    for (const Stmt* child : statement->children())
      if (child)
        size = std::min(MOST, size + of(child));
    const auto* loop = dyn_cast<ForStmt>(statement);
    return loop ? std::min(MOST, size * static_cast<std::size_t>(rounds(loop))) : size;
  }

private:
  const KernelView& view_;
  std::map<std::string, std::size_t> of_functions_; // zero while a function is being looked at

  static bool is_operation(const Stmt* statement) {
    return isa<BinaryOperator>(statement) || isa<UnaryOperator>(statement) ||
           isa<ArraySubscriptExpr>(statement) || isa<CallExpr>(statement) ||
           isa<ConditionalOperator>(statement);
  }

  std::size_t of_called(const std::string& name) {
    if (name.empty())
      return 0;
    const auto [known, is_new] = of_functions_.emplace(name, 0);
    if (!is_new)
      return known->second;
    std::size_t largest = 0; // of overloads
    for (const FunctionDecl* function : view_.functions())
      if (function != view_.kernel() && function->getNameAsString() == name)
        largest = std::max(largest, of(function->getBody()));
    return of_functions_[name] = largest;
  }

  // From zero to a constant, one by one.
  std::int64_t rounds(const ForStmt* loop) const {
    const auto* condition = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (!condition || (condition->getOpcode() != BO_LT && condition->getOpcode() != BO_LE))
      return 1;
    const std::optional<std::int64_t> end = view_.evaluate(condition->getRHS()).as_constant();
    return end ? std::clamp<std::int64_t>(*end, 1, MOST_ROUNDS) : 1;
  }
};

} // namespace

std::size_t unrolled_size(const KernelView& view, const Stmt* statement) {
  return Size(view).of(statement);
}

} // namespace lathe::refactor
