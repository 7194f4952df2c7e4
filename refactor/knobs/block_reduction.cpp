#include "refactor/knobs/block_reduction.h"

#include "refactor/knobs/called_functions.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <set>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr std::int64_t WARP = 32;

const Expr* bare(const Expr* expression) {
  return expression ? expression->IgnoreParenImpCasts() : nullptr;
}

const VarDecl* variable_of(const Expr* expression) {
  const auto* reference = dyn_cast_or_null<DeclRefExpr>(bare(expression));
  return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

bool is_shared(const VarDecl* variable) {
  return variable && variable->hasAttr<CUDASharedAttr>();
}

// What is behind implicit nodes: `f();` of a template is wrapped.
const Stmt* bare(const Stmt* statement) {
  const auto* expression = dyn_cast_or_null<Expr>(statement);
  return expression ? expression->IgnoreImplicit() : statement;
}

std::vector<const Stmt*> statements_of(const Stmt* statement) {
  if (const auto* compound = dyn_cast_or_null<CompoundStmt>(statement))
    return {compound->body_begin(), compound->body_end()};
  return statement ? std::vector<const Stmt*>{statement} : std::vector<const Stmt*>{};
}

// Names of functions of arithmetic, which every thread does for itself.
bool is_arithmetic(const std::string& name) {
  static const std::vector<std::string> names{
      "fmaxf", "fminf", "fmax",  "fmin", "max",        "min",        "rsqrtf", "rsqrt",
      "sqrtf", "sqrt",  "fabsf", "fabs", "__fdividef", "__frcp_rn",  "expf",   "exp",
      "logf",  "log",   "fmaf",  "fma",  "__fsqrt_rn", "__frsqrt_rn"};
  return std::ranges::find(names, name) != names.end();
}

class Finder {
public:
  Finder(const KernelView& view, std::int64_t threads_x, bool is_flat)
      : view_(view), threads_x_(threads_x), is_flat_(is_flat) {}

  std::variant<std::string, BlockReduction> find() {
    for (const FunctionDecl* function : view_.functions()) {
      BlockReduction found;
      found.function = function;
      find_second_stage(found);
      if (!found.second_stage)
        continue;
      if (function == view_.kernel() ? follow_in_kernel(found) : follow_call(found))
        return found;
    }
    return reason_.empty() ? "no warp reduces what the warps of a block have reduced" : reason_;
  }

private:
  bool refuse(const std::string& why, const Stmt* at) {
    if (reason_.empty())
      reason_ = why + " at " + view_.at_line(at->getBeginLoc());
    return false;
  }

  bool is_barrier(const Stmt* statement) const {
    const auto* call = dyn_cast_or_null<CallExpr>(bare(statement));
    return call && callee_name(view_, call) == "__syncthreads";
  }

  bool has_barrier(const Stmt* statement) const {
    bool found = false;
    view_.visit(statement, [&](const Stmt* part) { found |= is_barrier(part); });
    return found;
  }

  // The same for the threads of a warp that have the same lane, whichever warp.
  bool is_of_lane(const Expr* expression) const {
    const std::string lane = is_flat_ ? "(threadIdx.x%32)" : threads_x_ == WARP ? "threadIdx.x" : "";
    return std::ranges::all_of(view_.evaluate(expression).atoms(), [&](std::string atom) {
      for (std::size_t at; !lane.empty() && (at = atom.find(lane)) != std::string::npos;)
        atom.erase(at, lane.size());
      return atom.find("threadIdx") == std::string::npos;
    });
  }
  bool is_uniform(const Expr* expression) const { return !view_.evaluate(expression).mentions("threadIdx"); }

  // `warp == 0`, `threadIdx.x < 32`: the thread's index against a number.
  bool selects_threads(const Expr* condition) const {
    const auto parts = binary_parts(bare(condition));
    if (!parts || !(parts->operation == BO_EQ || parts->operation == BO_LT))
      return false;
    return view_.evaluate(parts->left).mentions("threadIdx") && view_.evaluate(parts->right).as_constant() &&
           !has_call(condition);
  }
  bool has_call(const Stmt* statement) const {
    bool found = false;
    view_.visit(statement, [&](const Stmt* part) {
      found |= isa<CallExpr>(part) && !isa<CXXOperatorCallExpr>(part) &&
               KernelView::builtin_name(cast<Expr>(part)).empty();
    });
    return found;
  }

  // A call that exchanges the sums of a warp's lanes so that all have the same, or does arithmetic alone.
  bool is_harmless(const CallExpr* call, bool& exchanges) const {
    const std::string name = callee_name(view_, call);
    if (name == "__shfl_xor_sync") {
      exchanges = true;
      return true;
    }
    if (is_arithmetic(name))
      return true;
    bool harmless = true, has_body = false;
    visit_called(view_, call, [&](const Stmt* part) {
      has_body = true;
      if (const auto* inner = dyn_cast<CallExpr>(part)) {
        const std::string callee = callee_name(view_, inner);
        exchanges |= callee == "__shfl_xor_sync";
        harmless &= callee == "__shfl_xor_sync" || !threads_meet_in(callee);
      }
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      harmless &= !(reference && is_shared(dyn_cast<VarDecl>(reference->getDecl())));
      const auto* expression = dyn_cast<Expr>(part);
      harmless &= !(expression && KernelView::builtin_name(expression).starts_with("threadIdx"));
      harmless &= !isa<AsmStmt>(part) && !isa<ArraySubscriptExpr>(part);
    });
    return harmless && has_body;
  }

  // The branch of the first warp, with the variable that it leaves the same in all of its lanes.
  void find_second_stage(BlockReduction& found) {
    view_.visit(found.function->getBody(), [&](const Stmt* statement) {
      const auto* compound = dyn_cast<CompoundStmt>(statement);
      if (!compound || found.second_stage)
        return;
      const std::vector<const Stmt*> parts = statements_of(compound);
      for (std::size_t i = 1; i < parts.size() && !found.second_stage; ++i)
        if (const auto* branch = dyn_cast<IfStmt>(parts[i]);
            branch && !branch->getElse() && !branch->isConstexpr() && is_barrier(parts[i - 1]) &&
            selects_threads(branch->getCond()) && is_same_in_any_warp(branch, found))
          found.second_stage = branch;
    });
  }

  bool is_same_in_any_warp(const IfStmt* branch, BlockReduction& found) {
    const std::vector<const Stmt*> body = statements_of(branch->getThen());
    const auto first = body.empty() ? std::nullopt : binary_parts(bare(body.front()));
    const VarDecl* result = first && first->operation == BO_Assign ? variable_of(first->left) : nullptr;
    if (!result || is_shared(result) || !result->hasLocalStorage() || !result->getType()->isArithmeticType())
      return false;
    bool exchanges = false;
    std::string problem;
    view_.visit(branch->getThen(), [&](const Stmt* part) {
      if (const auto* call = dyn_cast<CallExpr>(part); call && KernelView::builtin_name(call).empty() &&
                                                       !isa<CXXOperatorCallExpr>(call) &&
                                                       !is_harmless(call, exchanges))
        problem = "a call";
      if (isa<AsmStmt>(part) || isa<ReturnStmt>(part) || isa<GotoStmt>(part))
        problem = "a jump";
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!variable || is_shared(variable) || variable == result || variable->isConstexpr())
        return;
      if (!declares(branch->getThen(), variable) &&
          (isa<ParmVarDecl>(variable) ? view_.is_modified(variable) || variable->getType()->isPointerType()
                                      : !is_of_lane(reference)))
        problem = variable->getNameAsString();
    });
    if (mentions(first->right, result) || !exchanges)
      return false; // what the warps had before goes on in it, or nothing is reduced
    if (!problem.empty())
      return refuse("what the first warp reduces depends on " + problem, branch);
    bool of_lane = true;
    view_.visit(branch->getThen(), [&](const Stmt* part) {
      if (const auto* element = dyn_cast<ArraySubscriptExpr>(part))
        of_lane &= is_of_lane(element->getIdx()) && is_shared(variable_of(element->getBase()));
      if (const auto* choice = dyn_cast<ConditionalOperator>(part))
        of_lane &= is_of_lane(choice->getCond());
    });
    if (!of_lane)
      return refuse("what the first warp reduces is not a lane's", branch);
    found.result = result;
    return true;
  }

  bool declares(const Stmt* root, const VarDecl* variable) const {
    bool found = false;
    view_.visit(root, [&](const Stmt* part) {
      if (const auto* declaration = dyn_cast<DeclStmt>(part))
        for (const Decl* declared : declaration->decls())
          found |= declared == variable;
    });
    return found;
  }

  bool mentions(const Stmt* root, const VarDecl* variable) const {
    bool found = false;
    view_.visit(root, [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      found |= reference && reference->getDecl()->getCanonicalDecl() == variable->getCanonicalDecl();
    });
    return found;
  }

  // The shared place that the expression is: a variable, or an array's first element.
  bool is_place(const Expr* expression, const VarDecl*& variable, bool& is_element) const {
    expression = bare(expression);
    is_element = false;
    if (const auto* element = dyn_cast_or_null<ArraySubscriptExpr>(expression)) {
      variable = variable_of(element->getBase());
      is_element = true;
      return is_shared(variable) && view_.evaluate(element->getIdx()).as_constant() == 0;
    }
    variable = variable_of(expression);
    return is_shared(variable) && variable->getType()->isArithmeticType();
  }

  // The store of the result in a branch, and the branch around it if it has one of its own.
  bool find_store(const IfStmt* branch, BlockReduction& found) {
    view_.visit(branch->getThen(), [&](const Stmt* part) {
      const auto* store = dyn_cast<BinaryOperator>(part);
      const VarDecl* variable = nullptr;
      bool is_element = false;
      if (!store || store->getOpcode() != BO_Assign || !is_place(store->getLHS(), variable, is_element) ||
          found.store)
        return;
      found.store = store, found.shared = variable, found.is_element = is_element;
    });
    return found.store != nullptr;
  }

  // The second stage stands in the kernel, stores what it has, and a barrier follows.
  bool follow_in_kernel(BlockReduction& found) {
    const IfStmt* stage = found.second_stage;
    if (!find_store(stage, found))
      return refuse("the first warp's result is not left in shared memory", stage);
    for (const Stmt* above = view_.parent(found.store); above && above != stage; above = view_.parent(above))
      if (const auto* branch = dyn_cast<IfStmt>(above)) {
        if (found.store_branch || branch->getElse() || !selects_threads(branch->getCond()))
          return refuse("the result is stored under a condition", branch);
        found.store_branch = branch;
      } else if (!isa<CompoundStmt>(above) && !isa<ExprWithCleanups>(above)) {
        return refuse("the result is stored in a loop or an expression", found.store);
      }
    return is_uniform_value(found, found.result) && follow_barrier(stage, found);
  }

  // A helper that ends with the second stage and returns what it has; the kernel's first thread stores it.
  bool follow_call(BlockReduction& found) {
    const std::vector<const Stmt*> body = statements_of(found.function->getBody());
    const auto* leave = body.empty() ? nullptr : dyn_cast<ReturnStmt>(body.back());
    if (!leave || body.size() < 2 || body[body.size() - 2] != found.second_stage ||
        variable_of(leave->getRetValue()) != found.result)
      return refuse("the helper does not end with the second stage", found.second_stage);
    const CallExpr* only = nullptr;
    int calls = 0;
    view_.visit([&](const Stmt* part) {
      if (const auto* call = dyn_cast<CallExpr>(part);
          call && callee_name(view_, call) == found.function->getNameAsString())
        ++calls, only = call;
    });
    if (calls != 1 || view_.enclosing_function(only) != view_.kernel())
      return refuse("the helper is called more than once", found.second_stage);
    const Stmt* statement = only;
    while (view_.parent(statement) && !isa<CompoundStmt>(view_.parent(statement)))
      statement = view_.parent(statement);
    const VarDecl* result = nullptr;
    if (const auto parts = binary_parts(bare(statement)); parts && parts->operation == BO_Assign)
      result = bare(parts->right) == only ? variable_of(parts->left) : nullptr;
    else if (const auto* declaration = dyn_cast<DeclStmt>(statement);
             declaration && declaration->isSingleDecl())
      if (const auto* variable = dyn_cast<VarDecl>(declaration->getSingleDecl());
          variable && bare(variable->getInit()) == only)
        result = variable;
    if (!result || is_shared(result))
      return refuse("the helper's result does not go to a variable", only);
    const std::vector<const Stmt*> siblings = statements_of(view_.parent(statement));
    const auto own = std::ranges::find(siblings, statement);
    for (auto next = own == siblings.end() ? own : std::next(own); next != siblings.end(); ++next) {
      if (isa<DeclStmt>(*next) && !has_call(*next))
        continue;
      const auto* branch = dyn_cast<IfStmt>(*next);
      if (!branch || branch->getElse() || !selects_threads(branch->getCond()) || !find_store(branch, found))
        return refuse("no thread leaves the helper's result in shared memory", *next);
      for (const Stmt* above = view_.parent(found.store); above && above != branch;
           above = view_.parent(above))
        if (!isa<CompoundStmt>(above) && !isa<ExprWithCleanups>(above))
          return refuse("the result is stored under a condition", found.store);
      found.store_branch = branch;
      return is_uniform_value(found, result) && follow_barrier(branch, found) &&
             is_read_no_more(result, branch);
    }
    return refuse("no thread leaves the helper's result in shared memory", only);
  }

  // Every thread can compute what is stored by itself.
  bool is_uniform_value(const BlockReduction& found, const VarDecl* result) {
    bool uniform = true;
    view_.visit(found.store->getRHS(), [&](const Stmt* part) {
      if (const auto* call = dyn_cast<CallExpr>(part);
          call && KernelView::builtin_name(call).empty() && !isa<CXXOperatorCallExpr>(call))
        uniform &= is_arithmetic(callee_name(view_, call));
      const auto* expression = dyn_cast<Expr>(part);
      if (isa<ArraySubscriptExpr>(part) || isa<AsmStmt>(part) ||
          (expression && KernelView::builtin_name(expression).starts_with("threadIdx")))
        uniform = false;
      if (const auto* unary = dyn_cast<UnaryOperator>(part))
        uniform &= unary->getOpcode() != UO_Deref && !unary->isIncrementDecrementOp();
      if (const auto parts = binary_parts(part))
        uniform &= !BinaryOperator::isAssignmentOp(parts->operation);
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!variable || variable == result || variable->isConstexpr())
        return;
      if (is_shared(variable) || view_.is_modified(variable) || !is_uniform(reference) ||
          (!isa<ParmVarDecl>(variable) && variable->hasLocalStorage() &&
           !variable->getType()->isIntegerType()))
        uniform = false;
    });
    return uniform || refuse("what is stored is not every thread's own to compute", found.store);
  }

  // The barrier stands right behind the writer, and orders nothing else.
  bool follow_barrier(const IfStmt* writer, BlockReduction& found) {
    const auto* around = dyn_cast_or_null<CompoundStmt>(view_.parent(writer));
    const std::vector<const Stmt*> siblings = statements_of(around);
    const auto at = std::ranges::find(siblings, static_cast<const Stmt*>(writer));
    if (at == siblings.end() || std::next(at) == siblings.end() || !is_barrier(*std::next(at)))
      return refuse("no barrier follows the store", writer);
    found.barrier = *std::next(at);
    // Up to the next barrier, or the kernel's end; a loop around begins anew behind a barrier of its own.
    bool ends = around == view_.kernel()->getBody();
    for (auto next = std::next(at, 2); next != siblings.end(); ++next) {
      if (is_barrier(*next) || is_barrier_of_knobs(*next)) {
        ends = true;
        break;
      }
      if (has_barrier(*next))
        return refuse("a barrier stands in a branch or a loop", *next);
      if (!leaves_shared_alone(*next, found) || !touches_nothing_stored(*next, writer))
        return false;
    }
    if (!ends)
      return refuse("the loop around has no barrier at its end", writer);
    for (const DeclRefExpr* use : view_.uses(found.shared)) {
      const Expr* place = use;
      if (found.is_element) {
        const Stmt* above = view_.meaningful_parent(use);
        const auto* element = dyn_cast_or_null<ArraySubscriptExpr>(above);
        const bool is_first = element && view_.evaluate(element->getIdx()).as_constant() == 0;
        if (!is_first && is_behind(use, found.barrier))
          return refuse("the shared array is used elsewhere", use);
        if (!is_first)
          continue;
        if (!is_behind(use, found.barrier) && !view_.within(found.store->getLHS(), use))
          return refuse("the array's first element is used before", use);
        place = element;
      } else if (!is_behind(use, found.barrier) && !view_.within(writer, use)) {
        return refuse("the shared variable is used before", use);
      }
      if (is_behind(use, found.barrier) && !is_read(use))
        return refuse("the shared place is written again", use);
      if (!view_.range(place->getSourceRange()))
        return refuse("the shared place is named in a macro", use);
      found.uses.push_back(place);
    }
    return true;
  }

  bool is_behind(const Stmt* statement, const Stmt* barrier) const {
    const auto& manager = view_.context().getSourceManager();
    return manager.getFileOffset(manager.getExpansionLoc(statement->getBeginLoc())) >
           manager.getFileOffset(manager.getExpansionLoc(barrier->getBeginLoc()));
  }

  // `if constexpr (ROWS > 1) __syncthreads();` at a loop's end.
  bool is_barrier_of_knobs(const Stmt* statement) const {
    const auto* branch = dyn_cast<IfStmt>(statement);
    const std::vector<const Stmt*> body =
        branch ? statements_of(branch->getThen()) : std::vector<const Stmt*>{};
    return branch && branch->isConstexpr() && body.size() == 1 && is_barrier(body.front());
  }

  // A shared variable, or a pointer into one.
  bool is_in_shared(const VarDecl* variable) const {
    if (!variable || is_shared(variable))
      return variable != nullptr;
    if (!variable->getType()->isPointerType() || isa<ParmVarDecl>(variable) || !variable->hasInit())
      return false;
    bool found = false;
    view_.visit(variable->getInit(), [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      found |= reference && is_in_shared(dyn_cast<VarDecl>(reference->getDecl()));
    });
    return found;
  }

  // Whether what the mention of shared memory becomes is a value, or an address that a function reads from.
  bool is_read(const DeclRefExpr* reference) const {
    const Stmt* above = view_.parent(reference);
    for (; above; above = view_.parent(above)) {
      const auto* cast = dyn_cast<CastExpr>(above);
      if (cast && cast->getCastKind() == CK_LValueToRValue && !cast->getType()->isPointerType())
        return true;
      const auto parts = binary_parts(above);
      const bool is_address = cast || isa<ParenExpr>(above) || isa<ArraySubscriptExpr>(above) ||
                              isa<ConditionalOperator>(above) ||
                              (parts && (parts->operation == BO_Add || parts->operation == BO_Sub));
      if (!is_address)
        break;
    }
    const auto* call = dyn_cast_or_null<CallExpr>(above);
    if (!call || isa<CXXOperatorCallExpr>(call))
      return false;
    const std::string name = callee_name(view_, call);
    bool known = false, writes = false;
    for (const FunctionDecl* function : view_.functions())
      if (function != view_.kernel() && function->getNameAsString() == name) {
        known = true;
        for (const ParmVarDecl* parameter : function->parameters())
          writes |= parameter->getType()->isPointerType() &&
                    !parameter->getType()->getPointeeType().isConstQualified();
      }
    return known && !writes;
  }

  // What slower warps still read in the second stage is not written.
  bool leaves_shared_alone(const Stmt* statement, const BlockReduction& found) {
    bool alone = true;
    view_.visit(statement, [&](const Stmt* part) {
      if (const auto* call = dyn_cast<CallExpr>(part)) {
        const std::string name = callee_name(view_, call);
        alone &= !threads_meet_in(name) || name.starts_with("__shfl") || name == "__syncwarp";
        visit_called(view_, call, [&](const Stmt* inner) {
          const auto* reference = dyn_cast<DeclRefExpr>(inner);
          alone &= !(reference && is_shared(dyn_cast<VarDecl>(reference->getDecl())));
        });
      }
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!is_in_shared(variable))
        return;
      alone &= is_read(reference) || variable == found.shared;
    });
    return alone || refuse("shared memory is written behind the barrier", statement);
  }

  // Global memory that the writer may store to is not touched behind the barrier.
  bool touches_nothing_stored(const Stmt* statement, const IfStmt* writer) {
    const std::set<const VarDecl*> stored = places_in(writer->getThen());
    const bool touches = std::ranges::any_of(places_in(statement, true),
                                             [&](const VarDecl* place) { return stored.contains(place); });
    return !touches || refuse("what is stored before the barrier is used behind it", statement);
  }

  // Pointers to global memory that the statement names, by the parameter that they come from where that
  // shows; those to constants only where `all` is asked for.
  std::set<const VarDecl*> places_in(const Stmt* statement, bool all = false) const {
    std::set<const VarDecl*> places;
    view_.visit(statement, [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!variable || !variable->getType()->isPointerType() || is_in_shared(variable))
        return;
      if (!all && variable->getType()->getPointeeType().isConstQualified())
        return;
      const ParmVarDecl* base = view_.base_pointer(reference);
      places.insert(base ? static_cast<const VarDecl*>(base) : variable);
    });
    return places;
  }

  // Other warps had something else in the variable.
  bool is_read_no_more(const VarDecl* result, const IfStmt* writer) {
    for (const DeclRefExpr* use : view_.uses(result))
      if (is_behind(use, writer) && !view_.within(writer, use))
        return refuse(result->getNameAsString() + " is used again", use);
    return true;
  }

  const KernelView& view_;
  std::int64_t threads_x_;
  bool is_flat_;
  std::string reason_;
};

} // namespace

std::variant<std::string, BlockReduction> find_block_reduction(const KernelView& view, std::int64_t threads_x,
                                                               bool is_flat) {
  return Finder(view, threads_x, is_flat).find();
}

} // namespace lathe::refactor
