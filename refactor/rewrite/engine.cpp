// Applies the rules one after another, parsing again after each.
#include "refactor/knobs/geometry.h"
#include "refactor/rewrite/rule_support.h"
#include "refactor/rewrite/sites.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

struct Parsed {
  std::unique_ptr<ParsedSource> source;
  KernelInfo kernel;
};

// A use of the instance that makes Clang instantiate it, behind the text: names, placeholders filled with the
// first type and with defaults. Empty when some value is not a constant.
std::string probe(const Candidate& candidate) {
  std::string instance = candidate.instance;
  const auto fill = [&](const std::string& name, const std::string& value) {
    for (std::size_t at; (at = instance.find("{" + name + "}")) != std::string::npos;)
      instance.replace(at, name.size() + 2, value);
  };
  std::map<std::string, Value> environment;
  for (const TypeParameter& type : candidate.types) {
    const std::string dtype = type.dtypes.empty() ? "f32" : type.dtypes.front();
    fill(type.name, dtype_cxx(dtype));
    environment["sizeof_" + type.name] = std::int64_t{dtype_size(dtype)};
  }
  for (const std::string& dimension : candidate.dimensions) {
    fill(dimension, "128");
    environment[dimension] = std::int64_t{128};
  }
  for (const Knob& knob : candidate.knobs) {
    const auto value =
        knob.default_value.evaluate_integer([&](std::string_view name) -> std::optional<Value> {
          const auto found = environment.find(std::string(name));
          return found == environment.end() ? std::nullopt : std::optional(found->second);
        });
    if (!value.ok())
      return {};
    fill(knob.name, std::to_string(value.value()));
  }
  if (instance.find('{') != std::string::npos)
    return {};
  return "\nstatic void* const lathe_probe = (void*)&" + instance + ";\n";
}

Result<Parsed> parse(const Candidate& candidate, const ParseOptions& options, bool with_probe) {
  const std::filesystem::path file = "/lathe/candidate.cu";
  ParseOptions overlaid = options;
  overlaid.compile_database.clear();
  overlaid.overlay[file] = candidate.text + (with_probe ? probe(candidate) : std::string());
  LATHE_TRY(auto source, ParsedSource::parse(file, overlaid));
  if (!source->errors().empty())
    return Error{"rewritten kernel", source->errors().front(), "leave the rule out with --rules"};
  LATHE_TRY(KernelInfo kernel, find_kernel(*source, candidate.kernel));
  return Parsed{std::move(source), std::move(kernel)};
}

bool well_formed(const Expression& expression) {
  return !std::holds_alternative<std::string>(expression.root().value);
}

