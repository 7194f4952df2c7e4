#include "tuner/app/options.h"

#include "tuner/device/device.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

constexpr int json_schema_version = 1; // of each entry

nlohmann::json to_json(std::size_t index, const DeviceInfo& device) {
  nlohmann::json json{{"schema", json_schema_version}, {"index", index},
                      {"name", device.name},           {"architecture", device.architecture()},
                      {"uuid", device.uuid},           {"driver", device.driver_version}};
  for (const auto& [name, value] : device.limits())
    json["limits"][name.substr(name.find('.') + 1)] = std::get<std::int64_t>(value);
  return json;
}

} // namespace

int devices_command(const Arguments& arguments) {
  CommandLine line(
      "lathe devices [options]",
      "Lists the NVIDIA GPUs that Lathe can tune on, as CUDA_VISIBLE_DEVICES shows them. Without one it "
      "says why,\nand exits with code 3; the host executor needs none.",
      "lathe devices --json");
  line.options().add_options()("json", "print one JSON array");
  if (const auto code = line.parse(arguments))
    return *code;
  if (!line.positionals.empty())
    return fail(usage_error("lathe devices", "unexpected argument " + line.positionals.front(),
                            "see lathe devices --help"));
  const bool json = line.has("json");
  const Result<std::vector<DeviceInfo>> devices = list_cuda_devices();
  if (!devices.ok()) {
    if (json)
      std::puts("[]");
    return fail(devices.error());
  }
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < devices->size(); ++i) {
    const DeviceInfo& device = (*devices)[i];
    list.push_back(to_json(i, device));
    if (!json)
      std::printf("%zu  %s  %s, %d multiprocessors, %.0f GiB, L2 %.0f MiB, driver %s\n", i,
                  device.name.c_str(), device.architecture().c_str(), device.multiprocessors,
                  static_cast<double>(device.memory_bytes) / (1ull << 30),
                  static_cast<double>(device.l2_bytes) / (1ull << 20), device.driver_version.c_str());
  }
  if (json)
    std::puts(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return 0;
}

} // namespace lathe
