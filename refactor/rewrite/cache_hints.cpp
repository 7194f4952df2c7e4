// cache-hints: loads and stores of global memory take their cache policy from a knob.
#include "refactor/knobs/global_accesses.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

const char* const helpers = R"(
// The unsigned type that moves ALIGNMENT bytes at once.
template <unsigned ALIGNMENT> struct lathe_carrier {
  using type = uint4;
};
template <> struct lathe_carrier<1> {
  using type = unsigned char;
};
template <> struct lathe_carrier<2> {
  using type = unsigned short;
};
template <> struct lathe_carrier<4> {
  using type = unsigned;
};
template <> struct lathe_carrier<8> {
  using type = uint2;
};
// Cache policy of a load: 0 plain, 1 streaming (evicted first), 2 read-only data path.
template <int CACHE, class V> __device__ __forceinline__ V lathe_load(const V* address) {
  if constexpr (CACHE == 0) {
    return *address;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i) {
      const carrier* part = reinterpret_cast<const carrier*>(address) + i;
      reinterpret_cast<carrier*>(&value)[i] = CACHE == 1 ? __ldcs(part) : __ldg(part);
    }
    return value;
  }
}
// Cache policy of a store: 0 plain, 1 streaming (evicted first).
template <int CACHE, class V, class W> __device__ __forceinline__ void lathe_store(const W& value, V* address) {
  if constexpr (CACHE == 0) {
    *address = value;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V converted;
    converted = value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i)
      __stcs(reinterpret_cast<carrier*>(address) + i, reinterpret_cast<const carrier*>(&converted)[i]);
  }
}
)";

class CacheHints : public Rule {
public:
  std::string_view name() const override { return "cache-hints"; }
  std::string_view summary() const override {
    return "gives loads and stores of data that a block touches once a cache policy";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    if (has_helper(candidate.text, "lathe_load"))
      return Refusal{"the loads and stores have a cache policy already"};
    KernelView view = view_of(source, kernel, candidate);
    Proposal proposal;
    const std::string load = free_name(candidate.text, "LOAD_CACHE"),
                      store = free_name(candidate.text, "STORE_CACHE");
    Tally tally;
    Changes changes;
    for (const GlobalAccess& access : global_accesses(view, view.kernel()))
      if (access.store || varies_by_block(view, access.place))
        wrap(view, access, access.store ? store : load, tally, changes);
    through_helpers(view, load, store, tally, changes);
    if (tally.loads + tally.stores == 0)
      return Refusal{"no load or store goes through a kernel parameter in a form that can take a policy"};
    if (auto reason = write_stores(view, changes))
      return Refusal{*reason};
    proposal.edits = std::move(changes.edits);
    proposal.edits.push_back(insert(prelude_position(candidate.text), helpers));
    if (tally.loads > 0) {
      std::vector<std::int64_t> values{0, 1};
      if (tally.read_only)
        values.push_back(2);
      proposal.knobs.push_back(
          make_knob(load, KnobKind::cache, "int", values, "0",
                    "loads of data that differs from block to block, first at " + tally.load_at));
    }
    if (tally.stores > 0)
      proposal.knobs.push_back(
          make_knob(store, KnobKind::cache, "int", {0, 1}, "0", "stores, first at " + tally.store_at));
    return proposal;
  }

private:
  struct Tally {
    int loads = 0, stores = 0;
    bool read_only = true; // every load is through a pointer to const with __restrict__
    std::string load_at, store_at;
  };

  static bool varies_by_block(const KernelView& view, const Expr* place) {
    bool varies = false;
    std::set<const VarDecl*> seen;
    std::function<void(const Expr*)> look = [&](const Expr* expression) {
      view.visit(expression, [&](const Stmt* statement) {
        if (const auto* pseudo = dyn_cast<PseudoObjectExpr>(statement)) {
          varies |= KernelView::builtin_name(pseudo).rfind("blockIdx", 0) == 0;
        } else if (const auto* reference = dyn_cast<DeclRefExpr>(statement)) {
          const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
          if (variable && variable->hasInit() && seen.insert(variable).second)
            look(variable->getInit());
        }
      });
    };
    look(place);
    return varies;
  }