// Adds the knobs that are not template parameters yet, in the header and in the instance.
std::optional<std::string> add_parameters(const Parsed& parsed, const std::vector<Knob>& knobs,
                                          Candidate& candidate, std::vector<Edit>& edits) {
  InstanceName instance = split_instance(candidate.instance);
  const auto& existing = parsed.kernel.template_parameters;
  std::string added;
  std::vector<std::string> added_arguments;
  for (const Knob& knob : knobs) {
    const auto at = std::find_if(existing.begin(), existing.end(), [&](const TemplateParameter& parameter) {
      return parameter.name == knob.name;
    });
    if (at != existing.end()) {
      const auto index = static_cast<std::size_t>(at - existing.begin());
      while (instance.arguments.size() <= index) {
        const std::string& missing = existing[instance.arguments.size()].default_argument;
        if (missing.empty() && instance.arguments.size() != index)
          return "the instance " + candidate.instance + " leaves out a template argument without a default";
        instance.arguments.push_back(missing);
      }
      instance.arguments[index] = "{" + knob.name + "}";
      instance.has_list = true;
      continue;
    }
    added += (added.empty() ? "" : ", ") + knob.type + " " + knob.name;
    added_arguments.push_back("{" + knob.name + "}");
  }
  if (!added.empty()) {
    if (auto reason = cannot_add_parameters(parsed.kernel))
      return reason;
    while (instance.arguments.size() < existing.size()) {
      const std::string& missing = existing[instance.arguments.size()].default_argument;
      if (missing.empty())
        return "the instance " + candidate.instance + " leaves out a template argument without a default";
      instance.arguments.push_back(missing);
    }
    instance.has_list = true;
    instance.arguments.insert(instance.arguments.end(), added_arguments.begin(), added_arguments.end());
    const FunctionDecl* function = parsed.kernel.declaration;
    KernelView view(*parsed.source, parsed.kernel);
    const SourceManager& manager = view.context().getSourceManager();
    if (const FunctionTemplateDecl* described = function->getDescribedFunctionTemplate()) {
      const TemplateParameterList* list = described->getTemplateParameters();
      std::string text = (list->empty() ? "" : ", ") + added;
      // A parameter behind one with a default needs one too: its own default is never used by an instance.
      edits.push_back(insert(manager.getFileOffset(list->getRAngleLoc()), text));
    } else {
      std::size_t start = declaration_start(view, function);
      // A template cannot have C linkage.
      const std::string& text = view.file_text();
      const std::string linkage = "extern \"C\"";
      const std::size_t before = text.rfind(linkage, start);
      if (before != std::string::npos && text.find_first_not_of(" \t\n", before + linkage.size()) >= start) {
        edits.push_back({before, start - before, ""});
        edits.push_back(insert(start, "template <" + added + ">\n"));
      } else if (text.compare(start, linkage.size(), linkage) == 0) {
        edits.push_back({start, linkage.size() + 1, "template <" + added + ">\n"});
      } else {
        edits.push_back(insert(start, "template <" + added + ">\n"));
      }
    }
  }
  candidate.instance = instance.text();
  return std::nullopt;
}

std::string describe(const Proposal& proposal) {
  std::string text;
  for (const Knob& knob : proposal.knobs)
    text += (text.empty() ? "" : "; ") + knob.name + " (" + std::string(to_string(knob.kind)) + ", default " +
            knob.default_value.text() + "): " + knob.why;
  if (!proposal.detail.empty())
    text = text.empty() ? proposal.detail : proposal.detail + "; " + text;
  return text;
}

// The candidate with the proposal applied, or the reason why not.
std::variant<std::string, Candidate> apply(const Parsed& parsed, const Candidate& before,
                                           const Proposal& proposal, std::string_view rule) {
  Candidate after = before;
  std::vector<Edit> edits = proposal.edits;
  for (const Knob& knob : proposal.knobs) {
    if (!well_formed(knob.default_value))
      return "the default of " + knob.name + " is not an expression";
    if (std::any_of(before.knobs.begin(), before.knobs.end(),
                    [&](const Knob& k) { return k.name == knob.name; }))
      return "the knob " + knob.name + " exists already";
  }
  for (const Condition& condition : proposal.conditions)
    if (!well_formed(condition.expression))
      return "a condition is not an expression: " + to_string(condition.expression.root().value);
  if (!proposal.launch_only)
    if (auto reason = add_parameters(parsed, proposal.knobs, after, edits))
      return *reason;
  auto text = apply_edits(before.text, edits);
  if (!text.ok())
    return text.error().sentence();
  after.text = std::move(text).value();
  if (!proposal.asked_where.empty())
    for (Condition& condition : after.conditions)
      condition = make_condition("!(" + proposal.asked_where + ") || (" + condition.expression.text() + ")",
                                 condition.why);
  after.knobs.insert(after.knobs.end(), proposal.knobs.begin(), proposal.knobs.end());
  for (const Condition& condition : proposal.conditions)
    if (std::none_of(after.conditions.begin(), after.conditions.end(), [&](const Condition& present) {
          return canonical(present.expression) == canonical(condition.expression);
        }))
      after.conditions.push_back(condition);
  if (proposal.launch)
    after.launch = *proposal.launch;
  for (const std::string& statement : proposal.raw_preconditions)
    if (std::find(after.raw_preconditions.begin(), after.raw_preconditions.end(), statement) ==
        after.raw_preconditions.end())
      after.raw_preconditions.push_back(statement);
  if (!proposal.raw_launch_bounds.empty())
    after.raw_launch_bounds = proposal.raw_launch_bounds;
  after.applied.emplace_back(rule);
  return after;
}

} // namespace

