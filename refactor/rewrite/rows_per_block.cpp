// rows-per-block: a block does the work of several consecutive raw blocks, one after another.
#include "refactor/knobs/communication.h"
#include "refactor/knobs/geometry.h"
#include "refactor/knobs/inline_assembly.h"
#include "refactor/rewrite/grid_end.h"
#include "refactor/rewrite/launch_facts.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class RowsPerBlock : public Rule {
public:
  std::string_view name() const override { return "rows-per-block"; }
  std::string_view summary() const override {
    return "lets one block do the work of several consecutive raw blocks in a loop";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    if (std::find(candidate.applied.begin(), candidate.applied.end(), name()) != candidate.applied.end())
      return Refusal{"a block takes several raw blocks already"};
    KernelView view = view_of(source, kernel, candidate);
    const auto* body = dyn_cast<CompoundStmt>(view.kernel()->getBody());
    if (!body || body->body_empty())
      return Refusal{"the kernel has no body"};
    if (constant_of(candidate.launch.grid[0]) == 1)
      return Refusal{"the grid has one block"};
    const std::string talk = communication(view);
    for (const std::string& callee : view.external_calls())
      if (callee.find("grid") != std::string::npos || callee.find("cluster") != std::string::npos)
        return Refusal{"the blocks of the grid cooperate: " + callee};
    std::vector<const Expr*> blocks;
    std::vector<const ReturnStmt*> returns;
    std::string problem;
    view.visit([&](const Stmt* statement) {
      const auto refuse = [&](const std::string& what) {
        if (problem.empty())
          problem = what + " at " + view.at_line(statement->getBeginLoc());
      };
      const bool in_kernel = view.enclosing_function(statement) == view.kernel();
      if (const auto* pseudo = dyn_cast<PseudoObjectExpr>(statement)) {
        const std::string builtin = KernelView::builtin_name(pseudo);
        if (builtin == "gridDim.x")
          refuse("the kernel reads the grid's size");
        if (builtin == "blockIdx.x") {
          if (!in_kernel)
            refuse("a helper reads blockIdx.x");
          blocks.push_back(pseudo);
        }
      } else if ((isa<AsmStmt>(statement) && !passes_nothing_on(cast<AsmStmt>(statement))) ||
                 isa<GotoStmt>(statement)) {
        refuse("inline assembly or goto");
      } else if (const auto* leave = dyn_cast<ReturnStmt>(statement); leave && in_kernel) {
        returns.push_back(leave);
        for (const Stmt* above = view.parent(leave); above; above = view.parent(above))
          if (isa<ForStmt>(above) || isa<WhileStmt>(above) || isa<DoStmt>(above) || isa<SwitchStmt>(above) ||
              isa<CXXForRangeStmt>(above) || isa<LambdaExpr>(above))
            refuse("a return inside a loop");
      } else if (const auto* declaration = dyn_cast<DeclStmt>(statement); declaration && in_kernel) {
        for (const Decl* declared : declaration->decls())
          if (const auto* variable = dyn_cast<VarDecl>(declared);
              variable && variable->isStaticLocal() && !variable->hasAttr<CUDASharedAttr>())
            refuse("a static variable");
      }
    });
    if (!problem.empty())
      return Refusal{problem};
    if (blocks.empty())
      return Refusal{"the kernel does not read blockIdx.x"};
    if (!talk.empty())
      for (const ReturnStmt* leave : returns)
        if (!is_of_whole_block(view, leave))
          return Refusal{"some threads return early at " + view.at_line(leave->getBeginLoc()) +
                         " while others communicate"};

    Proposal proposal;
    const std::string name = free_name(candidate.text, "ROWS");
    const std::string counter = free_name(candidate.text, "lathe_row");
    for (const Expr* block : blocks) {
      const auto bytes = view.range(block->getSourceRange());
      if (!bytes)
        return Refusal{"blockIdx.x at " + view.at_line(block->getBeginLoc()) + " comes from a macro"};
      proposal.edits.push_back(replace(*bytes, "(blockIdx.x * " + name + " + " + counter + ")"));
    }
    for (const ReturnStmt* leave : returns) {
      const auto bytes = view.range(leave->getSourceRange());
      if (!bytes)
        return Refusal{"a return comes from a macro"};
      proposal.edits.push_back(replace(*bytes, "continue"));
    }
    const auto open = view.range(SourceRange(body->getLBracLoc(), body->getLBracLoc()));
    const auto close = view.range(SourceRange(body->getRBracLoc(), body->getRBracLoc()));
    if (!open || !close)
      return Refusal{"the kernel's body comes from a macro"};
    // Every row begins with the arguments that the kernel was called with.
    std::string kept, restored;
    for (const ParmVarDecl* parameter : view.kernel()->parameters())
      if (view.is_modified(parameter) && !parameter->getType().isConstQualified()) {
        const std::string own = parameter->getNameAsString();
        const std::string copy = free_name(candidate.text, "lathe_" + own);
        kept += "\n  const auto " + copy + " = " + own + ";";
        restored += "\n    " + own + " = " + copy + ";";
      }
    const std::string begin = kept + "\n  for (unsigned " + counter + " = 0; " + counter + " < " + name +
                              "; ++" + counter + ") {" + restored;
    std::string end = "  }\n";
    // What one row leaves in shared memory must have been read before the next row writes there.
    if (!talk.empty())
      end = "  if constexpr (" + name + " > 1)\n    __syncthreads();\n  }\n";
    proposal.edits.push_back(insert(open->end, begin));
    const std::string& text = view.file_text();
    const std::size_t start = line_start(text, close->begin);
    const bool alone = text.find_first_not_of(" \t", start) == close->begin;
    proposal.edits.push_back(insert(alone ? start : close->begin, alone ? end : "\n" + end));

    divide_grid(view, kernel, candidate, name, "every block does the same number of raw blocks",
                ", or the last ones are kept out", proposal);
    proposal.knobs.push_back(make_knob(name, KnobKind::coarsen, "unsigned", {1, 2, 4, 8}, "1",
                                       "raw blocks done by one block, from blockIdx.x at " +
                                           view.at_line(blocks.front()->getBeginLoc())));
    return proposal;
  }