  static void note(const KernelView& view, bool is_store, const ParmVarDecl* pointer, SourceLocation at,
                   Tally& tally) {
    if (is_store) {
      if (tally.stores++ == 0)
        tally.store_at = view.at_line(at);
      return;
    }
    if (tally.loads++ == 0)
      tally.load_at = view.at_line(at);
    tally.read_only &=
        pointer->getType()->getPointeeType().isConstQualified() && pointer->getType().isRestrictQualified();
  }

  // Loads are wrapped where they stand. A store changes places with its value, so that it takes in what is
  // wrapped inside it: stores are written last.
  struct Changes {
    std::vector<Edit> edits;
    std::vector<std::pair<GlobalAccess, std::string>> stores; // with their knobs
  };

  static void wrap_text(const KernelView& view, const GlobalAccess& access, const std::string& knob,
                        Changes& changes) {
    if (access.store) {
      changes.stores.push_back({access, knob});
      return;
    }
    const TextRange place = *view.range(access.place->getSourceRange());
    const std::string call = "lathe_load<" + knob + ">(";
    if (isa<UnaryOperator>(access.place))
      changes.edits.push_back({place.begin, 1, call});
    else
      changes.edits.push_back(insert(place.begin, call + "&"));
    changes.edits.push_back(insert(place.end, ")"));
  }

  // The type that a constant has once it is stored, where that may be one of fewer bits (0.0 among floats):
  // where it stands the compiler rounds it, as an argument of a function it would be a value that is narrowed
  // there. Empty for all that is no constant, or has room.
  static std::string narrower_type(const KernelView& view, const BinaryOperator& store) {
    const ASTContext& context = view.context();
    const Expr* value = store.getRHS()->IgnoreParenImpCasts();
    const QualType from = value->getType(), to = store.getLHS()->getType().getUnqualifiedType();
    Expr::EvalResult constant;
    if (from->isDependentType() || value->isValueDependent() || !from->isArithmeticType() ||
        !value->EvaluateAsRValue(constant, context))
      return "";
    const bool narrows = to->isDependentType() ||
                         (to->isArithmeticType() && to->isRealFloatingType() == from->isRealFloatingType() &&
                          context.getTypeSize(to) < context.getTypeSize(from));
    return narrows ? to.getAsString(context.getPrintingPolicy()) : "";
  }

  // The value comes first, as in an assignment: with the address first the machine code differs.
  static std::optional<std::string> write_stores(const KernelView& view, Changes& changes) {
    for (const auto& [access, knob] : changes.stores) {
      const TextRange place = *view.range(access.place->getSourceRange());
      const TextRange whole = *view.range(access.store->getSourceRange());
      const TextRange value = *view.range(access.store->getRHS()->getSourceRange());
      std::vector<Edit> of_place, of_value, others;
      for (const Edit& edit : changes.edits) {
        const auto inside = [&](TextRange range) {
          return edit.offset >= range.begin && edit.offset + edit.length <= range.end;
        };
        if (inside(place))
          of_place.push_back({edit.offset - place.begin, edit.length, edit.replacement});
        else if (inside(value))
          of_value.push_back({edit.offset - value.begin, edit.length, edit.replacement});
        else
          others.push_back(edit);
      }
      auto target = apply_edits(view.text(place), of_place);
      auto stored = apply_edits(view.text(value), of_value);
      if (!target.ok() || !stored.ok())
        return (target.ok() ? stored : target).error().sentence();
      const std::string type = narrower_type(view, *access.store);
      if (!type.empty())
        *stored = "static_cast<" + type + ">(" + *stored + ")";
      const std::string address = isa<UnaryOperator>(access.place) ? target->substr(1) : "&" + *target;
      others.push_back(replace(whole, "lathe_store<" + knob + ">(" + *stored + ", " + address + ")"));
      changes.edits = std::move(others);
    }
    return std::nullopt;
  }

  static void wrap(const KernelView& view, const GlobalAccess& access, const std::string& knob, Tally& tally,
                   Changes& changes) {
    note(view, access.store != nullptr, access.pointer, access.place->getBeginLoc(), tally);
    wrap_text(view, access, knob, changes);
  }

  struct Call {
    const Expr* callee; // the member or name that is called
    const Expr* address;
    SourceLocation name;
    bool member;
  };