const std::vector<std::string>& preparing_rules() {
  static const std::vector<std::string> names{
      std::string(make_name_macros()->name()), std::string(make_inline_helpers()->name()),
      std::string(make_declare_where_set()->name()), std::string(make_count_in_for()->name()),
      std::string(make_name_moved_pointers()->name())};
  return names;
}

const std::vector<std::unique_ptr<Rule>>& all_rules() {
  static const std::vector<std::unique_ptr<Rule>> rules = [] {
    std::vector<std::unique_ptr<Rule>> list;
    list.push_back(make_name_macros());
    list.push_back(make_inline_helpers());
    list.push_back(make_declare_where_set());
    list.push_back(make_count_in_for());
    list.push_back(make_name_moved_pointers());
    list.push_back(make_adopt_template_parameter());
    list.push_back(make_expose_constant());
    list.push_back(make_adopt_tile());
    list.push_back(make_expose_tile());
    list.push_back(make_expose_grid_size());
    list.push_back(make_pad_shared()); // before loops over rows are written in another form
    list.push_back(make_collapse_loops());
    list.push_back(make_vectorize_loop());
    list.push_back(make_vectorize_element());
    list.push_back(make_parallelize_loop());
    list.push_back(make_expose_block_size());
    list.push_back(make_split_block());
    list.push_back(make_keep_in_registers());
    list.push_back(make_rows_per_block());
    list.push_back(make_adopt_instances()); // behind those that another geometry would be in the way of
    list.push_back(make_expose_unroll());
    list.push_back(make_load_early());
    list.push_back(make_pack_stores());
    list.push_back(make_cache_hints());
    list.push_back(make_launch_bounds());
    list.push_back(make_reduce_in_every_warp());
    list.push_back(make_specialize_size());
    return list;
  }();
  return rules;
}

namespace {

// A candidate parsed with its instance where Clang can instantiate it. Some kernels cannot be instantiated by
// Clang although NVRTC accepts them: their pattern is read instead.
struct Reading {
  Parsed parsed;
  bool instantiates = true;
};

Result<Reading> read_candidate(const Candidate& candidate, const ParseOptions& options) {
  auto parsed = parse(candidate, options, true);
  if (parsed.ok())
    return Reading{std::move(*parsed), true};
  parsed = parse(candidate, options, false);
  if (!parsed.ok())
    return parsed.error();
  return Reading{std::move(*parsed), false};
}

Result<const Rule*> rule_named(const std::string& name) {
  const auto& known = all_rules();
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto& rule) { return rule->name() == name; });
  if (found != known.end())
    return found->get();
  std::string names;
  for (const auto& rule : known)
    names += (names.empty() ? "" : ", ") + std::string(rule->name());
  return usage_error("rule " + name, "there is no such rule", "use some of " + names);
}

// What a step makes of a candidate, not parsed yet, or the reason why nothing.
struct Branch {
  Candidate candidate;
  std::string detail;
  bool again = false;
};

// A rule that may do more behind what it did: a kernel's functions call others, and these further ones.
constexpr int MOST_ROUNDS = 5;

std::variant<std::string, Branch> branch(const Rule& rule, const RewriteStep& step, const Parsed& parsed,
                                         const Candidate& before) {
  auto outcome = rule.propose(*parsed.source, parsed.kernel, before);
  if (const auto* refusal = std::get_if<Refusal>(&outcome))
    return refusal->reason;
  Proposal& proposal = std::get<Proposal>(outcome);
  if (!step.knobs.empty()) {
    auto restricted = restricted_to(before, proposal, step.knobs);
    if (!restricted.ok())
      return restricted.error().sentence();
    proposal = std::move(*restricted);
  }
  auto applied = apply(parsed, before, proposal, rule.name());
  if (const auto* reason = std::get_if<std::string>(&applied))
    return *reason;
  return Branch{std::get<Candidate>(std::move(applied)), describe(proposal), proposal.again};
}

} // namespace

