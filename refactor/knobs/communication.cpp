#include "refactor/knobs/communication.h"

#include "refactor/knobs/inline_assembly.h"

#include <clang/AST/StmtCXX.h>

#include <regex>

namespace lathe::refactor {

using namespace clang;

std::string communication(const KernelView& view) {
  static const std::regex talks(
      "(__sync.*|__shfl.*|__ballot.*|__any.*|__all.*|__match.*|__reduce_.*|__activemask|"
      "__vote.*|__barrier.*|__threadfence.*|atomic.*|.*cluster.*|.*barrier.*|"
      "__nv_atomic.*|__nvvm_.*)");
  for (const std::string& name : view.external_calls())
    if (std::regex_match(name, talks))
      return name;
  std::string found;
  view.visit([&](const Stmt* statement) {
    if (isa<AsmStmt>(statement) && !passes_nothing_on(cast<AsmStmt>(statement))) {
      found = "inline assembly at " + view.at_line(statement->getBeginLoc());
    } else if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
      for (const Decl* declared : declaration->decls()) {
        const auto* variable = dyn_cast<VarDecl>(declared);
        if (!variable)
          continue;
        const std::string type = variable->getType().getAsString();
        if (variable->hasAttr<CUDASharedAttr>())
          found = "shared memory at " + view.at_line(variable->getLocation());
        else if (type.find("cub::") != std::string::npos ||
                 type.find("cooperative_groups") != std::string::npos ||
                 type.find("cg::") != std::string::npos)
          found = type + " at " + view.at_line(variable->getLocation());
      }
    }
  });
  return found;
}

} // namespace lathe::refactor