  // Helpers such as vector.load(pointer): they take the policy as a template parameter whose default is
  // "plain".
  static void through_helpers(const KernelView& view, const std::string& load, const std::string& store,
                              Tally& tally, Changes& changes) {
    for (const FunctionDecl* helper : view.functions()) {
      if (helper == view.kernel() || helper->isTemplateInstantiation() ||
          helper->getDescribedFunctionTemplate() || helper->isOverloadedOperator() ||
          helper->getPreviousDecl() || isa<CXXConstructorDecl>(helper) ||
          !helper->getDeclName().isIdentifier())
        continue;
      const std::string name = helper->getNameAsString();
      if (std::count_if(view.functions().begin(), view.functions().end(), [&](const FunctionDecl* other) {
            return other->getDeclName() == helper->getDeclName();
          }) != 1)
        continue;
      const std::vector<GlobalAccess> accesses = global_accesses(view, helper);
      if (accesses.empty() || !std::all_of(accesses.begin(), accesses.end(), [&](const GlobalAccess& access) {
            return access.pointer == accesses.front().pointer && !access.store == !accesses.front().store;
          }))
        continue;
      const bool is_store = accesses.front().store != nullptr;
      const unsigned index = accesses.front().pointer->getFunctionScopeIndex();
      std::vector<std::pair<Call, const ParmVarDecl*>> chosen;
      for (const Call& call : calls_of(view, name, index)) {
        const ParmVarDecl* pointer =
            view.is_on_chip(call.address) ? nullptr : view.base_pointer(call.address);
        if (pointer && pointer->getDeclContext() == view.kernel() &&
            view.enclosing_function(call.callee) == view.kernel() &&
            (is_store || varies_by_block(view, call.address)) &&
            view.range(SourceRange(call.name, call.name)))
          chosen.push_back({call, pointer});
      }
      if (chosen.empty())
        continue;
      changes.edits.push_back(insert(declaration_start(view, helper), "template <int CACHE = 0> "));
      for (const GlobalAccess& access : accesses)
        wrap_text(view, access, "CACHE", changes);
      for (const auto& [call, pointer] : chosen) {
        const TextRange at = *view.range(SourceRange(call.name, call.name));
        if (call.member)
          changes.edits.push_back(insert(at.begin, "template "));
        changes.edits.push_back(insert(at.end, "<" + (is_store ? store : load) + ">"));
        note(view, is_store, pointer, call.name, tally);
      }
    }
  }

  static std::vector<Call> calls_of(const KernelView& view, const std::string& name, unsigned index) {
    std::vector<Call> calls;
    view.visit([&](const Stmt* statement) {
      const auto* call = dyn_cast<CallExpr>(statement);
      if (!call || call->getNumArgs() <= index)
        return;
      const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
      if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(callee)) {
        if (dependent->getMember().getAsString() == name && !dependent->hasExplicitTemplateArgs())
          calls.push_back({callee, call->getArg(index), dependent->getMemberLoc(), true});
      } else if (const auto* member = dyn_cast<MemberExpr>(callee)) {
        if (member->getMemberDecl()->getNameAsString() == name && !member->hasExplicitTemplateArgs())
          calls.push_back({callee, call->getArg(index), member->getMemberLoc(), true});
      } else if (const auto* reference = dyn_cast<DeclRefExpr>(callee)) {
        if (reference->getDecl()->getNameAsString() == name && !reference->hasExplicitTemplateArgs())
          calls.push_back({callee, call->getArg(index), reference->getLocation(), false});
      } else if (const auto* lookup = dyn_cast<UnresolvedLookupExpr>(callee)) {
        if (lookup->getName().getAsString() == name && !lookup->hasExplicitTemplateArgs())
          calls.push_back({callee, call->getArg(index), lookup->getNameLoc(), false});
      } else if (const auto* member_lookup = dyn_cast<UnresolvedMemberExpr>(callee)) {
        if (member_lookup->getMemberName().getAsString() == name && !member_lookup->hasExplicitTemplateArgs())
          calls.push_back({callee, call->getArg(index), member_lookup->getMemberLoc(), true});
      }
    });
    return calls;
  }
};

} // namespace

std::unique_ptr<Rule> make_cache_hints() {
  return std::make_unique<CacheHints>();
}

} // namespace lathe::refactor
