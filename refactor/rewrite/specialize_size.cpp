// specialize-size: sizes that a kernel divides by or counts rounds with may be known when it is compiled.
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// Every knob multiplies the search space.
constexpr std::size_t MOST_SIZES = 2;

// What a compiler makes less of when it knows the size.
struct Gains {
  std::vector<std::string> divisors, loops; // "line 12" each
  std::size_t count() const { return divisors.size() + loops.size(); }
};

bool mentions(const KernelView& view, const Expr* expression, const std::string& word) {
  return expression && std::ranges::any_of(view.evaluate(expression).atoms(),
                                           [&](const std::string& atom) { return has_word(atom, word); });
}

// Whether the loop's rounds are dealt out over the grid: its bound is how much there is to do in all.
bool spans_grid(const KernelView& view, const Stmt* loop) {
  bool found = false;
  const auto look = [&](const Stmt* part) {
    if (part)
      view.visit(part, [&](const Stmt* statement) {
        const auto* expression = dyn_cast<Expr>(statement);
        found |=
            expression && (mentions(view, expression, "blockIdx") || mentions(view, expression, "gridDim"));
      });
  };
  if (const auto* counted = dyn_cast<ForStmt>(loop)) {
    look(counted->getInit());
    look(counted->getInc());
  }
  if (const auto* repeated = dyn_cast<WhileStmt>(loop))
    look(repeated->getCond());
  return found;
}

Gains gains_of(const KernelView& view, const ParmVarDecl* parameter) {
  Gains gains;
  const std::string name = parameter->getNameAsString();
  const auto note = [&](std::vector<std::string>& lines, SourceLocation location) {
    const std::string line = view.at_line(location);
    if (std::ranges::find(lines, line) == lines.end())
      lines.push_back(line);
  };
  view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
    if (const auto parts = binary_parts(statement)) {
      const bool divides = parts->operation == BO_Div || parts->operation == BO_Rem ||
                           parts->operation == BO_DivAssign || parts->operation == BO_RemAssign;
      const QualType type = parts->right->getType();
      if (divides && (type->isIntegerType() || type->isDependentType()) && mentions(view, parts->right, name))
        note(gains.divisors, statement->getBeginLoc());
    }
    const Expr* condition = nullptr;
    if (const auto* counted = dyn_cast<ForStmt>(statement))
      condition = counted->getCond();
    else if (const auto* repeated = dyn_cast<WhileStmt>(statement))
      condition = repeated->getCond();
    if (!condition)
      return;
    bool bounds = false;
    view.visit(condition, [&](const Stmt* part) {
      const auto* expression = dyn_cast<Expr>(part);
      bounds |= expression && mentions(view, expression, name);
    });
    if (bounds && !spans_grid(view, statement))
      note(gains.loops, statement->getBeginLoc());
  });
  return gains;
}

std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i == 0 ? "" : i + 1 == lines.size() ? " and " : ", ") + lines[i];
  return text;
}

class SpecializeSize : public Rule {
public:
  std::string_view name() const override { return "specialize-size"; }
  std::string_view summary() const override {
    return "lets sizes that divide or bound loops be constants of the instance";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    std::vector<Found> found;
    std::string reasons;
    for (const ParmVarDecl* parameter : view.kernel()->parameters()) {
      const Gains gains = gains_of(view, parameter);
      if (gains.count() == 0)
        continue;
      auto size = read(view, candidate, parameter);
      if (const auto* reason = std::get_if<std::string>(&size)) {
        reasons += (reasons.empty() ? "" : "; ") + parameter->getNameAsString() + " " + *reason;
        continue;
      }
      found.push_back({parameter, std::get<Expression>(size), gains});
    }
    if (found.empty())
      return Refusal{reasons.empty() ? "no size of the problem divides anything or bounds a thread's loop"
                                     : reasons};
    std::ranges::stable_sort(found, std::greater<>(), [](const Found& one) {
      return std::pair(one.gains.divisors.size(), one.gains.loops.size());
    });
    found.resize(std::min(found.size(), MOST_SIZES));
    Proposal proposal;
    for (const Found& one : found)
      specialize(view, candidate, one, proposal);
    return proposal;
  }

private:
  struct Found {
    const ParmVarDecl* parameter;
    Expression size;
    Gains gains;
  };

  // What the launcher passes, or why it cannot be put in the parameter's place.
  static std::variant<std::string, Expression> read(const KernelView& view, const Candidate& candidate,
                                                    const ParmVarDecl* parameter) {
    const QualType type = parameter->getType().getNonReferenceType().getUnqualifiedType();
    if (parameter->getType()->isReferenceType() || !type->isIntegerType() || type->isBooleanType() ||
        type->isEnumeralType())
      return "is no whole number by value";
    if (view.is_modified(parameter))
      return "changes in the kernel";
    const auto argument =
        std::ranges::find(candidate.arguments, parameter->getNameAsString(), &Argument::name);
    if (argument == candidate.arguments.end() || argument->is_buffer)
      return "is passed a value that is not known";
    const auto& names = argument->value.names();
    const bool is_size = std::ranges::any_of(names, [&](const std::string& name) {
      return std::ranges::find(candidate.dimensions, name) != candidate.dimensions.end();
    });
    if (!is_size)
      return "is no size of the problem";
    for (const DeclRefExpr* use : view.uses(parameter))
      if (!view.range(use->getSourceRange()))
        return "is mentioned in a macro at " + view.at_line(use->getBeginLoc());
    return argument->value;
  }

  static void specialize(const KernelView& view, const Candidate& candidate, const Found& one,
                         Proposal& proposal) {
    std::string base = "FIXED_" + one.parameter->getNameAsString();
    std::ranges::transform(base, base.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::vector<std::string> taken;
    for (const Knob& knob : proposal.knobs)
      taken.push_back(knob.name);
    const std::string name = free_name(candidate.text, base, taken),
                      parameter = one.parameter->getNameAsString();
    for (const DeclRefExpr* use : view.uses(one.parameter))
      if (const auto range = view.range(use->getSourceRange()))
        proposal.edits.push_back(replace(*range, fmt::format("({0} == 0 ? {1} : {0})", name, parameter)));
    std::string why = fmt::format("1: {} is known when the kernel is compiled", parameter);
    if (!one.gains.divisors.empty())
      why += ", which divides by it at " + listed(one.gains.divisors);
    if (!one.gains.loops.empty())
      why += (one.gains.divisors.empty() ? ", which counts rounds with it at "
                                         : " and counts rounds with it at ") +
             listed(one.gains.loops);
    Knob knob = make_knob(name, KnobKind::size, view.type_text(one.parameter->getType().getUnqualifiedType()),
                          {0, 1}, "0", why + "; 0: it is an argument, as in the raw kernel");
    knob.size = one.size;
    proposal.knobs.push_back(std::move(knob));
  }
};

} // namespace

std::unique_ptr<Rule> make_specialize_size() {
  return std::make_unique<SpecializeSize>();
}

} // namespace lathe::refactor
