// adopt-template-parameter: an integer template parameter that the kernel has already becomes a knob.
#include "refactor/rewrite/constant_knob.h"
#include "refactor/rewrite/tile_knob.h"

#include <clang/AST/DeclTemplate.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

class AdoptTemplateParameter : public Rule {
public:
  // `tiles`: the parameters by which blocks or loops cover the work, instead of threads and packs.
  explicit AdoptTemplateParameter(bool tiles) : tiles_(tiles) {}
  std::string_view name() const override { return tiles_ ? "adopt-tile" : "adopt-template-parameter"; }
  std::string_view summary() const override {
    return tiles_ ? "takes template parameters by which blocks or loops cover the work as knobs"
                  : "takes integer template parameters that the kernel has already as knobs";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    const FunctionTemplateDecl* described =
        kernel.declaration ? kernel.declaration->getDescribedFunctionTemplate() : nullptr;
    if (!described)
      return Refusal{"the kernel has no template parameters"};
    const InstanceName instance = split_instance(candidate.instance);
    Proposal all;
    Candidate current = candidate;
    std::string reasons;
    const auto note = [&](const std::string& reason) { reasons += (reasons.empty() ? "" : "; ") + reason; };
    // Those whose value is a constant, before any is looked at: conditions on one may name another.
    std::map<std::string, std::string> values;
    std::vector<const NonTypeTemplateParmDecl*> found;
    const TemplateParameterList* parameters = described->getTemplateParameters();
    for (unsigned i = 0; i < parameters->size(); ++i) {
      const auto* parameter = dyn_cast<NonTypeTemplateParmDecl>(parameters->getParam(i));
      if (!parameter || !parameter->getType()->isIntegralOrEnumerationType() ||
          parameter->getType()->isBooleanType())
        continue;
      const std::string name = parameter->getNameAsString();
      std::string argument = i < instance.arguments.size() ? instance.arguments[i] : "";
      if (argument.empty() && i < kernel.template_parameters.size())
        argument = kernel.template_parameters[i].default_argument;
      if (argument == "{" + name + "}" && std::any_of(candidate.knobs.begin(), candidate.knobs.end(),
                                                      [&](const Knob& k) { return k.name == name; }))
        continue;
      const auto value = to_expression(argument, candidate);
      if (!value) {
        note(name + ": the value in use, '" + argument + "', is not a constant");
        continue;
      }
      values[name] = *value;
      found.push_back(parameter);
    }
    for (const NonTypeTemplateParmDecl* parameter : found) {
      const std::string name = parameter->getNameAsString(), value = values.at(name);
      const Expression expression = make_expression(value);
      const bool of_problem =
          std::any_of(expression.names().begin(), expression.names().end(),
                      [](const std::string& mentioned) { return mentioned.rfind("sizeof_", 0) != 0; });
      if (of_problem) {
        note(name + " is a size of the problem: the data's layout depends on it");
        continue;
      }
      KernelView view = view_of(source, kernel, candidate);
      const ConstantUnderStudy constant{parameter,
                                        name,
                                        view.type_text(parameter->getType()),
                                        value,
                                        "template parameter at " + view.at_line(parameter->getLocation()),
                                        {found.begin(), found.end()}};
      auto studied = tiles_ ? study_tile(source, kernel, current, constant)
                            : study_constant(source, kernel, current, constant);
      if (const auto* reason = std::get_if<std::string>(&studied)) {
        note(*reason);
        continue;
      }
      Proposal& proposal = std::get<Proposal>(studied);
      all.edits.insert(all.edits.end(), proposal.edits.begin(), proposal.edits.end());
      all.knobs.insert(all.knobs.end(), proposal.knobs.begin(), proposal.knobs.end());
      all.conditions.insert(all.conditions.end(), proposal.conditions.begin(), proposal.conditions.end());
      if (proposal.launch)
        current.launch = *proposal.launch;
    }
    if (all.knobs.empty())
      return Refusal{reasons.empty() ? "no integer template parameter is free to change" : reasons};
    all.launch = current.launch;
    // Conditions may name constants besides, which no rule behind this one makes knobs of.
    if (tiles_)
      values.merge(values_of_constants(KernelView(source, kernel)));
    settle_names(candidate, values, all);
    return all;
  }

private:
  bool tiles_;
};

} // namespace

std::unique_ptr<Rule> make_adopt_template_parameter() {
  return std::make_unique<AdoptTemplateParameter>(false);
}

std::unique_ptr<Rule> make_adopt_tile() {
  return std::make_unique<AdoptTemplateParameter>(true);
}

} // namespace lathe::refactor
