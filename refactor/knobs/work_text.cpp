#include "refactor/knobs/work_text.h"

#include "refactor/knobs/variables.h"

#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

void WorkText::visit_parts(const std::function<void(const Stmt*)>& visitor) const {
  for (const Stmt* part : work_.parts)
    view_.visit(part, visitor);
}

bool WorkText::is_declared_in_body(const VarDecl* variable) const {
  return std::ranges::any_of(work_.parts, [&](const Stmt* part) { return declares(view_, part, variable); });
}

bool WorkText::is_unconditional(const Expr* expression) const {
  const Stmt* below = expression;
  for (const Stmt* above = view_.parent(expression); !is_part(below);
       below = above, above = view_.parent(above)) {
    if (!above || isa<IfStmt>(above) || isa<ForStmt>(above) || isa<WhileStmt>(above) || isa<DoStmt>(above))
      return false;
    if (const auto* choice = dyn_cast<ConditionalOperator>(above); choice && choice->getCond() != below)
      return false;
    if (const auto parts = binary_parts(above);
        parts && (parts->operation == BO_LAnd || parts->operation == BO_LOr) && parts->right == below)
      return false;
  }
  // A jump to the next element before it.
  bool jumps = false;
  visit_parts([&](const Stmt* statement) { jumps |= isa<ContinueStmt>(statement); });
  return !jumps;
}

bool WorkText::is_part(const Stmt* statement) const {
  return std::ranges::find(work_.parts, statement) != work_.parts.end();
}

std::optional<std::string> WorkText::known_text(const Expr* expression, int depth) const {
  constexpr int DEEP = 8;
  const auto bytes = view_.written_range(expression->getSourceRange());
  bool known = bytes && depth < DEEP;
  std::vector<std::pair<TextRange, std::string>> written_out;
  view_.visit(expression, [&](const Stmt* statement) {
    known &= !isa<CallExpr>(statement) || binary_parts(statement);
    if (depth > 0) {
      const auto* unary = dyn_cast<UnaryOperator>(statement);
      known &= !isa<ArraySubscriptExpr>(statement) && !(unary && unary->getOpcode() == UO_Deref);
    }
    const auto* reference = dyn_cast<DeclRefExpr>(statement);
    const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (!known || !variable || variable == work_.number || variable == work_.row)
      return;
    known &= !view_.is_modified(variable);
    if (!known || !is_declared_in_body(variable))
      return;
    const auto place = view_.written_range(reference->getSourceRange());
    const auto value = variable->hasInit() && variable->getType()->isIntegerType()
                           ? known_text(variable->getInit(), depth + 1)
                           : std::nullopt;
    known &= place && value;
    if (known)
      written_out.emplace_back(*place, "(" + view_.type_text(variable->getType()) + ")(" + *value + ")");
  });
  if (!known)
    return std::nullopt;
  std::ranges::sort(written_out, {}, [](const auto& change) { return change.first.begin; });
  std::string text;
  std::size_t done = bytes->begin;
  for (const auto& [place, value] : written_out) {
    text += view_.text({done, place.begin}) + value;
    done = place.end;
  }
  return text + view_.text({done, bytes->end});
}

} // namespace lathe::refactor
