#include "tuner/emit/winning_table.h"
#include "tuner/emit/emit.h"

#include <algorithm>

namespace lathe {

bool is_gain(const Comparison& comparison) {
  return comparison.ratio_low > 1 && comparison.ratio - 1 > comparison.noise_band;
}

bool is_wide_gain(const Comparison& comparison) {
  constexpr double kept_elsewhere = 1 / 1.2; // rounded down from what was measured
  return is_gain(comparison) && comparison.ratio_low * kept_elsewhere >= 1;
}

Result<WinningTable> winning_table(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                                   bool allow_host) {
  WinningTable table;
  // Every choice of types gets a launch(): without rows of its own it runs the raw kernel.
  table.types.push_back({});
  for (const TypeParameter& parameter : spec.types) {
    std::vector<Types> extended;
    for (const Types& choice : table.types)
      for (const std::string& dtype : parameter.dtypes) {
        extended.push_back(choice);
        extended.back()[parameter.name] = dtype;
      }
    table.types = std::move(extended);
  }
  for (const StoredWinner& winner : winners) {
    if (winner.is_host && !allow_host)
      continue;
    const bool gain = is_gain(winner.comparison);
    // Report-only problems never choose a configuration; they may only keep one from being used.
    if (winner.problem.role == ProblemRole::report && gain)
      continue;
    const std::pair device(winner.key.device, winner.architecture);
    const auto known_device_row = std::find(table.devices.begin(), table.devices.end(), device);
    const std::size_t device_index = static_cast<std::size_t>(known_device_row - table.devices.begin());
    if (known_device_row == table.devices.end())
      table.devices.push_back(device);
    const auto known_types = std::find(table.types.begin(), table.types.end(), winner.types);
    const std::size_t types_index = static_cast<std::size_t>(known_types - table.types.begin());
    if (known_types == table.types.end())
      table.types.push_back(winner.types);
    TableRow row{device_index, types_index, winner.problem, -1, &winner};
    if (gain) {
      LATHE_TRY(const Workload workload, bind_workload(spec, winner.problem, winner.types, {}));
      LATHE_TRY(const std::string instance, bind_instance(spec.kernel, workload, winner.knobs));
      const auto same = std::find_if(table.configurations.begin(), table.configurations.end(),
                                     [&](const TableConfiguration& c) {
                                       return c.types == winner.types && c.knobs == winner.knobs &&
                                              c.architecture == winner.architecture && c.instance == instance;
                                     });
      row.configuration = static_cast<int>(same - table.configurations.begin());
      if (same == table.configurations.end())
        table.configurations.push_back(
            {winner.types, winner.knobs, winner.architecture, winner.problem, instance});
    }
    table.rows.push_back(row);
  }
  if (table.rows.empty())
    return Error{"cannot export " + spec.name,
                 "every result in the store is a host-executor result, not a GPU's",
                 "tune on a GPU, or give --allow-host to write them all the same"};
  return table;
}

std::string device_used_on(const std::string& device, const std::string& architecture, const TuningSpec& spec,
                           const std::vector<StoredWinner>& winners, bool allow_host) {
  const auto table = winning_table(spec, winners, allow_host);
  if (!table.ok())
    return "";
  // As current_device() of the header does it (dispatch.cpp).
  for (const auto& [name, its_architecture] : table->devices)
    if (name == device)
      return name;
  for (const auto& [name, its_architecture] : table->devices)
    if (its_architecture == architecture)
      return name;
  return "";
}

} // namespace lathe