private:
  // True when every thread of a block returns there or none: the conditions around it are of the block's
  // number and of the kernel's parameters.
  static bool is_of_whole_block(const KernelView& view, const ReturnStmt* leave) {
    for (const Stmt *child = leave, *above = view.parent(leave); above;
         child = above, above = view.parent(above)) {
      const auto* branch = dyn_cast<IfStmt>(above);
      if (!branch || child == branch->getCond())
        continue;
      bool uniform = true;
      view.visit(branch->getCond(), [&](const Stmt* part) {
        if (isa<CallExpr>(part) || isa<ArraySubscriptExpr>(part) || isa<MemberExpr>(part))
          uniform &= !KernelView::builtin_name(dyn_cast<Expr>(part)).empty();
        if (const auto* reference = dyn_cast<DeclRefExpr>(part))
          for (const std::string& atom : view.evaluate(reference).atoms())
            uniform &= atom.rfind("param:", 0) == 0 || atom.rfind("blockIdx.", 0) == 0 ||
                       atom.rfind("blockDim.", 0) == 0 || atom.rfind("template:", 0) == 0 ||
                       atom.rfind("knob:", 0) == 0;
        if (isa<PseudoObjectExpr>(part))
          uniform &= KernelView::builtin_name(cast<Expr>(part)).rfind("threadIdx.", 0) != 0;
      });
      if (!uniform)
        return false;
    }
    return true;
  }
};

} // namespace

std::unique_ptr<Rule> make_rows_per_block() {
  return std::make_unique<RowsPerBlock>();
}

} // namespace lathe::refactor
