#include "refactor/knobs/late_variables.h"

#include "refactor/knobs/variables.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <optional>
#include <span>

namespace lathe::refactor {

using namespace clang;

namespace {

struct Use {
  const DeclRefExpr* reference = nullptr;
  TextRange place;
};

// An assignment that can be a declaration.
struct Anchor {
  const Expr* assignment = nullptr;
  const CompoundStmt* block = nullptr; // whose statement it is, or which the loop is a statement of; or null
  bool is_of_loop = false;             // the start of a for loop
  std::size_t end = 0;                 // of the text in which it is declared
};

class Finder {
public:
  Finder(const KernelView& view, const VarDecl* variable) : view_(view), variable_(variable) {}

  std::optional<std::vector<const Expr*>> run() {
    for (const DeclRefExpr* reference : view_.uses(variable_)) {
      const auto place = view_.range(reference->getSourceRange());
      if (!place || escapes(reference))
        return std::nullopt;
      uses_.push_back({reference, *place});
    }
    if (uses_.empty())
      return std::nullopt;
    std::ranges::sort(uses_, {}, [](const Use& use) { return use.place.begin; });
    std::vector<const Expr*> assignments;
    if (!divide(uses_, nullptr, assignments))
      return std::nullopt;
    return assignments;
  }

private:
  // It may be read or written where its name does not stand.
  bool escapes(const DeclRefExpr* reference) const {
    const Stmt* above = view_.meaningful_parent(reference);
    if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above); unary && unary->getOpcode() == UO_AddrOf)
      return true;
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above))
      return std::ranges::any_of(declaration->decls(), [](const Decl* declared) {
        const auto* variable = dyn_cast<VarDecl>(declared);
        return variable && variable->getType()->isReferenceType();
      });
    for (; above; above = view_.parent(above))
      if (isa<LambdaExpr>(above))
        return true;
    return false;
  }

  std::optional<Anchor> anchor_at(const Use& use) const {
    const Stmt* above = view_.meaningful_parent(use.reference);
    const auto parts = binary_parts(above);
    if (!parts || parts->operation != BO_Assign || parts->left->IgnoreParens() != use.reference)
      return std::nullopt;
    const auto* assignment = cast<Expr>(above);
    const auto place = view_.range(assignment->getSourceRange());
    // What it is set to must not be made of it.
    if (!place || std::ranges::any_of(uses_, [&](const Use& other) {
          return other.reference != use.reference && place->begin <= other.place.begin &&
                 other.place.begin < place->end;
        }))
      return std::nullopt;
    const Stmt* holder = view_.parent(assignment);
    if (isa_and_nonnull<ExprWithCleanups>(holder))
      holder = view_.parent(holder);
    Anchor anchor{assignment, dyn_cast_or_null<CompoundStmt>(holder), false, 0};
    const Stmt* scope = holder;
    if (const auto* loop = dyn_cast_or_null<ForStmt>(holder)) {
      if (loop->getInit() != assignment)
        return std::nullopt;
      anchor.is_of_loop = true;
      anchor.block = dyn_cast_or_null<CompoundStmt>(view_.parent(loop));
    } else if (!anchor.block || has_cases(anchor.block)) {
      return std::nullopt;
    }
    const auto text = view_.range(scope->getSourceRange());
    if (!text)
      return std::nullopt;
    anchor.end = text->end;
    return anchor;
  }

  static bool has_cases(const CompoundStmt* block) {
    return std::ranges::any_of(block->body(), [](const Stmt* part) { return isa<SwitchCase>(part); });
  }

  // Divides uses, in the order of the text, among assignments that each declare what the uses behind them
  // mean. `taken`: a block that declares it already.
  bool divide(std::span<const Use> uses, const CompoundStmt* taken,
              std::vector<const Expr*>& assignments) const {
    if (uses.empty())
      return true;
    const auto anchor = anchor_at(uses.front());
    if (!anchor || (!anchor->is_of_loop && anchor->block == taken))
      return false;
    assignments.push_back(anchor->assignment);
    const auto within = static_cast<std::size_t>(
        std::ranges::count_if(uses, [&](const Use& use) { return use.place.begin < anchor->end; }));
    // A later loop of the same block that counts with it anew has a variable of its own.
    for (std::size_t first = 1; !anchor->is_of_loop && first < within; ++first) {
      const auto next = anchor_at(uses[first]);
      if (!next || !next->is_of_loop || next->block != anchor->block)
        continue;
      const std::size_t known = assignments.size();
      if (divide(uses.subspan(first, within - first), anchor->block, assignments))
        break;
      assignments.resize(known);
    }
    return divide(uses.subspan(within), taken, assignments);
  }

  const KernelView& view_;
  const VarDecl* variable_;
  std::vector<Use> uses_;
};

bool is_number_or_pointer(QualType type) {
  return !type.hasLocalQualifiers() && !type->isReferenceType() &&
         (type->isArithmeticType() || type->isEnumeralType() || type->isPointerType());
}

} // namespace

std::vector<LateVariable> late_variables(const KernelView& view) {
  const std::set<const FunctionDecl*> with_labels = functions_with_labels(view);
  std::vector<LateVariable> found;
  view.visit([&](const Stmt* statement) {
    const auto* declaration = dyn_cast<DeclStmt>(statement);
    if (!declaration || with_labels.contains(view.enclosing_function(declaration)))
      return;
    for (const Decl* declared : declaration->decls()) {
      const auto* variable = dyn_cast<VarDecl>(declared);
      if (!variable || !variable->isLocalVarDecl() || variable->isStaticLocal() || variable->hasInit() ||
          variable->hasAttrs() || !is_number_or_pointer(variable->getType()))
        continue;
      if (auto assignments = Finder(view, variable).run())
        found.push_back({variable, declaration, std::move(*assignments)});
    }
  });
  return found;
}

} // namespace lathe::refactor
