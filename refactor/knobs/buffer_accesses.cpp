#include "refactor/knobs/buffer_accesses.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/strided_loop.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

namespace lathe::refactor {

using namespace clang;

namespace {

bool is_pointer_cast(const Stmt* statement) {
  const auto* cast = dyn_cast<ExplicitCastExpr>(statement);
  return cast && cast->getType()->isPointerType();
}

bool same_element(QualType a, QualType b, const ASTContext& context) {
  const auto bare = [&](QualType type) { return context.getCanonicalType(type).getUnqualifiedType(); };
  return !a.isNull() && !b.isNull() && a != context.DependentTy && bare(a) == bare(b);
}

// `member[k]` or `member` of the method's own object; the type of what is named.
bool names_member(const Expr* expression) {
  expression = expression->IgnoreParenImpCasts();
  if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(expression))
    expression = subscript->getBase()->IgnoreParenImpCasts();
  const auto* member = dyn_cast<MemberExpr>(expression);
  if (member && isa<FieldDecl>(member->getMemberDecl()))
    return isa<CXXThisExpr>(member->getBase()->IgnoreParenImpCasts());
  const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(expression);
  return dependent && dependent->isImplicitAccess();
}

const Expr* subscript_index(const Expr* expression) {
  const auto* subscript = dyn_cast<ArraySubscriptExpr>(expression->IgnoreParenImpCasts());
  return subscript ? subscript->getIdx()->IgnoreParenImpCasts() : nullptr;
}

// How a method uses its pointer parameter: only to copy the object's members to the same places behind the
// pointer, or from there, so that no byte further than the object's size is touched.
enum class Moves { unknown, to_memory, from_memory };

Moves moves_object(const KernelView& view, const FunctionDecl* method, unsigned index) {
  if (!isa<CXXMethodDecl>(method) || cast<CXXMethodDecl>(method)->isStatic() ||
      index >= method->getNumParams())
    return Moves::unknown;
  Moves moves = Moves::unknown;
  bool known = true;
  for (const DeclRefExpr* use : view.uses(method->getParamDecl(index))) {
    const Stmt* above = view.parent(use);
    const Expr* pointer = use;
    while (above && (isa<ParenExpr>(above) || isa<ImplicitCastExpr>(above) || is_pointer_cast(above))) {
      pointer = cast<Expr>(above);
      above = view.parent(above);
    }
    const Expr* place = nullptr;
    if (const auto* subscript = dyn_cast_or_null<ArraySubscriptExpr>(above);
        subscript && subscript->getBase() == pointer)
      place = subscript;
    else if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above);
             unary && unary->getOpcode() == UO_Deref)
      place = unary;
    const Stmt* around = place ? view.parent(place) : nullptr;
    while (around && (isa<ParenExpr>(around) || isa<ImplicitCastExpr>(around)))
      around = view.parent(around);
    const auto assignment = binary_parts(around);
    if (!assignment || assignment->operation != BO_Assign)
      return Moves::unknown;
    const bool writes = assignment->left->IgnoreParenImpCasts() == place;
    const Expr* other = writes ? assignment->right : assignment->left;
    const Expr *here = subscript_index(place), *there = subscript_index(other);
    const bool same_place =
        (!here && !there) || (here && there && view.evaluate(here) == view.evaluate(there));
    known &= names_member(other) && same_place &&
             same_element(place->getType(), other->IgnoreParenImpCasts()->getType(), view.context());
    const Moves now = writes ? Moves::to_memory : Moves::from_memory;
    known &= moves == Moves::unknown || moves == now;
    moves = now;
  }
  return known ? moves : Moves::unknown;
}

// Of the function that is called, or that a template parameter stands for.
const FunctionProtoType* function_type(const CallExpr* call) {
  if (const FunctionDecl* callee = call->getDirectCallee())
    return callee->getType()->getAs<FunctionProtoType>();
  const QualType type = call->getCallee()->getType().getNonReferenceType();
  return (type->isPointerType() ? type->getPointeeType() : type)->getAs<FunctionProtoType>();
}

bool takes_pointer_to_const(const FunctionDecl* function, unsigned index) {
  if (index >= function->getNumParams())
    return false;
  const QualType type = function->getParamDecl(index)->getType();
  return type->isPointerType() && type->getPointeeType().isConstQualified() &&
         !type->getPointeeType().isVolatileQualified();
}

class Collector {
public:
  Collector(const KernelView& view, const VarDecl* array, bool known_only, bool loads_by_call)
      : view_(view), array_(array), known_only_(known_only), loads_by_call_(loads_by_call) {}

