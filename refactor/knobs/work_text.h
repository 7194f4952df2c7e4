// The text of what is done for each element: what can be written in front of it, and what is always done.
#pragma once

#include "refactor/knobs/element_work.h"

namespace lathe::refactor {

// Both are referred to.
class WorkText {
public:
  WorkText(const KernelView& view, const ElementWork& work) : view_(view), work_(work) {}

  void visit_parts(const std::function<void(const clang::Stmt*)>& visitor) const;
  bool is_declared_in_body(const clang::VarDecl* variable) const;
  // It is made for every element.
  bool is_unconditional(const clang::Expr* expression) const;
  // The expression as it can be written before the work: what the work computes from the element's number is
  // written out. Nothing where it takes more than that.
  std::optional<std::string> known_text(const clang::Expr* expression, int depth = 0) const;

private:
  const KernelView& view_;
  const ElementWork& work_;

  bool is_part(const clang::Stmt* statement) const;
};

} // namespace lathe::refactor
