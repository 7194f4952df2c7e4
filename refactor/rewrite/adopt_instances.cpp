// adopt-instances: the integers that the program's other launches of a kernel have as template arguments.
#include "refactor/knobs/geometry.h"
#include "refactor/rewrite/constant_knob.h"
#include "refactor/rewrite/launch_choice.h"
#include "refactor/rewrite/whole_tiles.h"

#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace lathe::refactor {

using namespace clang;

namespace {

// A launch in the terms of the knobs: the values of those template parameters that differ between launches.
struct Choice {
  const ProgramLaunch* launch = nullptr;
  std::map<std::size_t, std::int64_t> values; // by the parameter's index, where it differs from the first
  std::map<std::string, std::int64_t> held;   // the same of parameters that are knobs already, by name
};

class AdoptInstances : public Rule {
public:
  std::string_view name() const override { return "adopt-instances"; }
  std::string_view summary() const override {
    return "takes integers that the program's other launches have as template arguments, with their "
           "geometry, as knobs";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    const std::vector<ProgramLaunch>& launches = candidate.program_launches;
    if (launches.size() < 2)
      return Refusal{"the program has no launch that differs in integers of the template alone"};
    const FunctionTemplateDecl* described =
        kernel.declaration ? kernel.declaration->getDescribedFunctionTemplate() : nullptr;
    if (!described)
      return Refusal{"the kernel has no template parameters"};
    std::string reasons;
    std::vector<Choice> choices{{&launches.front(), {}, {}}};
    for (std::size_t i = 1; i < launches.size(); ++i) {
      auto read = read_choice(*described, kernel, candidate, launches[i]);
      if (const auto* reason = std::get_if<std::string>(&read))
        reasons += (reasons.empty() ? "" : "; ") + launches[i].where + ": " + *reason;
      else if (std::ranges::none_of(choices, [&](const Choice& choice) {
                 return choice.values == std::get<Choice>(read).values;
               }))
        choices.push_back(std::get<Choice>(std::move(read)));
    }
    if (choices.size() < 2)
      return Refusal{reasons.empty() ? "the program's other launches have the same template arguments"
                                     : reasons};
    return proposal_of(source, kernel, candidate, *described, std::move(choices));
  }

private:
  static std::string argument_of(const KernelInfo& kernel, const std::vector<std::string>& arguments,
                                 std::size_t index) {
    return index < arguments.size() ? arguments[index] : kernel.template_parameters[index].default_argument;
  }

  static std::optional<std::int64_t> integer_of(const std::string& argument, const Candidate& candidate) {
    const auto expression = to_expression(argument, candidate);
    return expression ? constant_of(make_expression(*expression)) : std::nullopt;
  }

  // What the launch has in place of the first one's arguments, or why it cannot be chosen.
  static std::variant<std::string, Choice> read_choice(const FunctionTemplateDecl& described,
                                                       const KernelInfo& kernel, const Candidate& candidate,
                                                       const ProgramLaunch& launch) {
    const ProgramLaunch& first = candidate.program_launches.front();
    const InstanceName now = split_instance(candidate.instance);
    const TemplateParameterList& parameters = *described.getTemplateParameters();
    Choice choice{&launch, {}, {}};
    for (std::size_t i = 0; i < kernel.template_parameters.size() && i < parameters.size(); ++i) {
      const std::string own = argument_of(kernel, first.template_arguments, i),
                        other = argument_of(kernel, launch.template_arguments, i);
      if (own == other)
        continue;
      const std::string& name = kernel.template_parameters[i].name;
      const auto* parameter =
          dyn_cast<NonTypeTemplateParmDecl>(parameters.getParam(static_cast<unsigned>(i)));
      if (!parameter || !parameter->getType()->isIntegerType() || parameter->getType()->isBooleanType())
        return fmt::format("it has {} = {}, which is no number", name, other);
      const auto value = integer_of(other, candidate), value_here = integer_of(own, candidate);
      if (!value || !value_here)
        return fmt::format("it has {} = {} where {} is launched here, and not both are constants", name,
                           other, own);
      if (*value == *value_here)
        continue;
      if (argument_of(kernel, now.arguments, i) == own) {
        choice.values[i] = *value;
        continue;
      }
      const auto knob = std::ranges::find(candidate.knobs, name, &Knob::name);
      if (argument_of(kernel, now.arguments, i) != "{" + name + "}" || knob == candidate.knobs.end() ||
          std::ranges::find(knob->values, Value{*value}) == knob->values.end())
        return fmt::format("{} follows another knob, which does not have {}", name, other);
      choice.held[name] = *value;
    }
    if (choice.values.empty())
      return choice.held.empty() ? "its template arguments are the same"
                                 : choice.held.begin()->first + " is a knob already";
    return choice;
  }

