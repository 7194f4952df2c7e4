#include "refactor/guard/fences.h"

#include <clang/AST/Decl.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <map>
#include <vector>

namespace lathe::refactor {
namespace {

using namespace clang;

enum class Event { store, atomic, barrier, fence };

const char* text_of(Event event) {
  switch (event) {
  case Event::store:
    return "a store";
  case Event::atomic:
    return "an atomic operation";
  case Event::barrier:
    return "a barrier";
  case Event::fence:
    return "a fence";
  }
  return "";
}

class EventVisitor : public RecursiveASTVisitor<EventVisitor> {
public:
  std::vector<Event> events_of(const FunctionDecl* function) {
    const FunctionDecl* definition = nullptr;
    if (!function->hasBody(definition) || depth_ > DEEPEST)
      return {};
    if (const auto found = known_.find(definition); found != known_.end())
      return found->second;
    known_[definition] = {}; // a recursive call adds nothing
    std::vector<Event> outer;
    std::swap(outer, events_);
    ++depth_;
    TraverseStmt(definition->getBody());
    --depth_;
    std::swap(outer, events_);
    return known_[definition] = std::move(outer);
  }

  // What is assigned is computed before it is stored, whatever the order of the text.
  bool TraverseBinaryOperator(BinaryOperator* operation) {
    TraverseStmt(operation->getLHS());
    TraverseStmt(operation->getRHS());
    if (operation->isAssignmentOp() && is_memory(operation->getLHS()))
      events_.push_back(Event::store);
    return true;
  }
  bool TraverseCompoundAssignOperator(CompoundAssignOperator* operation) {
    return TraverseBinaryOperator(operation);
  }
  bool TraverseCallExpr(CallExpr* call) {
    for (Expr* argument : call->arguments())
      TraverseStmt(argument);
    const FunctionDecl* callee = call->getDirectCallee();
    const std::string name = callee ? callee->getNameAsString() : "";
    if (name.starts_with("__threadfence") || name == "__nv_atomic_thread_fence")
      events_.push_back(Event::fence);
    else if (name.starts_with("atomic") || name.starts_with("__nv_atomic"))
      events_.push_back(Event::atomic);
    else if (name.starts_with("__syncthreads"))
      events_.push_back(Event::barrier);
    else if (name.starts_with("__st") || name.starts_with("lathe_store"))
      events_.push_back(Event::store);
    else if (callee)
      for (const Event event : events_of(callee))
        events_.push_back(event);
    return true;
  }

private:
  static constexpr int DEEPEST = 16;

  static bool is_memory(const Expr* target) {
    target = target->IgnoreParenImpCasts();
    if (const auto* field = dyn_cast<MemberExpr>(target))
      return field->isArrow() || is_memory(field->getBase());
    if (const auto* element = dyn_cast<ArraySubscriptExpr>(target))
      return !element->getBase()->IgnoreParenImpCasts()->getType()->isArrayType();
    const auto* dereference = dyn_cast<UnaryOperator>(target);
    return dereference && dereference->getOpcode() == UO_Deref;
  }

  std::map<const FunctionDecl*, std::vector<Event>> known_;
  std::vector<Event> events_;
  int depth_ = 0;
};

} // namespace

FencePlaces fences_of(const FunctionDecl* function) {
  FencePlaces found;
  const std::vector<Event> events = EventVisitor().events_of(function);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i] != Event::fence)
      continue;
    ++found.count;
    const std::string before = i > 0 ? text_of(events[i - 1]) : "the beginning",
                      behind = i + 1 < events.size() ? text_of(events[i + 1]) : "the end";
    found.places.insert("between " + before + " and " + behind);
  }
  return found;
}

} // namespace lathe::refactor
