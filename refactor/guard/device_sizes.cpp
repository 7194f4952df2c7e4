#include "refactor/guard/device_sizes.h"

#include "refactor/guard/shapes.h"

#include <algorithm>
#include <map>

namespace lathe::refactor {
namespace {

void add(std::vector<KnobValues>& configurations, const KnobValues& knobs) {
  if (std::ranges::find(configurations, knobs) == configurations.end())
    configurations.push_back(knobs);
}

} // namespace

std::string DeviceSize::text(const KnobValues& knobs) const {
  const auto bound = bind_configuration(workload, knobs);
  return bound.ok() ? bound->text() : workload->key();
}

std::vector<DeviceSize> boundary_sizes(const JudgedPair& subject, const std::vector<Configuration>& ran,
                                       const DeviceInfo& device) {
  std::vector<DeviceSize> sizes;
  std::map<std::string, std::size_t> place; // in `sizes`, by the workload's key, which names the types
  for (const Configuration& configuration : ran) {
    const std::string key = configuration.workload->key();
    if (!place.contains(key)) {
      auto workload =
          own_workload(subject.spec, configuration.workload->problem, configuration.workload->types, device);
      if (!workload) // it was bound before: only the device's limits can stand against it
        continue;
      place[key] = sizes.size();
      sizes.push_back({std::move(*workload), {}, false});
    }
    DeviceSize& size = sizes[place[key]];
    if (admitted(*size.workload, configuration.knobs))
      add(size.configurations, configuration.knobs);
  }
  std::erase_if(sizes, [](const DeviceSize& size) { return size.configurations.empty(); });
  return sizes;
}

std::vector<DeviceSize> problem_sizes(const JudgedPair& subject, const DeviceInfo& device) {
  std::vector<DeviceSize> sizes;
  for (const std::map<std::string, std::string>& types : subject.type_choices)
    for (const Problem& problem : problems_of(subject.spec)) {
      auto workload = own_workload(subject.spec, problem, types, device);
      if (!workload)
        continue;
      DeviceSize size{std::move(*workload), {}, true};
      if (const auto defaults = default_knobs(*size.workload);
          defaults.ok() && admitted(*size.workload, *defaults))
        add(size.configurations, *defaults);
      for (const Configuration& configuration : subject.sampled)
        if (configuration.workload->types == types && admitted(*size.workload, configuration.knobs))
          add(size.configurations, configuration.knobs);
      if (!size.configurations.empty())
        sizes.push_back(std::move(size));
    }
  std::ranges::stable_sort(sizes, {}, [](const DeviceSize& size) { return bytes_of(*size.workload); });
  return sizes;
}

} // namespace lathe::refactor