  // "TILE_M == 64 && TILE_N == 32", of all knobs.
  static std::string chosen(const std::vector<Knob>& knobs, const std::vector<std::int64_t>& values) {
    std::string text;
    for (std::size_t i = 0; i < knobs.size(); ++i)
      text += fmt::format("{}{} == {}", i > 0 ? " && " : "", knobs[i].name, values[i]);
    return text;
  }

  Proposal proposal_of(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate,
                       const FunctionTemplateDecl& described, std::vector<Choice> choices) const {
    const ProgramLaunch& first = *choices.front().launch;
    std::set<std::size_t> differing;
    for (const Choice& choice : choices)
      for (const auto& [index, value] : choice.values)
        differing.insert(index);
    Proposal proposal;
    KernelView view = view_of(source, kernel, candidate);
    std::vector<std::vector<std::int64_t>> values(
        choices.size()); // of each choice, in the order of the knobs
    for (const std::size_t index : differing) {
      const auto* parameter = cast<NonTypeTemplateParmDecl>(
          described.getTemplateParameters()->getParam(static_cast<unsigned>(index)));
      const std::string own = argument_of(kernel, first.template_arguments, index);
      const std::int64_t default_value = integer_of(own, candidate).value_or(0);
      std::set<std::int64_t> all{default_value};
      std::string launched;
      for (std::size_t i = 0; i < choices.size(); ++i) {
        const auto found = choices[i].values.find(index);
        values[i].push_back(found == choices[i].values.end() ? default_value : found->second);
        all.insert(values[i].back());
        launched += fmt::format("{}{} at {}",
                                i == 0                    ? ""
                                : i + 1 == choices.size() ? " and "
                                                          : ", ",
                                values[i].back(), choices[i].launch->where);
      }
      proposal.knobs.push_back(make_knob(parameter->getNameAsString(), KnobKind::tile,
                                         view.type_text(parameter->getType()), {all.begin(), all.end()},
                                         std::to_string(default_value),
                                         fmt::format("template parameter at {}: the program launches {}",
                                                     view.at_line(parameter->getLocation()), launched)));
    }
    std::vector<LaunchCase> cases;
    for (std::size_t i = 0; i < choices.size(); ++i)
      cases.push_back({chosen(proposal.knobs, values[i]), choices[i].launch->launch});
    proposal.asked_where = cases.front().when;
    add_conditions(source, kernel, candidate, choices, cases, proposal);
    proposal.launch = choose_launch(cases, candidate.launch);
    return proposal;
  }

  // The candidate with one of the program's launches for its own.
  static Candidate as_launched(const Candidate& candidate, const ProgramLaunch& launch) {
    Candidate other = candidate;
    other.launch = launch.launch;
    InstanceName instance = split_instance(candidate.instance);
    instance.arguments.resize(std::max(instance.arguments.size(), launch.template_arguments.size()));
    std::ranges::copy(launch.template_arguments, instance.arguments.begin());
    other.instance = instance.text();
    return other;
  }

  static void add_conditions(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate,
                             const std::vector<Choice>& choices, const std::vector<LaunchCase>& cases,
                             Proposal& proposal) {
    if (proposal.knobs.size() > 1) {
      std::string together;
      for (const LaunchCase& one : cases)
        together += fmt::format("{}({})", together.empty() ? "" : " || ", one.when);
      proposal.conditions.push_back(
          make_condition(together, "template arguments that the program launches together"));
    }
    const Candidate first = as_launched(candidate, *choices.front().launch);
    for (std::size_t i = 1; i < choices.size(); ++i) {
      const ProgramLaunch& launch = *choices[i].launch;
      for (const Expression& need : launch.needs)
        proposal.conditions.push_back(
            make_condition(fmt::format("!({}) || ({})", cases[i].when, need.text()),
                           "the program asks it for the launch at " + launch.where));
      // Of the other knobs, those whose meaning may depend on these numbers.
      for (const Knob& knob : candidate.knobs) {
        const auto held = choices[i].held.find(knob.name);
        const std::string value =
            held == choices[i].held.end() ? knob.default_value.text() : std::to_string(held->second);
        if (knob.kind != KnobKind::unroll && knob.kind != KnobKind::occupancy && knob.kind != KnobKind::cache)
          proposal.conditions.push_back(
              make_condition(fmt::format("!({}) || {} == ({})", cases[i].when, knob.name, value),
                             "the launch at " + launch.where + " is taken as it is"));
      }
      for (const auto& remainders :
           {whole_tiles_of_launches(cases.front().launch, launch.launch),
            whole_tiles_of_kernels(source, kernel, first, as_launched(candidate, launch))})
        for (const std::string& text : remainders)
          proposal.conditions.push_back(
              make_condition(fmt::format("!({}) || {} == 0", cases[i].when, text),
                             "what is left over would be dealt out otherwise than at the default"));
    }
  }
};

} // namespace

std::unique_ptr<Rule> make_adopt_instances() {
  return std::make_unique<AdoptInstances>();
}

} // namespace lathe::refactor
