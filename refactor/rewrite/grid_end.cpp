#include "refactor/rewrite/grid_end.h"

#include "refactor/knobs/geometry.h"
#include "refactor/knobs/inline_assembly.h"
#include "refactor/rewrite/launch_facts.h"

#include <clang/AST/StmtCXX.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// Index arithmetic only: nothing is read or written, in the functions that it is made of neither.
bool only_computes(const KernelView& view, const Stmt* root) {
  bool pure = true;
  view.visit(root, [&](const Stmt* part) {
    const auto* unary = dyn_cast<UnaryOperator>(part);
    const auto* binary = dyn_cast<BinaryOperator>(part);
    const auto* call = dyn_cast<CallExpr>(part);
    const Expr* value = call ? view.returned_expression(call) : nullptr;
    pure &= !isa<ArraySubscriptExpr>(part) &&
            (!call || binary_parts(part) || (value && only_computes(view, value))) &&
            !(unary && (unary->getOpcode() == UO_Deref || unary->isIncrementDecrementOp())) &&
            !(binary && binary->isAssignmentOp());
  });
  return pure;
}

bool is_arithmetic(const KernelView& view, const Stmt* statement) {
  if (const auto* assembly = dyn_cast<AsmStmt>(statement))
    return passes_nothing_on(assembly);
  return isa<NullStmt>(statement) || (isa<DeclStmt>(statement) && only_computes(view, statement));
}

std::string bound_of(const KernelView& view, const Expr* condition, bool leaves, const KernelInfo& kernel,
                     const Candidate& candidate) {
  const auto parts = binary_parts(condition->IgnoreParenImpCasts());
  if (!parts)
    return "";
  if (parts->operation == (leaves ? BO_LOr : BO_LAnd)) {
    const std::string left = bound_of(view, parts->left, leaves, kernel, candidate);
    return left.empty() ? bound_of(view, parts->right, leaves, kernel, candidate) : left;
  }
  const bool forwards = parts->operation == (leaves ? BO_GE : BO_LT);
  const bool backwards = parts->operation == (leaves ? BO_LE : BO_GT);
  if (!forwards && !backwards)
    return "";
  const Expr* index = forwards ? parts->left : parts->right;
  const Expr* bound = forwards ? parts->right : parts->left;
  const Polynomial value = view.evaluate(index);
  // Sums, products and quotients of what is not negative grow with the block's number.
  bool grows = value.mentions("blockIdx.x");
  for (const auto& [monomial, coefficient] : value.terms())
    grows &= coefficient > 0;
  for (const std::string& atom : value.atoms())
    grows &= atom.find_first_of("%?&^|~<>-") == std::string::npos;
  if (!grows)
    return "";
  LaunchFacts facts = launch_facts_of(kernel, candidate);
  facts.builtins = {{"blockIdx.x", candidate.launch.grid[0].text()},
                    {"blockIdx.y", "0"},
                    {"blockIdx.z", "0"},
                    {"threadIdx.x", "0"},
                    {"threadIdx.y", "0"},
                    {"threadIdx.z", "0"}};
  const auto first = launch_expression(view, index, facts), last = launch_expression(view, bound, facts);
  return first && last ? "(" + *first + ") >= (" + *last + ")" : "";
}

// The condition that blocks from the grid's end on do nothing; "" where nothing says so.
std::string nothing_beyond_grid(const KernelView& view, const KernelInfo& kernel,
                                const Candidate& candidate) {
  const auto* body = dyn_cast_or_null<CompoundStmt>(view.kernel()->getBody());
  if (!body)
    return "";
  for (const Stmt* statement : body->body()) {
    if (const auto* branch = dyn_cast<IfStmt>(statement); branch && !branch->getElse()) {
      // What another rule put there is for other values of its knob than the default.
      if (branch->isConstexpr() && view.decide(branch->getCond()) == false)
        continue;
      const Stmt* then = branch->getThen();
      if (const auto* block = dyn_cast<CompoundStmt>(then); block && block->size() == 1)
        then = block->body_front();
      const bool leaves = isa<ReturnStmt>(then);
      if (leaves || statement == body->body_back())
        return bound_of(view, branch->getCond(), leaves, kernel, candidate);
      return "";
    }
    if (!is_arithmetic(view, statement))
      return "";
  }
  return "";
}

} // namespace

void divide_grid(const KernelView& view, const KernelInfo& kernel, const Candidate& candidate,
                 const std::string& knob, const std::string& why, const std::string& where_guarded,
                 Proposal& proposal) {
  LaunchGeometry launch = candidate.launch;
  const std::string raw = canonical(candidate.launch.grid[0]);
  const std::string beyond = nothing_beyond_grid(view, kernel, candidate);
  launch.grid[0] = beyond.empty() ? make_expression("(" + raw + ") / " + knob)
                                  : make_expression("ceil_div(" + raw + ", " + knob + ")");
  proposal.launch = launch;
  proposal.conditions.push_back(
      make_condition("(" + raw + ") % " + knob + " == 0" + (beyond.empty() ? "" : " || " + beyond),
                     why + (beyond.empty() ? "" : where_guarded)));
}

} // namespace lathe::refactor
