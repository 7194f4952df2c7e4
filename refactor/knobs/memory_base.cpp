#include "refactor/knobs/memory_base.h"

#include "refactor/knobs/strided_loop.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr int most_steps = 64; // of pointers that are computed from pointers

class Follower {
public:
  explicit Follower(const KernelView& view) : view_(view) {}

  MemoryBase of(const VarDecl* variable) {
    const Expr* further = pass(variable);
    return further ? follow(further) : base_;
  }

  MemoryBase follow(const Expr* address) {
    for (int step = 0; address && step < most_steps; ++step) {
      note_casts(address);
      address = without_casts(address);
      if (const auto parts = binary_parts(address)) {
        if (parts->operation != BO_Add && parts->operation != BO_Sub)
          return {};
        const bool on_left = is_address(parts->left);
        if (!on_left && (parts->operation == BO_Sub || !is_address(parts->right)))
          return {};
        const Polynomial distance = view_.evaluate(on_left ? parts->right : parts->left);
        base_.offset = parts->operation == BO_Sub ? base_.offset - distance : base_.offset + distance;
        address = on_left ? parts->left : parts->right;
      } else if (const auto* unary = dyn_cast<UnaryOperator>(address)) {
        const auto* subscript = unary->getOpcode() == UO_AddrOf
                                    ? dyn_cast<ArraySubscriptExpr>(without_casts(unary->getSubExpr()))
                                    : nullptr;
        if (!subscript)
          return {};
        base_.offset = base_.offset + view_.evaluate(subscript->getIdx());
        address = subscript->getBase();
      } else if (const VarDecl* variable = named_variable(address)) {
        address = pass(variable);
      } else {
        return {};
      }
    }
    return address ? MemoryBase{} : base_;
  }

private:
  const KernelView& view_;
  MemoryBase base_;

  // The address to go on with; null where `base_` has what is wanted.
  const Expr* pass(const VarDecl* variable) {
    const QualType type = variable->getType();
    base_.variable = variable;
    base_.on_chip =
        !isa<ParmVarDecl>(variable) && (variable->hasAttr<CUDASharedAttr>() || variable->hasLocalStorage());
    if (isa<ParmVarDecl>(variable) || type->isArrayType() || variable->hasAttr<CUDASharedAttr>())
      return unless_moved(variable);
    if (!type->isPointerType() || !variable->hasInit() || view_.is_modified(variable)) {
      base_ = {};
      return nullptr;
    }
    // A part of its own, however much of the whole it takes.
    if (view_.is_on_chip(variable->getInit()) && is_part(variable->getInit()))
      return nullptr;
    return variable->getInit();
  }

  // Offsets in elements of different sizes are never the same.
  void note_casts(const Expr* address) {
    for (const Expr* at = address->IgnoreParenImpCasts(); const auto* cast = dyn_cast<ExplicitCastExpr>(at);
         at = cast->getSubExpr()->IgnoreParenImpCasts())
      base_.offset = base_.offset + Polynomial::atom("as:" + view_.type_text(cast->getType()));
  }

  // A parameter that is stepped is elsewhere in its buffer.
  const Expr* unless_moved(const VarDecl* variable) {
    if (isa<ParmVarDecl>(variable) && view_.is_modified(variable))
      base_ = {};
    return nullptr;
  }

  static const Expr* without_casts(const Expr* expression) { return expression->IgnoreParenCasts(); }

  bool is_address(const Expr* expression) const {
    const QualType type = expression->getType();
    if (type->isPointerType() || type->isArrayType())
      return true;
    const VarDecl* variable = named_variable(without_casts(expression));
    return variable && (variable->getType()->isPointerType() || variable->getType()->isArrayType());
  }

  // `a + n` where the launch decides n.
  bool is_part(const Expr* address) const {
    const auto parts = binary_parts(without_casts(address));
    if (!parts || parts->operation != BO_Add)
      return false;
    const Polynomial distance = view_.evaluate(is_address(parts->left) ? parts->right : parts->left);
    return is_stable(view_, distance) && !distance.mentions("Idx.") && !distance.mentions(loop_atom);
  }
};

} // namespace

MemoryBase memory_base(const KernelView& view, const Expr* address) {
  return Follower(view).follow(address);
}

MemoryBase memory_base(const KernelView& view, const VarDecl* variable) {
  return Follower(view).of(variable);
}

bool may_overlap(const MemoryBase& one, const MemoryBase& other) {
  if (!one.variable || !other.variable || one.variable == other.variable)
    return true;
  if (one.on_chip || other.on_chip) // all that is `extern __shared__` begins at one place
    return one.variable->hasExternalStorage() && other.variable->hasExternalStorage();
  return !one.variable->getType().isRestrictQualified() && !other.variable->getType().isRestrictQualified();
}

bool declares_fixed_pointer(const KernelView& view, const DeclStmt* declaration) {
  const auto* variable =
      declaration->isSingleDecl() ? dyn_cast<VarDecl>(declaration->getSingleDecl()) : nullptr;
  return variable && variable->getType()->isPointerType() && !view.is_modified(variable);
}

bool names_memory(const VarDecl* variable) {
  const QualType type = variable->getType();
  return type->isPointerType() || type->isArrayType() || variable->hasAttr<CUDASharedAttr>();
}

} // namespace lathe::refactor
