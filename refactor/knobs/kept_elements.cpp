#include "refactor/knobs/kept_elements.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// A product of template parameters with a positive factor, as C++; "" for anything else.
std::string product_text(const Polynomial& value) {
  if (value.terms().size() != 1)
    return {};
  const auto& [monomial, factor] = *value.terms().begin();
  if (factor < 1)
    return {};
  std::string text = factor == 1 && !monomial.empty() ? "" : std::to_string(factor);
  for (const std::string& atom : monomial) {
    const std::string prefix = "template:";
    if (atom.rfind(prefix, 0) != 0)
      return {};
    text += (text.empty() ? "" : " * ") + atom.substr(prefix.size());
  }
  return text;
}

class Finder {
public:
  Finder(KernelView& view, const LaunchFacts& facts) : view_(view), facts_(facts) {}

  std::variant<std::string, KeptElements> run() {
    const std::vector<StridedLoop> all = strided_loops(view_);
    std::set<const ForStmt*> done;
    std::string reasons;
    for (const StridedLoop& first : all) {
      if (done.count(first.loop))
        continue;
      loops_.clear();
      for (const StridedLoop& loop : all)
        if (loop.same_header(first) && done.insert(loop.loop).second)
          loops_.push_back(loop);
      if (loops_.size() < 2)
        continue;
      for (const StridedLoop& loop : loops_)
        view_.keep(loop.counter, loop_atom);
      for (const VarDecl* array : arrays()) {
        auto found = study(array);
        if (std::holds_alternative<KeptElements>(found))
          return found;
        reasons += (reasons.empty() ? "" : "; ") + std::get<std::string>(found);
      }
      for (const StridedLoop& loop : loops_)
        view_.release(loop.counter);
    }
    return reasons.empty() ? "no two loops deal elements of a shared array out to the threads in the same way"
                           : reasons;
  }

private:
  KernelView& view_;
  const LaunchFacts& facts_;
  std::vector<StridedLoop> loops_;

  std::vector<const VarDecl*> arrays() const {
    std::vector<const VarDecl*> found;
    view_.visit([&](const Stmt* statement) {
      const auto* reference = dyn_cast<DeclRefExpr>(statement);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (variable && variable->hasAttr<CUDASharedAttr>() && variable->getType()->isArrayType() &&
          std::find(found.begin(), found.end(), variable) == found.end())
        found.push_back(variable);
    });
    return found;
  }

  const StridedLoop* loop_of(const Stmt* statement) const {
    const StridedLoop* innermost = nullptr;
    for (const StridedLoop& loop : loops_)
      if (view_.within(loop.loop->getBody(), statement))
        innermost = &loop;
    return innermost;
  }

  std::variant<std::string, KeptElements> study(const VarDecl* array) {
    const std::string name = array->getNameAsString();
    // All dynamic shared memory is one.
    if (array->hasExternalStorage())
      for (const VarDecl* other : arrays())
        if (other != array && other->hasExternalStorage())
          return name + " is the same memory as " + other->getNameAsString();
    auto collected = accesses_of(view_, array);
    if (auto* problem = std::get_if<std::string>(&collected))
      return *problem;
    const auto& accesses = std::get<std::vector<BufferAccess>>(collected);
    for (const BufferAccess& leader : accesses) {
      const StridedLoop* loop = loop_of(leader.expression);
      if (!loop || !leader.writes || !is_stable(view_, leader.index))
        continue;
      const auto share = share_of(*loop, leader.index, facts_);
      if (!share)
        continue;
      return group(array, accesses, leader, *loop, *share);
    }
    return name + " is not written by a loop that gives every thread elements of its own";
  }

  static bool same_carrier(const BufferAccess& a, const BufferAccess& b, const ASTContext& context) {
    if (a.carrier.isNull() || b.carrier.isNull())
      return a.carrier.isNull() && b.carrier.isNull();
    return context.getCanonicalType(a.carrier) == context.getCanonicalType(b.carrier);
  }

  std::variant<std::string, KeptElements> group(const VarDecl* array,
                                                const std::vector<BufferAccess>& accesses,
                                                const BufferAccess& leader, const StridedLoop& first,
                                                const Share& share) {
    const std::string name = array->getNameAsString();
    KeptElements kept;
    kept.array = array;
    kept.element =
        leader.carrier.isNull() ? view_.context().getBaseElementType(array->getType()) : leader.carrier;
    kept.element = kept.element.getUnqualifiedType();
    kept.each = product_text(share.each);
    if (kept.each.empty())
      return "the number of elements of " + name + " that a thread has in a round is not a constant";
    std::vector<const BufferAccess*> others;
    for (const BufferAccess& access : accesses) {
      const StridedLoop* loop = loop_of(access.expression);
      const bool matches = loop && loop->same_header(first) && access.index == leader.index &&
                           same_carrier(access, leader, view_.context());
      if (!matches) {
        others.push_back(&access);
        continue;
      }
      if (!access.is_address && kept.each != "1")
        return "an element of " + name + " at " + view_.at_line(access.expression->getBeginLoc()) +
               " is one of several that a thread has in a round";
      if (access.is_address && !isa_and_nonnull<CompoundStmt>(view_.parent(access.statement)))
        return "the access of " + name + " at " + view_.at_line(access.expression->getBeginLoc()) +
               " is not a statement of a block";
      std::size_t at = 0;
      while (at < kept.loops.size() && kept.loops[at].loop != loop->loop)
        ++at;
      if (at == kept.loops.size()) {
        kept.loops.push_back(*loop);
        kept.accesses.emplace_back();
      }
      kept.accesses[at].push_back(access);
    }
    if (kept.loops.size() < 2)
      return name + " is not read back by a loop like the one at " + view_.at_line(first.loop->getBeginLoc());
    for (const BufferAccess* other : others)
      if (other->is_address || !leader.carrier.isNull() || !stays_below(view_, *other, share.rest))
        return name + " is accessed at " + view_.at_line(other->expression->getBeginLoc()) +
               ", perhaps in the same elements";
    in_order(kept);
    if (auto problem = reads_follow_writes(kept))
      return name + " " + *problem;
    return at_launch(kept, leader, share);
  }

