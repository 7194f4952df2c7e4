#include "refactor/knobs/thread_variance.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/inline_assembly.h"
#include "refactor/knobs/strided_loop.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

// Names of functions whose result is another one in every thread, whatever they are called with.
bool differs_by_name(const std::string& name) {
  static const std::regex pattern("^(__activemask|clock|clock64|.*lane.*|.*rank.*|.*rand.*|__nv_.*)$");
  return std::regex_match(name, pattern);
}

bool is_of_a_thread_by_name(const std::string& name) {
  return name.empty() || differs_by_name(name) || threads_meet_in(name);
}

bool is_hardware_index(const VarDecl* variable) {
  const StringRef name = variable->getName();
  return name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" ||
         name == "warpSize";
}

class Variance {
public:
  Variance(const KernelView& view, bool spans_grid) : view_(view), spans_grid_(spans_grid) {}

  bool of(const VarDecl* variable) {
    if (is_hardware_index(variable) || !seen_.insert(variable).second)
      return false; // which of its members counts is looked at where it is named
    if (variable->hasAttr<CUDASharedAttr>())
      return spans_grid_;
    if (view_.is_modified(variable))
      return !counts_alike(variable);
    if (isa<ParmVarDecl>(variable))
      return false;
    if (!variable->isLocalVarDecl())
      return !variable->getType().isConstQualified();
    return !variable->hasInit() || of(variable->getInit());
  }

  bool of(const Stmt* statement) {
    bool varies = false;
    view_.visit(statement, [&](const Stmt* part) {
      if (varies)
        return;
      if (const auto* expression = dyn_cast<Expr>(part))
        varies = is_of_a_thread(expression, spans_grid_);
      if (isa<AsmStmt>(part) || isa<LambdaExpr>(part) || isa<StmtExpr>(part))
        varies = true;
      if (const VarDecl* variable = named_variable(part))
        varies |= of(variable);
      if (const auto* call = dyn_cast<CallExpr>(part))
        varies |= of_call(call);
    });
    return varies;
  }

  bool of_call(const CallExpr* call) {
    if (binary_parts(call))
      return false;
    bool varies = is_of_a_thread_by_name(callee_name(view_, call));
    visit_called(view_, call, [&](const Stmt* part) {
      if (const auto* expression = dyn_cast<Expr>(part))
        varies |= is_of_a_thread(expression, spans_grid_);
      if (const auto* assembly = dyn_cast<AsmStmt>(part))
        varies |= !is_computation(assembly);
      if (const auto* further = dyn_cast<CallExpr>(part); further && !binary_parts(further))
        varies |= is_of_a_thread_by_name(callee_name(view_, further));
    });
    return varies;
  }

private:
  const KernelView& view_;
  const bool spans_grid_;
  std::set<const VarDecl*> seen_;

  // The counter of a loop that every thread runs alike.
  bool counts_alike(const VarDecl* variable) const {
    bool alike = false;
    view_.visit([&](const Stmt* statement) {
      const auto* loop = dyn_cast<ForStmt>(statement);
      const auto* declaration = loop ? dyn_cast_or_null<DeclStmt>(loop->getInit()) : nullptr;
      if (!declaration || !declaration->isSingleDecl() || declaration->getSingleDecl() != variable)
        return;
      const auto read = read_strided_loop(view_, loop);
      const auto differs = [&](const Polynomial& value) {
        return value.mentions("threadIdx.") || (spans_grid_ && value.mentions("blockIdx."));
      };
      alike = read && !differs(read->start) && !differs(read->step) && !differs(read->limit);
    });
    return alike;
  }
};

} // namespace

bool is_of_a_thread(const Expr* expression, bool spans_grid) {
  const std::string builtin = KernelView::builtin_name(expression);
  return builtin.starts_with("threadIdx.") || (spans_grid && builtin.starts_with("blockIdx."));
}

bool varies_between_threads(const KernelView& view, const VarDecl* variable, bool spans_grid) {
  return Variance(view, spans_grid).of(variable);
}

bool varies_between_threads(const KernelView& view, const Stmt* statement, bool spans_grid) {
  return Variance(view, spans_grid).of(statement);
}

bool call_varies_between_threads(const KernelView& view, const CallExpr* call, bool spans_grid) {
  return Variance(view, spans_grid).of_call(call);
}

} // namespace lathe::refactor