  std::variant<std::string, std::vector<BufferAccess>> run() {
    follow(array_, BufferAccess{});
    if (!problem_.empty() && !known_only_)
      return problem_;
    return accesses_;
  }

private:
  const KernelView& view_;
  const VarDecl* array_;
  const bool known_only_, loads_by_call_;
  std::vector<BufferAccess> accesses_;
  std::string problem_;
  int depth_ = 0;

  void refuse(const Stmt* at, const std::string& what) {
    if (problem_.empty())
      problem_ = array_->getNameAsString() + " " + what + " at " + view_.at_line(at->getBeginLoc());
  }

  // Every use of a name that stands for the address in `at`.
  void follow(const VarDecl* name, const BufferAccess& at) {
    if (++depth_ > 16)
      return refuse(view_.kernel()->getBody(), "is reached through too many names");
    for (const DeclRefExpr* use : view_.uses(name)) {
      if (view_.enclosing_function(use) != view_.kernel())
        return refuse(use, "is used in a helper");
      climb(use, at);
    }
    --depth_;
  }

  void add_index(BufferAccess& access, const Expr* index, bool negative) const {
    const Polynomial value = view_.evaluate(index);
    access.index = negative ? access.index - value : access.index + value;
    access.indices.push_back(index);
  }

  void climb(const Expr* from, BufferAccess access) {
    const Expr* at = from;
    while (true) {
      const Stmt* above = view_.parent(at);
      if (!above)
        return refuse(from, "is used in an unknown way");
      if (isa<ParenExpr>(above) || isa<ImplicitCastExpr>(above)) {
        if (at->getType()->isPointerType() && !cast<Expr>(above)->getType()->isPointerType())
          return refuse(from, "is used as a value");
        at = cast<Expr>(above);
      } else if (const auto binary = binary_parts(above);
                 binary && (binary->operation == BO_Add || binary->operation == BO_Sub)) {
        if (binary->left != at && binary->operation == BO_Sub)
          return refuse(from, "is subtracted");
        add_index(access, binary->left == at ? binary->right : binary->left, binary->operation == BO_Sub);
        at = cast<Expr>(above);
      } else if (is_pointer_cast(above)) {
        if (!access.carrier.isNull())
          return refuse(from, "is cast more than once");
        access.before_cast = access.index;
        access.index = Polynomial();
        access.carrier = cast<Expr>(above)->getType()->getPointeeType().getUnqualifiedType();
        at = cast<Expr>(above);
      } else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(above);
                 subscript && subscript->getBase() == at) {
        add_index(access, subscript->getIdx(), false);
        const Stmt* around = view_.parent(subscript);
        while (around && isa<ParenExpr>(around))
          around = view_.parent(around);
        const auto* unary = dyn_cast_or_null<UnaryOperator>(around);
        if (unary && unary->getOpcode() == UO_AddrOf) {
          at = unary;
          continue;
        }
        return place(subscript, access);
      } else if (const auto* unary = dyn_cast<UnaryOperator>(above);
                 unary && unary->getOpcode() == UO_Deref) {
        return place(unary, access);
      } else if (const auto* declaration = dyn_cast<DeclStmt>(above)) {
        return derived(declaration, at, access);
      } else if (const auto* call = dyn_cast<CallExpr>(above)) {
        return handed_over(call, at, access);
      } else {
        return refuse(from, "is used in an unknown way");
      }
    }
  }

  void derived(const DeclStmt* declaration, const Expr* value, const BufferAccess& access) {
    for (const Decl* declared : declaration->decls()) {
      const auto* variable = dyn_cast<VarDecl>(declared);
      if (!variable || !variable->hasInit() || !view_.within(variable->getInit(), value))
        continue;
      if (!variable->getType()->isPointerType() || view_.is_modified(variable))
        return refuse(declaration, "is copied to a name that changes");
      return follow(variable, access);
    }
  }

  void place(const Expr* expression, BufferAccess access) {
    access.expression = expression;
    const Expr* at = expression;
    const Stmt* above = view_.parent(at);
    for (; above &&
           (isa<ParenExpr>(above) || isa<MemberExpr>(above) || isa<CXXDependentScopeMemberExpr>(above));
         above = view_.parent(above))
      at = cast<Expr>(above);
    access.reads = true;
    const auto binary = binary_parts(above);
    if (binary && binary->left == at && BinaryOperator::isAssignmentOp(binary->operation)) {
      access.writes = true;
      access.reads = binary->operation != BO_Assign || at != expression;
    } else if (binary) {
      // an operand: operators take those by value or by reference to const
    } else if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above)) {
      access.writes = unary->isIncrementDecrementOp();
      if (unary->getOpcode() == UO_AddrOf)
        return refuse(expression, "has the address of a member taken");
    } else if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above)) {
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared);
            variable && variable->getType()->isReferenceType())
          return refuse(expression, "is bound to a reference");
    } else if (const auto* call = dyn_cast_or_null<CallExpr>(above)) {
      const FunctionProtoType* called = function_type(call);
      for (unsigned i = 0; i < call->getNumArgs(); ++i)
        if (call->getArg(i) == at && (!called || i >= called->getNumParams() ||
                                      (called->getParamType(i)->isReferenceType() &&
                                       !called->getParamType(i)->getPointeeType().isConstQualified())))
          return refuse(expression, "is handed to a function that may change it");
    }
    accesses_.push_back(std::move(access));
  }

  // x.load(address), x.store(address). What takes a pointer to const reads only.
  void handed_over(const CallExpr* call, const Expr* address, BufferAccess access) {
    if (loads_by_call_ && callee_name(view_, call) == "__ldg" && call->getNumArgs() == 1) {
      access.expression = call;
      access.by_call = true;
      access.reads = true;
      accesses_.push_back(std::move(access));
      return;
    }
    const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    DeclarationName name;
    const Expr* object = nullptr;
    if (const auto* member = dyn_cast<MemberExpr>(callee)) {
      name = member->getMemberDecl()->getDeclName();
      object = member->getBase();
    } else if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(callee);
               dependent && !dependent->isImplicitAccess()) {
      name = dependent->getMember();
      object = dependent->getBase();
    }
    unsigned index = 0;
    while (index < call->getNumArgs() && call->getArg(index) != address)
      ++index;
    if (!object || object->getType()->isPointerType() || index == call->getNumArgs())
      return refuse(call, "is handed to a function");
    Moves moves = Moves::unknown;
    bool moves_only = true, reads_only = true, is_known = false;
    for (const FunctionDecl* function : view_.functions()) {
      if (function->getDeclName() != name)
        continue;
      const Moves now = moves_object(view_, function, index);
      moves_only &= now != Moves::unknown && (!is_known || moves == now);
      reads_only &= takes_pointer_to_const(function, index);
      moves = now;
      is_known = true;
    }
    if (!is_known)
      return refuse(call, "is handed to " + name.getAsString() + ", which is not known");
    if (!moves_only && !reads_only)
      return refuse(call, "is handed to " + name.getAsString() + ", which may touch more than its object");
    access.expression = address;
    access.is_address = true;
    access.is_opaque = !moves_only;
    access.writes = moves_only && moves == Moves::to_memory;
    access.reads = !access.writes;
    access.object = object;
    access.call = call;
    access.statement = call;
    while (isa_and_nonnull<FullExpr>(view_.parent(access.statement)))
      access.statement = view_.parent(access.statement);
    accesses_.push_back(std::move(access));
  }
};

