// The rules: each exposes one knob of a self-contained kernel, or refuses with a reason.
#pragma once

#include "refactor/extract/extract.h"
#include "tuner/spec/spec.h"

#include <memory>
#include <string>
#include <vector>

namespace lathe::refactor {

// One of the launches that the program has for a kernel and the same arguments.
struct ProgramLaunch {
  std::string where;                           // "gemm.cu:694"
  std::vector<std::string> template_arguments; // all of them, in the terms of a candidate's instance
  LaunchGeometry launch;
  std::vector<Expression> needs; // over dimensions: where it computes the same, as far as the program says
};

// What is being rewritten: the current text and the facts about it. Rules are applied one after another;
// after each the text is parsed again.
struct Candidate {
  std::string text;
  std::string kernel;    // qualified name
  std::string instance;  // "act_and_mul_kernel<{T}, {BLOCK}>" in terms of types, knobs, dimensions
  LaunchGeometry launch; // over dimensions, sizeof_T and knobs
  std::vector<Knob> knobs;
  std::vector<Condition> conditions;
  std::vector<TypeParameter> types; // type parameters and the dtypes in use
  std::vector<std::string> dimensions;
  std::vector<TextSize> text_sizes; // of these, what the text fixes
  std::vector<Argument> arguments;  // of the kernel, as far as known (scalars' value expressions)
  // Over dimensions: where they do not all hold, the launcher launches something else.
  std::vector<Expression> launched_where;
  // The program's launches that differ in template arguments and geometry alone: first that which the
  // candidate is before any rule, then the others. Empty where there are none.
  std::vector<ProgramLaunch> program_launches;
  std::vector<std::string> applied; // rules, in order
  // Preconditions on the raw side under which the default is meant to be identical, as statements to be put
  // at the start of the raw kernel's body or attributes: "__builtin_assume(blockDim.x == 256u);".
  std::vector<std::string> raw_preconditions;
  std::string
      raw_launch_bounds; // e.g. "256" when the template states launch bounds that the raw kernel does not
};

// An edit of the text: bytes [offset, offset + length) become `replacement`. Edits of one rule must not
// overlap.
struct Edit {
  std::size_t offset = 0, length = 0;
  std::string replacement;
};

struct Refusal {
  std::string reason; // one sentence; with "line N" where it points somewhere
};

struct Proposal {
  std::vector<Edit> edits;
  std::vector<Knob> knobs;  // new template parameters, added last, in this order
  bool launch_only = false; // no template parameters: only the launch reads the knobs
  std::vector<Condition> conditions;
  std::string
      asked_where; // what is asked so far is asked where this condition holds alone; empty: everywhere
  std::optional<LaunchGeometry> launch; // changed geometry
  std::vector<std::string> raw_preconditions;
  std::string raw_launch_bounds;
  std::string detail; // what was done besides the knobs, for the report
  bool again = false; // what was done may let the rule do more
};

class Rule {
public:
  virtual ~Rule() = default;
  virtual std::string_view name() const = 0;    // "expose-block-size"
  virtual std::string_view summary() const = 0; // one line for --help and docs
  virtual std::variant<Refusal, Proposal> propose(ParsedSource& source, const KernelInfo& kernel,
                                                  const Candidate& candidate) const = 0;
};

// The rules that expose nothing by themselves and let the others read the kernel, by name.
const std::vector<std::string>& preparing_rules();
// All rules, in the order in which they are tried.
const std::vector<std::unique_ptr<Rule>>& all_rules();

struct RuleReport {
  std::string rule;
  bool applied = false;
  std::string detail;             // the knobs added, or the refusal
  std::vector<std::string> knobs; // added, by name
};

struct RewriteResult {
  Candidate candidate;
  std::vector<RuleReport> reports;
};

// A place at which a rule can be applied by itself: the knobs that stand or fall together there.
struct RuleSite {
  std::vector<std::string> knobs;    // their names, in the order of the proposal
  std::vector<KnobKind> kinds;       // of these knobs
  int first_line = 0, last_line = 0; // of the text that changes; 0: the launch or the template's header only
  std::string why;                   // where the knobs come from
};

// What a rule would do to a candidate as it is now: sites, or a reason why there are none.
struct RuleOffer {
  std::string rule;
  std::vector<RuleSite> sites;
  std::string refusal; // empty where there are sites
};

// Asks every rule, in the order of all_rules(). Nothing is applied; a rule that is offered can still be
// refused when its result does not parse.
Result<std::vector<RuleOffer>> rule_offers(const Candidate& candidate, const ParseOptions& options);

// One step of a rewrite: a rule at the sites of the named knobs; at all of its sites where none is named.
// Naming one knob of a site takes the whole site.
struct RewriteStep {
  std::string rule;
  std::vector<std::string> knobs;
};

// Applies the steps in order, parsing again after each, as rewrite() does. A step that names knobs which the
// rule does not offer is reported as refused.
Result<RewriteResult> rewrite_steps(const Candidate& raw, const std::vector<RewriteStep>& steps,
                                    const ParseOptions& options);

// The candidate after each step by itself, or why there is none, one result a step. Nothing is parsed again:
// a result may not compile. Much cheaper than a rewrite a step where only some of the results are of
// interest.
Result<std::vector<Result<Candidate>>> unparsed_branches(const Candidate& candidate,
                                                         const std::vector<RewriteStep>& steps,
                                                         const ParseOptions& options);

// Applies the selected rules (all when empty) in order, parsing again after each. A rule whose result does
// not parse is reported as refused, and the text before it is kept.
Result<RewriteResult> rewrite(const Candidate& raw, const std::vector<std::string>& rules,
                              const ParseOptions& options);

} // namespace lathe::refactor