  static void in_order(KeptElements& kept) {
    std::vector<std::size_t> order(kept.loops.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    const auto before = [](const Stmt* a, const Stmt* b) {
      return a->getBeginLoc().getRawEncoding() < b->getBeginLoc().getRawEncoding();
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return before(kept.loops[a].loop, kept.loops[b].loop); });
    KeptElements sorted = kept;
    for (std::size_t i = 0; i < order.size(); ++i) {
      sorted.loops[i] = kept.loops[order[i]];
      sorted.accesses[i] = kept.accesses[order[i]];
      std::sort(
          sorted.accesses[i].begin(), sorted.accesses[i].end(),
          [&](const BufferAccess& a, const BufferAccess& b) { return before(a.expression, b.expression); });
    }
    kept = std::move(sorted);
  }

  std::optional<std::string> reads_follow_writes(const KeptElements& kept) const {
    std::vector<std::set<std::string>> written;
    for (std::size_t i = 0; i < kept.loops.size(); ++i)
      for (const BufferAccess& access : kept.accesses[i]) {
        const auto conditions = conditions_of(view_, access.expression, kept.loops[i].loop);
        const std::string where = " at " + view_.at_line(access.expression->getBeginLoc());
        if (!conditions)
          return "is accessed" + where + " under conditions that cannot be compared";
        if (access.reads && std::none_of(written.begin(), written.end(), [&](const auto& earlier) {
              return std::includes(conditions->begin(), conditions->end(), earlier.begin(), earlier.end());
            }))
          return "is read" + where + " where it may not have been written";
        if (access.writes)
          written.push_back(*conditions);
      }
    return std::nullopt;
  }

  std::variant<std::string, KeptElements> at_launch(KeptElements& kept, const BufferAccess& leader,
                                                    const Share& share) const {
    const StridedLoop& loop = kept.loops.front();
    const auto bound = launch_expression(view_, loop.bound, facts_);
    const auto step = loop.step_by ? launch_expression(view_, loop.step_by, facts_) : std::optional("1");
    if (!bound || !step)
      return "the bound of the loop at " + view_.at_line(loop.loop->getBeginLoc()) +
             " is not known when the kernel is launched";
    kept.bound = *bound;
    kept.per_round = *step;
    std::string each;
    const auto& [monomial, factor] = *share.each.terms().begin();
    bool known = true;
    each = factor == 1 && !monomial.empty() ? "" : std::to_string(factor);
    for (const std::string& atom : monomial) {
      const auto value = facts_.template_parameter(atom.substr(std::string("template:").size()));
      known &= value.has_value();
      each += (each.empty() ? "" : " * ") + value.value_or("");
    }
    kept.each_at_launch = known ? each : "";
    kept.guarded = guarded(kept, share);
    if (!kept.array->hasExternalStorage() || !leader.carrier.isNull())
      return kept;
    // What stands before is the sum of the summands that are the same for all threads and rounds.
    std::string before;
    Polynomial sum;
    for (const Expr* index : leader.indices) {
      const Polynomial value = view_.evaluate(index);
      if (value.mentions("threadIdx.") || value.mentions(loop_atom))
        continue;
      const auto text = launch_expression(view_, index, facts_);
      if (!text)
        return kept;
      before += (before.empty() ? "" : " + ") + *text;
      sum = sum + value;
    }
    if (sum == share.rest)
      kept.before = before.empty() ? "0" : before;
    return kept;
  }

  // True when a loop that counts ceil(n / (each * threads)) rounds holds one branch, on an index of the same
  // form being less than n: what lies behind the last round is then kept out by the branch itself.
  bool guarded(const KeptElements& kept, const Share& share) const {
    for (const StridedLoop& loop : kept.loops) {
      const auto* body = dyn_cast<CompoundStmt>(loop.loop->getBody());
      if (!loop.counts_rounds() || !body)
        return false;
      const IfStmt* branch = nullptr;
      for (const Stmt* statement : body->body()) {
        if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
          for (const Decl* declared : declaration->decls()) {
            const auto* variable = dyn_cast<VarDecl>(declared);
            if (!variable || !variable->hasInit() || !variable->getType()->isIntegerType() ||
                !is_stable(view_, view_.evaluate(variable->getInit())))
              return false;
          }
          continue;
        }
        if (branch || !isa<IfStmt>(statement) || cast<IfStmt>(statement)->getElse())
          return false;
        branch = cast<IfStmt>(statement);
      }
      const auto comparison = branch ? binary_parts(branch->getCond()->IgnoreParenImpCasts()) : std::nullopt;
      if (!comparison || comparison->operation != BO_LT)
        return false;
      const Polynomial index = view_.evaluate(comparison->left), most = view_.evaluate(comparison->right);
      const auto per_round = index.quotient_by(loop_atom);
      const auto own = share_of(loop, index, facts_);
      if (!own || !own->rest.is_zero() || !(own->each == share.each) || !per_round)
        return false;
      const Polynomial numerator = most + *per_round - Polynomial::constant(1);
      if (!(loop.limit == Polynomial::atom("(" + numerator.text() + "/" + per_round->text() + ")")))
        return false;
    }
    return true;
  }
};

} // namespace

std::variant<std::string, KeptElements> find_kept_elements(KernelView& view, const LaunchFacts& facts) {
  return Finder(view, facts).run();
}

} // namespace lathe::refactor
