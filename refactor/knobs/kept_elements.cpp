#include "refactor/knobs/kept_elements.h"

#include "refactor/knobs/kept_objects.h"

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
      std::vector<const VarDecl*> candidates = arrays();
      for (const ParmVarDecl* parameter : view_.kernel()->parameters())
        if (parameter->getType()->isPointerType() && parameter->getType().isRestrictQualified())
          candidates.push_back(parameter);
      for (const VarDecl* array : candidates) {
        auto found = isa<ParmVarDecl>(array) ? study_buffer(array) : study(array);
        if (std::holds_alternative<KeptElements>(found))
          return found;
        reasons += (reasons.empty() ? "" : "; ") + std::get<std::string>(found);
      }
      for (const StridedLoop& loop : loops_)
        view_.release(loop.counter);
    }
    return reasons.empty() ? "no two loops deal elements of one array out to the threads in the same way"
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
    for (const BufferAccess& access : accesses)
      if (access.is_opaque)
        return name + " is read at " + view_.at_line(access.expression->getBeginLoc()) +
               " by a method that may read more than its object";
    for (const BufferAccess& leader : accesses) {
      const StridedLoop* loop = loop_of(leader.expression);
      if (!loop || !leader.writes || !is_stable(view_, leader.index) || !leader.before_cast.is_zero())
        continue;
      const auto share = share_of(*loop, leader.index, facts_);
      if (!share)
        continue;
      return group(array, accesses, leader, *loop, *share);
    }
    return name + " is not written by a loop that gives every thread elements of its own";
  }

  static bool same_place(const BufferAccess& a, const BufferAccess& b, const ASTContext& context) {
    if (!(a.index == b.index) || !(a.before_cast == b.before_cast))
      return false;
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
      const bool matches = loop && same_place(access, leader, view_.context());
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

  // The loops and their accesses in the order in which they happen: an assignment stores at its end.
  void in_order(KeptElements& kept) const {
    const auto when = [&](const BufferAccess& access) {
      const Stmt* around = view_.parent(access.expression);
      const auto binary = binary_parts(around);
      const bool last =
          access.writes && !access.is_address && binary && BinaryOperator::isAssignmentOp(binary->operation);
      return (last ? around->getEndLoc() : access.expression->getBeginLoc()).getRawEncoding();
    };
    std::vector<std::pair<StridedLoop, std::vector<BufferAccess>>> both;
    for (std::size_t i = 0; i < kept.loops.size(); ++i)
      both.emplace_back(kept.loops[i], kept.accesses[i]);
    std::sort(both.begin(), both.end(), [](const auto& a, const auto& b) {
      return a.first.loop->getBeginLoc().getRawEncoding() < b.first.loop->getBeginLoc().getRawEncoding();
    });
    for (std::size_t i = 0; i < both.size(); ++i) {
      std::stable_sort(both[i].second.begin(), both[i].second.end(),
                       [&](const BufferAccess& a, const BufferAccess& b) { return when(a) < when(b); });
      kept.loops[i] = both[i].first;
      kept.accesses[i] = both[i].second;
    }
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

  // Loads that find what the first loop loaded or stored.
  std::variant<std::string, KeptElements> study_buffer(const VarDecl* buffer) {
    const std::string name = buffer->getNameAsString();
    const QualType pointee = buffer->getType()->getPointeeType();
    if (pointee.isVolatileQualified() || view_.is_modified(buffer))
      return name + " is volatile or moves";
    auto collected = accesses_of(view_, buffer, pointee.isConstQualified());
    if (auto* problem = std::get_if<std::string>(&collected))
      return *problem;
    const auto& accesses = std::get<std::vector<BufferAccess>>(collected);
    const bool constant = std::ranges::none_of(accesses, &BufferAccess::writes);
    for (const BufferAccess& leader : accesses) {
      const StridedLoop* loop = loop_of(leader.expression);
      if (!loop || (leader.is_address && !constant) || !is_stable(view_, leader.index) ||
          !is_stable(view_, leader.before_cast) || !leader.index.mentions(loop_atom))
        continue;
      const auto share = share_of(*loop, leader.index, facts_);
      if (!constant &&
          (!share || share->each.as_constant() != 1 || leader.before_cast.mentions("threadIdx.")))
        continue;
      auto found = copies(buffer, accesses, leader, pointee, share);
      if (std::holds_alternative<KeptElements>(found))
        return found;
      return name + " " + std::get<std::string>(found);
    }
    return name + " is not read or written by a loop that gives every thread elements of its own";
  }

  std::variant<std::string, KeptElements> copies(const VarDecl* buffer,
                                                 const std::vector<BufferAccess>& accesses,
                                                 const BufferAccess& leader, QualType pointee,
                                                 const std::optional<Share>& share) {
    KeptElements kept;
    kept.array = buffer;
    kept.in_global_memory = true;
    kept.element = (leader.carrier.isNull() ? pointee : leader.carrier).getUnqualifiedType();
    kept.each = kept.each_at_launch = "1";
    for (const BufferAccess& access : accesses) {
      const StridedLoop* loop = loop_of(access.expression);
      const bool matches =
          loop && access.is_address == leader.is_address && same_place(access, leader, view_.context());
      if (!matches && access.writes)
        return "is also stored to at " + view_.at_line(access.expression->getBeginLoc());
      if (access.reads && access.writes)
        return "is changed in place at " + view_.at_line(access.expression->getBeginLoc());
      if (!matches)
        continue; // it reads memory as before
      std::size_t at = 0;
      while (at < kept.loops.size() && kept.loops[at].loop != loop->loop)
        ++at;
      if (at == kept.loops.size()) {
        kept.loops.push_back(*loop);
        kept.accesses.emplace_back();
      }
      kept.accesses[at].push_back(access);
    }
    in_order(kept);
    if (auto problem = keep_copies(kept))
      return *problem;
    if (!leader.is_address)
      return at_launch(kept, leader, Share{Polynomial::constant(1), Polynomial()});
    auto type = kept_object_type(view_, kept.loops, kept.accesses);
    if (auto* problem = std::get_if<NotKept>(&type))
      return problem->reason;
    kept.object_type = std::get<std::string>(type);
    auto found = at_launch(kept, leader, share.value_or(Share{Polynomial::constant(1), Polynomial()}));
    if (auto* objects = std::get_if<KeptElements>(&found); objects && !share)
      objects->each_at_launch.clear(); // how large an object is, is not known
    return found;
  }

  // Leaves the accesses that change: in the first loop the stores, or the loads where it stores nothing; in
  // later loops the loads before anything is stored again.
  std::optional<std::string> keep_copies(KeptElements& kept) const {
    if (kept.loops.size() < 2)
      return "is not read again by a loop of the same form";
    auto& first = kept.accesses.front();
    if (std::any_of(first.begin(), first.end(), [](const auto& access) { return access.writes; }))
      first.erase(std::remove_if(first.begin(), first.end(), [](const auto& a) { return !a.writes; }),
                  first.end());
    bool stored = false;
    std::size_t loops = 1;
    for (std::size_t i = 1; i < kept.loops.size() && !stored; ++i, ++loops) {
      auto& later = kept.accesses[i];
      const auto store =
          std::find_if(later.begin(), later.end(), [](const auto& access) { return access.writes; });
      stored = store != later.end();
      later.erase(store, later.end());
    }
    kept.loops.resize(loops);
    kept.accesses.resize(loops);
    while (kept.loops.size() > 1 && kept.accesses.back().empty()) {
      kept.loops.pop_back();
      kept.accesses.pop_back();
    }
    if (kept.loops.size() < 2)
      return "is not read again before it is stored to";
    for (const BufferAccess& access : first)
      if (!alone_in_statement(access, first))
        return "is accessed more than once in the statement at " +
               view_.at_line(access.expression->getBeginLoc());
    // A copy counts as written.
    KeptElements order = kept;
    for (BufferAccess& access : order.accesses.front()) {
      access.writes = true;
      access.reads = false;
    }
    return reads_follow_writes(order);
  }

  const Stmt* statement_of(const Stmt* expression) const {
    const Stmt* at = expression;
    while (view_.parent(at) && (isa<Expr>(view_.parent(at)) || isa<DeclStmt>(view_.parent(at))))
      at = view_.parent(at);
    return at;
  }

  bool alone_in_statement(const BufferAccess& access, const std::vector<BufferAccess>& all) const {
    return std::count_if(all.begin(), all.end(), [&](const BufferAccess& other) {
             return statement_of(other.expression) == statement_of(access.expression);
           }) == 1;
  }

  std::variant<std::string, KeptElements> at_launch(KeptElements& kept, const BufferAccess& leader,
                                                    const Share& share) const {
    const StridedLoop& loop = kept.loops.front();
    const auto bound = launch_expression(view_, loop.bound, facts_);
    const auto step = loop.step_by ? launch_expression(view_, loop.step_by, facts_) : std::optional("1");
    if (!bound || !step)
      return "the bound of the loop at " + view_.at_line(loop.loop->getBeginLoc()) +
             " is not known when the kernel is launched";
    for (const auto& [monomial, factor] : loop.start.terms())
      if (factor < 0 || std::any_of(
                            monomial.begin(), monomial.end(),
                            [](const std::string& atom) {
                              return atom.find('-') != std::string::npos ||
                                     atom.find("param:") != std::string::npos;
                            }))
        return "the loop at " + view_.at_line(loop.loop->getBeginLoc()) + " may start below zero";
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
    if (kept.in_global_memory || !kept.array->hasExternalStorage() || !leader.carrier.isNull())
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
