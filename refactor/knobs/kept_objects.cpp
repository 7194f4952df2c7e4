#include "refactor/knobs/kept_objects.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// What decides an object's value after the call.
struct Filled {
  std::string type;
  std::string method;
  std::vector<std::string> before; // statements that name the object, in the order of the text

  bool operator==(const Filled&) const = default;
};

class Reader {
public:
  Reader(const KernelView& view, const StridedLoop& loop, const BufferAccess& access)
      : view_(view), loop_(loop), access_(access) {}

  std::variant<NotKept, Filled> read() {
    const auto* reference = dyn_cast<DeclRefExpr>(access_.object->IgnoreParenImpCasts());
    object_ = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (!object_ || isa<ParmVarDecl>(object_) || !object_->hasLocalStorage() ||
        object_->getType()->isReferenceType() || !declares(view_, loop_.loop->getBody(), object_))
      return refused("fills what the loop does not declare");
    if (!starts_without_a_value())
      return refused("fills an object that has a value before");
    if (!isa_and_nonnull<CompoundStmt>(view_.parent(access_.statement)))
      return refused("is not a statement of a block");
    for (unsigned i = 0; i < access_.call->getNumArgs(); ++i)
      if (access_.call->getArg(i) != access_.expression && !isa<CXXDefaultArgExpr>(access_.call->getArg(i)))
        return refused("takes more than the address");
    if (!only_reads())
      return refused("may do more than fill its object");
    Filled filled;
    if (const TypeSourceInfo* written = object_->getTypeSourceInfo())
      if (const auto bytes = view_.range(written->getTypeLoc().getSourceRange()))
        filled.type = view_.text(*bytes);
    const std::string callee = view_.text(access_.call->getCallee());
    filled.method = callee.substr(std::min(callee.size(), view_.text(access_.object).size()));
    if (filled.type.empty() || filled.method.empty())
      return refused("comes from a macro");
    if (auto reason = what_happens_before(filled.before))
      return refused(*reason);
    return filled;
  }

private:
  const KernelView& view_;
  const StridedLoop& loop_;
  const BufferAccess& access_;
  const VarDecl* object_ = nullptr;

  NotKept refused(const std::string& what) const {
    return NotKept{"is read at " + view_.at_line(access_.call->getBeginLoc()) + " by a call that " + what};
  }

  bool starts_without_a_value() const {
    const Expr* value = object_->getInit();
    if (!value)
      return true;
    if (const auto* list = dyn_cast<InitListExpr>(value))
      return list->getNumInits() == 0;
    const auto* construction = dyn_cast<CXXConstructExpr>(value->IgnoreImplicit());
    return construction && construction->getNumArgs() == 0;
  }

  // Assembly that loads or converts is all that a method may have besides ordinary statements.
  bool only_reads() const {
    bool fine = true;
    visit_called(view_, access_.call, [&](const Stmt* statement) {
      if (const auto* assembly = dyn_cast<GCCAsmStmt>(statement)) {
        const StringRef text = assembly->getAsmString()->getString().ltrim();
        fine &= text.starts_with("ld.") || (text.starts_with("cvt.") && text.count(';') <= 1);
      }
      if (const auto* call = dyn_cast<CallExpr>(statement))
        fine &= !threads_meet_in(callee_name(view_, call));
    });
    return fine;
  }

  const Stmt* statement_of(const Stmt* expression) const {
    const Stmt* at = expression;
    while (isa_and_nonnull<Expr>(view_.parent(at)))
      at = view_.parent(at);
    return at;
  }

  std::optional<std::string> what_happens_before(std::vector<std::string>& texts) const {
    const auto offset = [](const Stmt* statement) { return statement->getBeginLoc().getRawEncoding(); };
    std::vector<const Stmt*> earlier;
    for (const DeclRefExpr* use : view_.uses(object_))
      if (offset(use) < offset(access_.statement))
        if (const Stmt* whole = statement_of(use); std::ranges::find(earlier, whole) == earlier.end())
          earlier.push_back(whole);
    std::ranges::sort(earlier, {}, offset);
    for (const Stmt* statement : earlier) {
      const auto conditions = conditions_of(view_, statement, loop_.loop);
      bool alone = isa<Expr>(statement) && conditions && conditions->empty();
      int calls = 0;
      view_.visit(statement, [&](const Stmt* inside) {
        calls += isa<CallExpr>(inside);
        const auto* reference = dyn_cast<DeclRefExpr>(inside);
        alone &= !reference || !isa<VarDecl>(reference->getDecl()) || reference->getDecl() == object_;
      });
      const std::string text = alone && calls <= 1 ? view_.text(cast<Expr>(statement)) : "";
      if (text.empty())
        return "fills an object that was used before";
      texts.push_back(text);
    }
    return std::nullopt;
  }
};

} // namespace

std::variant<NotKept, std::string> kept_object_type(const KernelView& view,
                                                    const std::vector<StridedLoop>& loops,
                                                    const std::vector<std::vector<BufferAccess>>& accesses) {
  std::optional<Filled> first;
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (const BufferAccess& access : accesses[i]) {
      auto filled = Reader(view, loops[i], access).read();
      if (auto* reason = std::get_if<NotKept>(&filled))
        return *reason;
      if (first && !(*first == std::get<Filled>(filled)))
        return NotKept{"is read in different ways, one of them at " +
                       view.at_line(access.call->getBeginLoc())};
      first = std::get<Filled>(filled);
    }
  return first ? std::variant<NotKept, std::string>(first->type) : NotKept{"is not read"};
}

} // namespace lathe::refactor
