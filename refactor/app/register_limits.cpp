#include "refactor/app/register_limits.h"

#include "refactor/app/usual_problems.h"
#include "refactor/frontend/standard.h"
#include "tuner/compile/compile.h"
#include "tuner/device/device.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace lathe::refactor {
namespace {

std::optional<std::int64_t> threads_of_block(const Candidate& raw, const DeviceInfo& device,
                                             const Problem& problem) {
  const auto limits = device.limits();
  std::int64_t threads = 1;
  for (const Expression& side : raw.launch.block) {
    const auto value = side.evaluate_integer([&](std::string_view name) -> std::optional<Value> {
      if (const auto size = problem.dimensions.find(std::string(name)); size != problem.dimensions.end())
        return Value{size->second};
      if (const auto limit = limits.find(std::string(name)); limit != limits.end())
        return limit->second;
      return std::nullopt;
    });
    if (!value)
      return std::nullopt;
    threads *= std::clamp<std::int64_t>(*value, 1, 1 << 20);
  }
  return threads;
}

// Of an instance of the raw kernel.
std::optional<KernelResources> resources_of(const Candidate& raw, const std::string& architecture) {
  std::string instance = raw.instance;
  for (const TypeParameter& type : raw.types)
    for (std::size_t at; (at = instance.find("{" + type.name + "}")) != std::string::npos;)
      instance.replace(at, type.name.size() + 2, dtype_cxx(type.dtypes.front()));
  const auto compiled = compile_kernel(raw.text, instance, {standard_option(raw.text)}, architecture);
  if (!compiled.ok())
    return std::nullopt;
  return compiled->resources;
}

} // namespace

std::int64_t most_threads_by_registers(std::int64_t registers_of_thread, const DeviceInfo& device) {
  const std::int64_t unit = device.register_allocation_unit;
  const std::int64_t of_warp = (registers_of_thread * device.warp_size + unit - 1) / unit * unit;
  return device.registers_per_block / of_warp * device.warp_size;
}

void fit_to_registers(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                      std::vector<std::string>& notes) {
  std::vector<std::string> followed;
  for (const Expression& side : raw.launch.block)
    for (const std::string& name : side.names())
      if (std::ranges::find(raw.dimensions, name) != raw.dimensions.end())
        followed.push_back(name);
  const auto device = known_device(architecture);
  if (followed.empty() || !device.ok())
    return;
  const auto resources = resources_of(raw, architecture);
  if (!resources || resources->registers == 0)
    return;
  const std::int64_t by_registers = most_threads_by_registers(resources->registers, *device);
  const std::int64_t most = std::min<std::int64_t>(by_registers, resources->max_threads);
  bool is_smaller = false;
  for (Problem& problem : problems)
    for (auto threads = threads_of_block(raw, *device, problem);
         threads && *threads > most && halve_largest(problem, followed);
         threads = threads_of_block(raw, *device, problem))
      is_smaller = true;
  if (!is_smaller)
    return;
  notes.push_back(
      most == by_registers
          ? fmt::format("sizes at which a block asks for more registers than {} has are halved until "
                        "it does not: a thread has {}",
                        architecture, resources->registers)
          : fmt::format("sizes at which a block has more threads than the kernel's launch bounds admit "
                        "are halved until it does not: {}",
                        most));
}

} // namespace lathe::refactor
