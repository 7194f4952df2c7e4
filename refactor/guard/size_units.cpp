#include "refactor/guard/size_units.h"

#include <algorithm>
#include <array>

namespace lathe::refactor {

std::map<std::string, std::int64_t> size_units(const JudgedPair& subject, const Problem& base,
                                               const std::map<std::string, std::string>& types,
                                               const KnobValues* knobs) {
  constexpr std::array<std::int64_t, 3> MULTIPLES{1, 3, 5};
  const auto is_admitted = [&](const Problem& problem) {
    const auto workload = own_workload(subject.spec, problem, types, subject.device);
    if (!workload)
      return false;
    const auto usual = default_knobs(**workload);
    return usual.ok() && admitted(**workload, *usual) && (!knobs || admitted(**workload, *knobs));
  };
  std::map<std::string, std::int64_t> units;
  if (!is_admitted(base))
    return units;
  for (const auto& [name, size] : base.dimensions) {
    Problem changed = base;
    const auto is_unit = [&](std::int64_t unit) {
      return std::ranges::all_of(MULTIPLES, [&](std::int64_t multiple) {
        changed.dimensions[name] = unit * multiple;
        return is_admitted(changed);
      });
    };
    std::int64_t unit = 1;
    while (2 * unit <= size && !is_unit(unit))
      unit *= 2;
    units[name] = unit;
  }
  return units;
}

} // namespace lathe::refactor
