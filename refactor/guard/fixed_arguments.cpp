#include "refactor/guard/fixed_arguments.h"

#include "refactor/guard/subject.h"

namespace lathe::refactor {

FixedArguments fixed_arguments(const Configuration& configuration) {
  FixedArguments fixed;
  const TuningSpec& spec = *configuration.workload->spec;
  const auto value_of = [&](std::string_view name) { return configuration.workload->lookup(name); };
  for (std::size_t k = 0; k < configuration.knobs.size(); ++k) {
    const Knob& knob = spec.knobs[k];
    if (!fixes_size(knob, configuration.knobs[k]))
      continue;
    const auto size = knob.size->evaluate_integer(value_of);
    for (std::size_t i = 0; size.ok() && i < spec.arguments.size(); ++i)
      if (!spec.arguments[i].is_buffer && spec.arguments[i].value.text() == knob.size->text())
        fixed[static_cast<int>(i)] = *size;
  }
  return fixed;
}

} // namespace lathe::refactor
