#include "refactor/knobs/statement_effects.h"

#include "refactor/knobs/called_functions.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

bool matches(const std::string& name, const std::regex& pattern) {
  return std::regex_search(name, pattern);
}

// Threads exchange registers; memory is as before.
bool exchanges_registers(const std::string& name) {
  static const std::regex pattern("^__(shfl|ballot|any|all|match|reduce|activemask|vote)");
  return matches(name, pattern);
}

bool is_block_barrier(const std::string& name) {
  static const std::regex pattern("^__sync(threads|warp)");
  return matches(name, pattern);
}

bool orders_more_than_a_block(const std::string& name) {
  static const std::regex pattern("fence|atomic|sync|wait|arrive|barrier");
  return matches(name, pattern);
}

// CUDA's headers do not say of these that they never return.
bool ends_the_thread(const std::string& name) {
  static const std::regex pattern("^(__trap|__assert|abort|exit)");
  return matches(name, pattern);
}

bool is_quick(const std::string& name) {
  static const std::regex pattern("^(f?(max|min|abs)f?|is(inf|nan|finite)|__ld[a-z]+)$");
  return matches(name, pattern);
}

// A number or an address of a thread's own, or one that the hardware keeps.
bool is_scalar(const VarDecl* variable) {
  static const std::set<std::string> indices{"threadIdx", "blockIdx", "blockDim", "gridDim"};
  const QualType type = variable->getType();
  return indices.count(variable->getNameAsString()) > 0 ||
         (!variable->hasAttr<CUDASharedAttr>() && (type->isIntegerType() || type->isPointerType() ||
                                                   type->isRealFloatingType() || type->isEnumeralType()));
}

class Reader {
public:
  Reader(const KernelView& view, const Stmt* root) : view_(view), root_(root) {}

  StatementEffects read() {
    view_.visit(root_, [&](const Stmt* statement) {
      note_exit(statement);
      note(statement);
    });
    return effects_;
  }

private:
  const KernelView& view_;
  const Stmt* root_;
  StatementEffects effects_;

  // A jump to somewhere inside the statement is none.
  void note_exit(const Stmt* statement) {
    if (isa<ReturnStmt>(statement) || isa<GotoStmt>(statement) || isa<IndirectGotoStmt>(statement)) {
      effects_.leaves = true;
    } else if (isa<BreakStmt>(statement) || isa<ContinueStmt>(statement)) {
      for (const Stmt* above = statement; above != root_;) {
        above = view_.parent(above);
        if (!above)
          break;
        if (isa<ForStmt>(above) || isa<WhileStmt>(above) || isa<DoStmt>(above) ||
            isa<CXXForRangeStmt>(above) || (isa<SwitchStmt>(above) && isa<BreakStmt>(statement)))
          return;
      }
      effects_.leaves = true;
    }
  }

  void note(const Stmt* statement) {
    if (const auto* assembly = dyn_cast<GCCAsmStmt>(statement)) {
      effects_.orders_memory |= assembly->isVolatile() || clobbers_memory(assembly);
    } else if (isa<MSAsmStmt>(statement) || isa<CXXNewExpr>(statement) || isa<CXXDeleteExpr>(statement)) {
      effects_.orders_memory = true;
    } else if (isa<ForStmt>(statement) || isa<WhileStmt>(statement) || isa<DoStmt>(statement) ||
               isa<CXXForRangeStmt>(statement)) {
      effects_.is_slow = true;
    } else if (const auto parts = binary_parts(statement)) {
      if (BinaryOperator::isAssignmentOp(parts->operation))
        note_store(parts->left);
      if ((parts->operation == BO_Div || parts->operation == BO_DivAssign) &&
          !parts->left->getType()->isIntegerType())
        effects_.is_slow = true;
    } else if (const auto* unary = dyn_cast<UnaryOperator>(statement)) {
      if (unary->isIncrementDecrementOp())
        note_store(unary->getSubExpr());
    } else if (const auto* call = dyn_cast<CallExpr>(statement)) {
      note_call(call);
    }
  }

  static bool clobbers_memory(const GCCAsmStmt* assembly) {
    for (unsigned i = 0; i < assembly->getNumClobbers(); ++i)
      if (assembly->getClobber(i) == "memory")
        return true;
    return false;
  }

