#include "refactor/guard/size_units.h"

#include <algorithm>
#include <array>
#include <vector>

namespace lathe::refactor {
namespace {

// In their order; the last is the size.
std::vector<std::int64_t> divisors_of(std::int64_t size) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t divisor = 1; divisor <= size / divisor; ++divisor)
    if (size % divisor == 0) {
      small.push_back(divisor);
      if (divisor != size / divisor)
        large.push_back(size / divisor);
    }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

} // namespace

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
    if (size < 1)
      continue;
    const std::vector<std::int64_t> divisors = divisors_of(size);
    const auto unit = std::ranges::find_if(divisors, is_unit);
    units[name] = unit == divisors.end() ? size : *unit;
  }
  return units;
}

} // namespace lathe::refactor
