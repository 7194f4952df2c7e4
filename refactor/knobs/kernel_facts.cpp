#include "refactor/knobs/kernel_facts.h"

#include "refactor/knobs/kernel_view.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <array>
#include <string_view>

namespace lathe::refactor {

using namespace clang;

namespace {

// The name of what a call calls, where the callee is named at all.
std::string callee_name(const CallExpr* call) {
  const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(callee))
    return reference->getDecl()->getDeclName().isIdentifier() ? reference->getDecl()->getName().str() : "";
  if (const auto* lookup = dyn_cast<OverloadExpr>(callee))
    return lookup->getName().getAsString();
  if (const auto* member = dyn_cast<MemberExpr>(callee))
    return member->getMemberDecl()->getNameAsString();
  return {};
}

bool contains_any(std::string_view name, std::initializer_list<const char*> words) {
  for (const char* word : words)
    if (name.find(word) != std::string_view::npos)
      return true;
  return false;
}

void count_call(const std::string& name, KernelFacts& facts) {
  if (contains_any(name, {"syncthreads", "syncwarp", "barrier"}))
    ++facts.barriers;
  else if (contains_any(name, {"shfl", "ballot", "_any_sync", "_all_sync", "reduce_", "activemask"}))
    ++facts.warp_primitives;
  else if (contains_any(name, {"atomic"}))
    ++facts.atomics;
  else if (contains_any(name, {"exp", "log", "sqrt", "tanh", "erf", "sin", "cos", "pow", "rcp"}))
    ++facts.special_functions;
}

int depth_of(const KernelView& view, const Stmt* loop) {
  int depth = 0;
  for (const Stmt* at = loop; at; at = view.parent(at))
    depth += isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(at);
  return depth;
}

void count_statement(const KernelView& view, const Stmt* statement, KernelFacts& facts) {
  if (isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(statement)) {
    ++facts.loops;
    facts.loop_depth = std::max(facts.loop_depth, depth_of(view, statement));
  } else if (isa<IfStmt, ConditionalOperator, SwitchStmt>(statement)) {
    ++facts.branches;
  } else if (const auto* call = dyn_cast<CallExpr>(statement)) {
    count_call(callee_name(call), facts);
  } else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement)) {
    facts.subscripts += !view.is_on_chip(subscript->getBase());
  } else if (const auto* unary = dyn_cast<UnaryOperator>(statement)) {
    facts.subscripts += unary->getOpcode() == UO_Deref && !view.is_on_chip(unary->getSubExpr());
  } else if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
    for (const Decl* declared : declaration->decls())
      facts.shared_variables += declared->hasAttr<CUDASharedAttr>();
  }
  if (const auto binary = binary_parts(statement))
    facts.divisions += binary->operation == BO_Div || binary->operation == BO_Rem;
  if (const auto* expression = dyn_cast<Expr>(statement)) {
    const std::string name = KernelView::builtin_name(expression);
    facts.reads_block_size |= name.starts_with("blockDim");
    facts.reads_grid_size |= name.starts_with("gridDim");
  }
}

} // namespace

std::vector<std::pair<std::string, double>> KernelFacts::features() const {
  return {{"loops", loops},
          {"loop_depth", loop_depth},
          {"barriers", barriers},
          {"warp_primitives", warp_primitives},
          {"atomics", atomics},
          {"shared_variables", shared_variables},
          {"subscripts", subscripts},
          {"branches", branches},
          {"divisions", divisions},
          {"special_functions", special_functions},
          {"functions", functions},
          {"pointer_parameters", pointer_parameters},
          {"reads_block_size", reads_block_size ? 1.0 : 0.0},
          {"reads_grid_size", reads_grid_size ? 1.0 : 0.0}};
}

KernelFacts kernel_facts(ParsedSource& source, const KernelInfo& kernel) {
  const KernelView view(source, kernel);
  KernelFacts facts;
  facts.functions = static_cast<int>(view.functions().size());
  for (const KernelParameter& parameter : kernel.parameters)
    facts.pointer_parameters += parameter.is_pointer;
  view.visit([&](const Stmt* statement) { count_statement(view, statement, facts); });
  return facts;
}

} // namespace lathe::refactor
