#include "tuner/app/command.h"

#include "tuner/device/device.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

constexpr const char* HELP = R"(usage: lathe devices [--json]

Lists the NVIDIA GPUs that Lathe can tune on, as CUDA_VISIBLE_DEVICES shows them. Without one it says why, and exits
with code 3; the host executor needs none.

  --json   one JSON array on standard output

example: lathe devices --json
)";

nlohmann::json to_json(std::size_t index, const DeviceInfo& device) {
  nlohmann::json json{{"index", index},
                      {"name", device.name},
                      {"architecture", device.architecture()},
                      {"uuid", device.uuid},
                      {"driver", device.driver_version}};
  for (const auto& [name, value] : device.limits())
    json["limits"][name.substr(name.find('.') + 1)] = std::get<std::int64_t>(value);
  return json;
}

} // namespace

int devices_command(const Arguments& arguments) {
  bool json = false;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::fputs(HELP, stdout);
      return 0;
    }
    if (argument != "--json")
      return fail(usage_error("lathe devices", "unknown argument " + argument, "see lathe devices --help"));
    json = true;
  }
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
