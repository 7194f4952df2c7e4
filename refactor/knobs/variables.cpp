#include "refactor/knobs/variables.h"

namespace lathe::refactor {

using namespace clang;

const VarDecl* named_variable(const Stmt* statement) {
  const auto* reference = dyn_cast<DeclRefExpr>(statement);
  return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

bool declares(const KernelView& view, const Stmt* root, const VarDecl* variable) {
  bool found = false;
  view.visit(root, [&](const Stmt* statement) {
    if (const auto* declaration = dyn_cast<DeclStmt>(statement))
      for (const Decl* declared : declaration->decls())
        found |= declared == variable;
  });
  return found;
}

bool comes_from(const KernelView& view, const Stmt* statement, const VarDecl* last,
                const std::function<bool(const Stmt*)>& wanted) {
  std::set<const VarDecl*> seen{last};
  bool found = false;
  std::function<void(const Stmt*)> look = [&](const Stmt* root) {
    view.visit(root, [&](const Stmt* part) {
      found = found || wanted(part);
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!found && variable && variable->hasInit() && seen.insert(variable).second)
        look(variable->getInit());
    });
  };
  look(statement);
  return found;
}

std::set<const FunctionDecl*> functions_with_labels(const KernelView& view) {
  std::set<const FunctionDecl*> found;
  view.visit([&](const Stmt* statement) {
    if (isa<LabelStmt>(statement) || isa<IndirectGotoStmt>(statement))
      found.insert(view.enclosing_function(statement));
  });
  return found;
}

bool is_of_thread_along_x(std::string_view builtin) {
  return builtin == "threadIdx.x" || builtin == "blockIdx.x" || builtin == "gridDim.x";
}

} // namespace lathe::refactor