std::string condition_text(const KernelView& view, const Expr* condition, bool& stable) {
  condition = condition->IgnoreParenImpCasts();
  const auto comparison = binary_parts(condition);
  if (!comparison || !BinaryOperator::isComparisonOp(comparison->operation)) {
    stable = false;
    return {};
  }
  const Polynomial left = view.evaluate(comparison->left), right = view.evaluate(comparison->right);
  stable &= is_stable(view, left) && is_stable(view, right);
  return left.text() + BinaryOperator::getOpcodeStr(comparison->operation).str() + right.text();
}

bool jumps(const Stmt* statement) {
  return isa<ContinueStmt>(statement) || isa<BreakStmt>(statement) || isa<ReturnStmt>(statement) ||
         isa<GotoStmt>(statement) || isa<IndirectGotoStmt>(statement);
}

} // namespace

std::variant<std::string, std::vector<BufferAccess>> accesses_of(const KernelView& view, const VarDecl* array,
                                                                 bool known_only, bool loads_by_call) {
  return Collector(view, array, known_only, loads_by_call).run();
}

std::optional<std::set<std::string>> conditions_of(const KernelView& view, const Stmt* access,
                                                   const Stmt* around) {
  std::set<std::string> conditions;
  bool stable = true;
  const Stmt* child = access;
  for (const Stmt* above = view.parent(access); above && child != around;
       child = above, above = view.parent(above)) {
    if (const auto* branch = dyn_cast<IfStmt>(above)) {
      if (child != branch->getCond())
        conditions.insert((child == branch->getThen() ? "" : "!") +
                          condition_text(view, branch->getCond(), stable));
    } else if (const auto* choice = dyn_cast<AbstractConditionalOperator>(above)) {
      if (child != choice->getCond())
        return std::nullopt;
    } else if (isa<CompoundStmt>(above)) {
      // What stands before it in the block and jumps away.
      for (const Stmt* before : above->children()) {
        if (before == child)
          break;
        bool any = false;
        view.visit(before, [&](const Stmt* inside) { any |= jumps(inside); });
        if (!any)
          continue;
        const auto* way_out = dyn_cast<IfStmt>(before);
        const Stmt* jump = way_out && !way_out->getElse() ? way_out->getThen() : nullptr;
        if (const auto* block = dyn_cast_or_null<CompoundStmt>(jump); block && block->size() == 1)
          jump = block->body_front();
        if (!jump || (!isa<ContinueStmt>(jump) && !isa<BreakStmt>(jump)))
          return std::nullopt;
        conditions.insert((isa<BreakStmt>(jump) ? "break:" : "!") +
                          condition_text(view, way_out->getCond(), stable));
      }
    } else if (above != around &&
               (isa<ForStmt>(above) || isa<WhileStmt>(above) || isa<DoStmt>(above) ||
                isa<SwitchStmt>(above) || isa<CXXForRangeStmt>(above) || isa<LambdaExpr>(above))) {
      return std::nullopt;
    } else if (const auto binary = binary_parts(above);
               binary && BinaryOperator::isLogicalOp(binary->operation)) {
      return std::nullopt;
    }
    if (above == around)
      break;
  }
  return stable ? std::optional(conditions) : std::nullopt;
}

