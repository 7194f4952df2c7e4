#include "refactor/knobs/element_work.h"

#include "refactor/knobs/buffer_accesses.h"
#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/element_runs.h"
#include "refactor/knobs/inline_assembly.h"
#include "refactor/knobs/strided_loop.h"
#include "refactor/knobs/variables.h"
#include "refactor/knobs/work_text.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr std::int64_t MOST_ELEMENTS = 16; // of a vector

// The number in an access's index.
std::int64_t offset_of(const ElementAccess& access) {
  const auto constant = access.index.terms().find({});
  return constant == access.index.terms().end() ? 0 : constant->second;
}

class Reader {
public:
  Reader(const KernelView& view, const ElementWork& work) : view_(view), work_(work), text_(view, work) {}

  std::variant<std::string, std::vector<ElementAccess>> read() {
    text_.visit_parts([&](const Stmt* statement) { look_at(statement); });
    for (const VarDecl* parameter : view_.kernel()->parameters())
      if (problem_.empty() && parameter->getType()->isPointerType())
        look_at_buffer(parameter);
    if (problem_.empty())
      text_.visit_parts([&](const Stmt* statement) { look_for_unknown(statement); });
    if (!problem_.empty())
      return problem_;
    keep_aligned_together();
    if (found_.empty())
      return "no access of " + place() + " moves neighbouring elements";
    if (work_.in_rounds)
      std::ranges::copy(runs_on_chip(view_, work_), std::back_inserter(found_));
    return found_;
  }

  std::vector<ElementAccess> movable() {
    const auto take_from = [&](const VarDecl* buffer) {
      if (const auto found = accesses_of(view_, buffer, false, true); std::holds_alternative<Accesses>(found))
        take_all(buffer, std::get<Accesses>(found));
    };
    for (const VarDecl* parameter : view_.kernel()->parameters())
      if (parameter->getType()->isPointerType())
        take_from(parameter);
    keep_aligned_together();
    std::vector<ElementAccess> of_buffers = std::exchange(found_, {});
    for (const VarDecl* pointer : pointers_on_chip())
      take_from(pointer);
    std::erase_if(found_, [](const ElementAccess& access) { return offset_of(access) % MOST_ELEMENTS != 0; });
    for (ElementAccess& access : found_)
      access.on_chip = true;
    of_buffers.insert(of_buffers.end(), found_.begin(), found_.end());
    return of_buffers;
  }

private:
  using Accesses = std::vector<BufferAccess>;