Result<std::vector<RuleOffer>> rule_offers(const Candidate& candidate, const ParseOptions& options) {
  LATHE_TRY(Reading reading, read_candidate(candidate, options));
  std::vector<RuleOffer> offers;
  for (const auto& rule : all_rules()) {
    RuleOffer offer{std::string(rule->name()), {}, {}};
    auto outcome = rule->propose(*reading.parsed.source, reading.parsed.kernel, candidate);
    if (const auto* refusal = std::get_if<Refusal>(&outcome))
      offer.refusal = refusal->reason;
    else
      offer.sites = sites_of(candidate, std::get<Proposal>(outcome));
    if (offer.sites.empty() && offer.refusal.empty())
      offer.refusal = "it changes the text without exposing a knob";
    offers.push_back(std::move(offer));
  }
  return offers;
}

namespace {

// Takes a step from a candidate and what was read of it, and adds to its report. True when the rule may do
// more behind it.
bool take_step(const Rule& rule, const RewriteStep& step, const ParseOptions& options, Reading& reading,
               Candidate& candidate, RuleReport& report) {
  auto taken = branch(rule, step, reading.parsed, candidate);
  if (const auto* reason = std::get_if<std::string>(&taken)) {
    if (!report.applied)
      report.detail = *reason;
    return false;
  }
  Branch& next = std::get<Branch>(taken);
  auto again = parse(next.candidate, options, reading.instantiates);
  if (!again.ok()) {
    if (!report.applied)
      report.detail = "the result does not parse: " + again.error().sentence();
    return false;
  }
  report.detail += (report.applied ? "; " : "") + next.detail;
  report.applied = true;
  for (const Knob& knob : next.candidate.knobs)
    if (std::ranges::find(candidate.knobs, knob.name, &Knob::name) == candidate.knobs.end())
      report.knobs.push_back(knob.name);
  candidate = std::move(next.candidate);
  reading.parsed = std::move(*again);
  return next.again;
}

} // namespace

Result<RewriteResult> rewrite_steps(const Candidate& raw, const std::vector<RewriteStep>& steps,
                                    const ParseOptions& options) {
  std::vector<const Rule*> rules;
  for (const RewriteStep& step : steps) {
    LATHE_TRY(const Rule* rule, rule_named(step.rule));
    rules.push_back(rule);
  }
  RewriteResult result;
  result.candidate = raw;
  LATHE_TRY(Reading reading, read_candidate(raw, options));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    RuleReport report{steps[i].rule, false, {}, {}};
    bool again = true;
    for (int round = 0; again && round < MOST_ROUNDS; ++round)
      again = take_step(*rules[i], steps[i], options, reading, result.candidate, report);
    result.reports.push_back(std::move(report));
  }
  return result;
}

Result<std::vector<Result<Candidate>>> unparsed_branches(const Candidate& candidate,
                                                         const std::vector<RewriteStep>& steps,
                                                         const ParseOptions& options) {
  LATHE_TRY(const Reading reading, read_candidate(candidate, options));
  std::vector<Result<Candidate>> results;
  for (const RewriteStep& step : steps) {
    LATHE_TRY(const Rule* rule, rule_named(step.rule));
    auto taken = branch(*rule, step, reading.parsed, candidate);
    if (const auto* reason = std::get_if<std::string>(&taken))
      results.push_back(Error{step.rule, *reason, ""});
    else
      results.push_back(std::get<Branch>(std::move(taken)).candidate);
  }
  return results;
}

Result<RewriteResult> rewrite(const Candidate& raw, const std::vector<std::string>& rules,
                              const ParseOptions& options) {
  std::vector<RewriteStep> steps;
  for (const std::string& rule : rules)
    steps.push_back({rule, {}});
  if (rules.empty())
    for (const auto& rule : all_rules())
      steps.push_back({std::string(rule->name()), {}});
  return rewrite_steps(raw, steps, options);
}

} // namespace lathe::refactor