  // A variable's own bytes, or memory?
  void note_store(const Expr* target) {
    target = target->IgnoreParenImpCasts();
    while (true) {
      if (const auto* member = dyn_cast<MemberExpr>(target); member && !member->isArrow()) {
        target = member->getBase()->IgnoreParenImpCasts();
      } else if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(target);
                 dependent && !dependent->isImplicitAccess() && !dependent->isArrow()) {
        target = dependent->getBase()->IgnoreParenImpCasts();
      } else {
        break;
      }
    }
    const Expr* address = nullptr;
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(target)) {
      address = subscript->getBase();
    } else if (const auto* unary = dyn_cast<UnaryOperator>(target); unary && unary->getOpcode() == UO_Deref) {
      address = unary->getSubExpr();
    } else if (const auto* choice = dyn_cast<AbstractConditionalOperator>(target)) {
      note_store(choice->getTrueExpr());
      note_store(choice->getFalseExpr());
      return;
    } else {
      const auto* reference = dyn_cast<DeclRefExpr>(target);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (variable && !variable->getType()->isReferenceType())
        return;
      if (const auto* operation = dyn_cast<CXXOperatorCallExpr>(target);
          operation && operation->getNumArgs() > 0) {
        note_store(operation->getArg(0)); // an element of an object
        return;
      }
      if (const auto* member = dyn_cast<MemberExpr>(target);
          member && isa<CXXThisExpr>(member->getBase()->IgnoreParenImpCasts()))
        return; // the method's own object, whose owner is looked at where it is named
      effects_.changes_memory = true;
      return;
    }
    // An index may come from the chip.
    if (!view_.base_pointer(address) && view_.is_on_chip(address))
      return;
    const auto* base = dyn_cast<DeclRefExpr>(address->IgnoreParenImpCasts());
    const auto* variable = base ? dyn_cast<VarDecl>(base->getDecl()) : nullptr;
    const QualType type = variable ? variable->getType() : address->getType();
    if (variable && !type->isPointerType() && !type->isReferenceType() && !type->isDependentType())
      return; // an element of a local object
    if (names_own_member(address))
      return;
    effects_.changes_memory = true;
  }

  static bool names_own_member(const Expr* address) {
    address = address->IgnoreParenImpCasts();
    if (const auto* member = dyn_cast<MemberExpr>(address))
      return isa<CXXThisExpr>(member->getBase()->IgnoreParenImpCasts()) && member->getType()->isArrayType();
    return false;
  }

  // Where threads meet in the function, or may: a function without a name could be any.
  bool note_meeting(const std::string& name) {
    if (exchanges_registers(name))
      return true;
    if (is_block_barrier(name))
      return effects_.changes_memory = true;
    return (name.empty() || orders_more_than_a_block(name)) && (effects_.orders_memory = true);
  }

  void note_call(const CallExpr* call) {
    const std::string name = callee_name(view_, call);
    if (const auto* operation = dyn_cast<CXXOperatorCallExpr>(call)) {
      if (operation->getOperator() == OO_Call)
        effects_.orders_memory = true; // of an object that may hold anything
      return;
    }
    if (note_meeting(name)) {
      effects_.is_slow = true;
      return;
    }
    if (!call->getType()->isIntegerType() && !is_quick(name))
      effects_.is_slow = true;
    bool is_known = false;
    visit_called(view_, call, [&](const Stmt* inside) {
      is_known = true;
      if (const auto* further = dyn_cast<CallExpr>(inside); !further || isa<CXXOperatorCallExpr>(further))
        note(inside);
      else
        note_outside(further, callee_name(view_, further));
    });
    if (!is_known)
      note_outside(call, name);
  }

  bool has_a_body(const std::string& name) const {
    for (const FunctionDecl* function : view_.functions())
      if (function != view_.kernel() && function->getNameAsString() == name)
        return true;
    return false;
  }

  // A function whose body is not in the file: it computes with what it is handed by value.
  void note_outside(const CallExpr* call, const std::string& name) {
    const FunctionDecl* callee = call->getDirectCallee();
    effects_.leaves |= ends_the_thread(name) || (callee && callee->isNoReturn());
    if (note_meeting(name) || has_a_body(name) || is_quick(name))
      return;
    const auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
    if (const auto* member = dyn_cast<CXXMemberCallExpr>(call);
        member && !(method && (method->isConst() || isa<CXXConversionDecl>(method))))
      effects_.changes_memory = true;
    if (isa<CXXDependentScopeMemberExpr>(call->getCallee()->IgnoreParenImpCasts()))
      effects_.changes_memory = true;
    for (const Expr* argument : call->arguments()) {
      const QualType type = argument->getType();
      if (type->isPointerType() && !type->getPointeeType().isConstQualified() && !view_.is_on_chip(argument))
        effects_.changes_memory = true;
    }
  }
};

} // namespace

StatementEffects effects_of(const KernelView& view, const Stmt* statement) {
  return Reader(view, statement).read();
}

bool is_plain_value(const KernelView& view, const Expr* value) {
  bool plain = true;
  view.visit(value, [&](const Stmt* part) {
    // Arithmetic of a template's types is written as a call of an operator.
    const auto parts = binary_parts(part);
    const auto* call = dyn_cast<CallExpr>(part);
    if (parts)
      plain = plain && !BinaryOperator::isAssignmentOp(parts->operation) && parts->operation != BO_Comma;
    else if (call)
      plain = plain && !isa<CXXOperatorCallExpr>(call) && view.returned_expression(call) != nullptr;
    else if (const auto* unary = dyn_cast<UnaryOperator>(part))
      plain = plain && !unary->isIncrementDecrementOp() && unary->getOpcode() != UO_Deref;
    else if (isa<ArraySubscriptExpr>(part) || isa<LambdaExpr>(part) || isa<StmtExpr>(part) ||
             isa<CXXThisExpr>(part) || isa<CXXConstructExpr>(part))
      plain = false;
    else if (const auto* reference = dyn_cast<DeclRefExpr>(part))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        plain = plain && is_scalar(variable);
  });
  return plain;
}

std::set<const VarDecl*> variables_in(const KernelView& view, const Stmt* statement) {
  std::set<const VarDecl*> found;
  view.visit(statement, [&](const Stmt* part) {
    if (const auto* reference = dyn_cast<DeclRefExpr>(part))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        found.insert(variable);
  });
  return found;
}

} // namespace lathe::refactor