  // Those into shared memory through which the work's own elements are reached.
  std::vector<const VarDecl*> pointers_on_chip() const {
    std::vector<const VarDecl*> pointers;
    text_.visit_parts([&](const Stmt* statement) {
      const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement);
      const VarDecl* pointer = subscript ? named_variable(subscript->getBase()->IgnoreParenCasts()) : nullptr;
      if (pointer && !isa<ParmVarDecl>(pointer) && pointer->getType()->isPointerType() &&
          !view_.is_modified(pointer) && view_.is_on_chip(subscript->getBase()) &&
          std::ranges::find(pointers, pointer) == pointers.end())
        pointers.push_back(pointer);
    });
    return pointers;
  }

  void refuse(const Stmt* at, const std::string& what) {
    if (problem_.empty())
      problem_ = what + " at " + view_.at_line(at->getBeginLoc());
  }
  std::string place() const {
    return (work_.in_rounds ? "the loop at " : "the work at ") +
           view_.at_line(work_.statement->getBeginLoc());
  }
  bool in_body(const Stmt* statement) const {
    return std::ranges::any_of(work_.parts, [&](const Stmt* part) { return view_.within(part, statement); });
  }
  void look_at(const Stmt* statement) {
    if (isa<BreakStmt>(statement) || isa<ReturnStmt>(statement) || isa<GotoStmt>(statement) ||
        isa<LabelStmt>(statement) || isa<LambdaExpr>(statement) || isa<SwitchStmt>(statement) ||
        may_pass_on(statement))
      return refuse(statement, "there is more than an element's work");
    if (const auto* expression = dyn_cast<Expr>(statement); expression && tells_threads_apart(expression))
      return refuse(statement, "the element's work depends on which thread takes it");
    if (const auto* call = dyn_cast<CallExpr>(statement))
      look_at_call(call);
    if (const auto* reference = dyn_cast<DeclRefExpr>(statement))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        look_at_variable(reference, variable);
  }

  // Inline assembly that does more than compute.
  static bool may_pass_on(const Stmt* statement) {
    const auto* assembly = dyn_cast<AsmStmt>(statement);
    return assembly && !is_computation(assembly);
  }

  // Numbers of threads and blocks that are others where a thread takes several elements.
  bool tells_threads_apart(const Expr* expression) const {
    const std::string name = KernelView::builtin_name(expression);
    return work_.in_rounds ? name.starts_with("threadIdx.") : is_of_thread_along_x(name);
  }

  // What is computed from them before.
  bool comes_from_the_thread(const VarDecl* variable) const {
    return variable->hasInit() && comes_from(view_, variable->getInit(), work_.number, [&](const Stmt* part) {
             const auto* expression = dyn_cast<Expr>(part);
             return expression && tells_threads_apart(expression);
           });
  }

  // Functions that make threads meet, and those of the file that look at the thread or call one of either.
  void look_at_call(const CallExpr* call) {
    const auto look = [&](const CallExpr* at) {
      const std::string name = callee_name(view_, at);
      if (name.empty() || threads_meet_in(name))
        refuse(call, "threads communicate, or may do so, in the element's work");
    };
    look(call);
    visit_called(view_, call, [&](const Stmt* statement) {
      const auto* expression = dyn_cast<Expr>(statement);
      if (may_pass_on(statement) || (expression && tells_threads_apart(expression)))
        refuse(call, "threads are told apart in the element's work");
      if (const auto* further = dyn_cast<CallExpr>(statement))
        look(further);
    });
  }

  // What is kept from round to round may only go into itself, as a sum does.
  void look_at_variable(const DeclRefExpr* reference, const VarDecl* variable) {
    const std::string name = "'" + variable->getNameAsString() + "'";
    if (variable->hasAttr<CUDASharedAttr>() ||
        (variable->getType()->isArrayType() && !text_.is_declared_in_body(variable)))
      return refuse(reference, name + " is on the chip, where a thread finds its own");
    if (variable == work_.number || text_.is_declared_in_body(variable))
      return;
    if (!view_.is_modified(variable)) {
      if (comes_from_the_thread(variable))
        refuse(reference, name + " depends on which thread takes the element,");
      return;
    }
    if (!work_.in_rounds)
      return refuse(reference, name + " is changed and declared outside of the element's work,");
    const QualType type = variable->getType().getNonReferenceType();
    const bool is_number = type->isRealFloatingType() || type->isDependentType() || type->isRecordType();
    if (!is_number || (is_changed_in_body(variable) && !goes_into_itself(reference, variable)))
      refuse(reference, name + " goes on from round to round");
  }

  bool is_assignment_to(const Stmt* statement, const VarDecl* variable) const {
    const auto parts = binary_parts(statement);
    if (!parts || !BinaryOperator::isAssignmentOp(parts->operation))
      return false;
    const auto* target = dyn_cast<DeclRefExpr>(parts->left->IgnoreParenImpCasts());
    return target && target->getDecl() == variable;
  }
  bool is_changed_in_body(const VarDecl* variable) const {
    bool changed = false;
    text_.visit_parts([&](const Stmt* statement) { changed |= is_assignment_to(statement, variable); });
    return changed;
  }
  bool goes_into_itself(const Stmt* reference, const VarDecl* variable) const {
    for (const Stmt* above = reference; above && above != work_.statement; above = view_.parent(above))
      if (is_assignment_to(above, variable))
        return true;
    return false;
  }

  // Memory that no parameter's accesses account for may be any of them.
  void look_for_unknown(const Stmt* statement) {
    const Expr* base = nullptr;
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement))
      base = subscript->getBase();
    else if (const auto* unary = dyn_cast<UnaryOperator>(statement); unary && unary->getOpcode() == UO_Deref)
      base = unary->getSubExpr();
    if (base && !view_.is_on_chip(base) && !known_.contains(cast<Expr>(statement)))
      refuse(statement, "memory that is not known is used");
  }

  void look_at_buffer(const VarDecl* buffer) {
    const auto found = accesses_of(view_, buffer, false, true);
    const auto* accesses = std::get_if<Accesses>(&found);
    const auto is_inside = [&](const BufferAccess& access) { return in_body(access.expression); };
    if (!accesses) { // of no concern where the loop has nothing to do with it
      if (std::ranges::any_of(view_.uses(buffer), [&](const Expr* use) { return in_body(use); }))
        problem_ = std::get<std::string>(found);
      return;
    }
    for (const BufferAccess& access : *accesses)
      known_.insert((access.by_call ? element_of(access) : access.expression)->IgnoreParens());
    if (std::ranges::none_of(*accesses, is_inside))
      return;
    const bool writes = std::ranges::any_of(*accesses, &BufferAccess::writes);
    if (writes && !std::ranges::all_of(*accesses, is_inside)) {
      problem_ = "'" + buffer->getNameAsString() + "' is written, and used outside of " + place() + " too";
      return;
    }
    take_all(buffer, *accesses);
  }

  // Of one buffer.
  void take_all(const VarDecl* buffer, const Accesses& accesses) {
    std::vector<ElementAccess> elements;
    bool all = true, writes = false;
    for (const BufferAccess& access : accesses) {
      if (!in_body(access.expression))
        continue;
      writes |= access.writes;
      const bool taken = take(buffer, access, elements);
      all &= taken;
    }
    // Elements that wait for the end of the vector must not be seen in between.
    if (writes && (!all || elements.size() > 1))
      return;
    found_.insert(found_.end(), elements.begin(), elements.end());
  }

  // Buffers begin at aligned addresses, so that vectors of in[i] and of in[i + 1] are never aligned both:
  // what lies beside the element that is written, or that is read first, is read by itself.
  void keep_aligned_together() {
    auto first = std::ranges::find_if(found_, &ElementAccess::writes);
    if (first == found_.end())
      first = found_.begin();
    if (first == found_.end())
      return;
    const std::int64_t aligned = offset_of(*first);
    std::erase_if(found_, [&](const ElementAccess& access) {
      return !access.writes && (offset_of(access) - aligned) % MOST_ELEMENTS != 0;
    });
  }

  // The address or the element that a load by call is handed.
  static const Expr* element_of(const BufferAccess& access) {
    const Expr* address = cast<CallExpr>(access.expression)->getArg(0)->IgnoreParenImpCasts();
    const auto* unary = dyn_cast<UnaryOperator>(address);
    return unary && unary->getOpcode() == UO_AddrOf ? unary->getSubExpr()->IgnoreParens() : address;
  }

  // An element as written: p[i], or p + i where a load by call is handed that.
  struct Written {
    const Expr *base = nullptr, *index = nullptr;
    std::string text;
  };
  std::optional<Written> written(const BufferAccess& access) const {
    const Expr* element = access.by_call ? element_of(access) : access.expression;
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(element)) {
      const auto text = text_.known_text(subscript);
      return text ? std::optional(Written{subscript->getBase(), subscript->getIdx(), *text}) : std::nullopt;
    }
    const auto sum = access.by_call ? binary_parts(element) : std::nullopt;
    if (!sum || sum->operation != BO_Add || !view_.base_pointer(sum->left))
      return std::nullopt;
    const auto base = text_.known_text(sum->left), index = text_.known_text(sum->right);
    return base && index ? std::optional(Written{sum->left, sum->right, *base + "[" + *index + "]"})
                         : std::nullopt;
  }

  bool take(const VarDecl* buffer, const BufferAccess& access, std::vector<ElementAccess>& elements) const {
    if (access.is_address || !access.carrier.isNull() ||
        (!access.by_call && (!isa<ArraySubscriptExpr>(access.expression) ||
                             access.expression->getType().isVolatileQualified())) ||
        !text_.is_unconditional(access.expression))
      return false;
    const auto place = view_.written_range(access.expression->getSourceRange());
    const auto element = written(access);
    if (!place || !element)
      return false;
    const auto steps = view_.evaluate(element->index).quotient_by(loop_atom);
    if (!steps || steps->as_constant() != 1)
      return false;
    auto known = std::ranges::find(elements, element->text, &ElementAccess::text);
    if (known == elements.end()) {
      const auto base = view_.written_range(element->base->getSourceRange());
      static const std::regex word(R"([A-Za-z_]\w*)");
      if (!base || !std::regex_match(view_.text(*base), word))
        return false;
      const QualType type = element->base->getType()->getPointeeType();
      elements.push_back({element->text,
                          view_.text(*base),
                          buffer,
                          false,
                          "",
                          (access.by_call ? type : access.expression->getType()).getUnqualifiedType(),
                          access.index,
                          false,
                          false,
                          {}});
      known = elements.end() - 1;
    }
    known->reads |= access.reads;
    known->writes |= access.writes;
    known->places.push_back(*place);
    return true;
  }

  const KernelView& view_;
  const ElementWork& work_;
  const WorkText text_;
  std::set<const Expr*> known_; // accesses of the kernel's buffers
  std::string problem_;
  std::vector<ElementAccess> found_;
};

} // namespace

std::variant<std::string, std::vector<ElementAccess>> read_element_work(const KernelView& view,
                                                                        const ElementWork& work) {
  return Reader(view, work).read();
}

std::vector<ElementAccess> movable_accesses(const KernelView& view, const ElementWork& work) {
  return Reader(view, work).movable();
}

} // namespace lathe::refactor