bool stays_below(const KernelView& view, const BufferAccess& access, const Polynomial& limit) {
  if (!access.carrier.isNull())
    return false; // of another size
  // Numbers that the index is certainly less than.
  std::vector<Polynomial> above;
  const Polynomial one = Polynomial::constant(1);
  if (const auto constant = access.index.as_constant()) {
    if (*constant < 0)
      return false;
    if (const auto known = limit.as_constant())
      return *constant < *known;
    if (*constant == 0) // every size of a block is at least one
      for (const char axis : {'x', 'y', 'z'})
        above.push_back(Polynomial::atom("blockDim." + std::string(1, axis)));
  }
  for (const char axis : {'x', 'y', 'z'}) {
    const std::string letter(1, axis);
    const Polynomial thread = Polynomial::atom("threadIdx." + letter),
                     count = Polynomial::atom("blockDim." + letter);
    if (access.index == thread)
      above.push_back(count);
    for (const std::int64_t group : {2, 4, 8, 16, 32, 64}) {
      const std::string by = "/" + std::to_string(group) + ")";
      if (access.index == Polynomial::atom("(" + thread.text() + by)) {
        above.push_back(Polynomial::constant(1024 / group));
        above.push_back(Polynomial::atom("(" + (count + Polynomial::constant(group - 1)).text() + by));
      }
    }
  }
  const Stmt* child = access.expression;
  for (const Stmt* up = view.parent(child); up; child = up, up = view.parent(up)) {
    const Expr* condition = nullptr;
    if (const auto* branch = dyn_cast<IfStmt>(up); branch && child == branch->getThen())
      condition = branch->getCond();
    else if (const auto* choice = dyn_cast<ConditionalOperator>(up); choice && child == choice->getTrueExpr())
      condition = choice->getCond();
    const auto comparison = condition ? binary_parts(condition->IgnoreParenImpCasts()) : std::nullopt;
    if (comparison && comparison->operation == BO_LT && view.evaluate(comparison->left) == access.index)
      above.push_back(view.evaluate(comparison->right));
  }
  for (const Polynomial& number : above) {
    if (number == limit)
      return true;
    const auto known = number.as_constant(), most = limit.as_constant();
    if (known && most && *known <= *most)
      return true;
    // Rounded up to a multiple.
    for (const std::int64_t group : {2, 4, 8, 16, 32, 64, 128, 256})
      if (limit == Polynomial::constant(group) *
                       Polynomial::atom("(" + (number + Polynomial::constant(group) - one).text() + "/" +
                                        std::to_string(group) + ")"))
        return true;
  }
  return false;
}

} // namespace lathe::refactor
