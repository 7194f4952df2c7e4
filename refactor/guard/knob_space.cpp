#include "refactor/guard/knob_space.h"

#include <algorithm>

namespace lathe::refactor {

Result<Space> knob_space(const TuningSpec& spec, const Workload& workload,
                         const std::vector<Expression>& more_conditions) {
  std::vector<Parameter> parameters;
  const auto defaults = default_knobs(workload);
  for (std::size_t i = 0; i < spec.knobs.size(); ++i) {
    Parameter parameter{spec.knobs[i].name, spec.knobs[i].values};
    if (defaults &&
        std::find(parameter.values.begin(), parameter.values.end(), (*defaults)[i]) == parameter.values.end())
      parameter.values.push_back((*defaults)[i]);
    parameters.push_back(std::move(parameter));
  }
  std::vector<Expression> conditions;
  for (const Condition& condition : spec.conditions)
    conditions.push_back(condition.expression);
  conditions.insert(conditions.end(), more_conditions.begin(), more_conditions.end());
  return Space::build(std::move(parameters), conditions,
                      [&](std::string_view name) { return workload.lookup(name); });
}

bool deals_out_work(const Knob& knob) {
  return knob.kind != KnobKind::unroll && knob.kind != KnobKind::occupancy && knob.kind != KnobKind::cache &&
         knob.kind != KnobKind::size;
}

} // namespace lathe::refactor
