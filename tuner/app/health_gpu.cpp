#include "tuner/app/health.h"

#include "tuner/base/files.h"
#include "tuner/compile/compile.h"
#include "tuner/device/device.h"
#include "tuner/device/driver.h"
#include "tuner/device/nvml.h"

#include <array>
#include <charconv>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace lathe {
namespace {

constexpr const char* use_host = "or tune on the host executor, whose times are not GPU times";

// What follows `name` in a file of "name: value" lines.
std::string field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos)
    return {};
  std::string_view rest = text.substr(at + name.size());
  rest = rest.substr(0, rest.find('\n'));
  const std::size_t begin = rest.find_first_not_of(": \t");
  return begin == std::string_view::npos ? std::string() : std::string(rest.substr(begin));
}

std::string pci_bus_id(const CudaDriver& driver, int index) {
  std::array<char, 32> text{};
  CUdevice device = 0;
  if (driver.cuDeviceGet(&device, index) != CUDA_SUCCESS ||
      driver.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device) != CUDA_SUCCESS)
    return {};
  return text.data();
}

HealthLine clocks(const Nvml& nvml, const std::string& name, const std::string& bus) {
  const ClockReading reading = nvml.read(bus);
  if (!reading.available)
    return {name, Health::warn, "NVML does not tell the clocks", "times are taken, but slow-downs go unseen"};
  const std::string now = fmt::format("SM {} MHz, memory {} MHz", reading.sm_mhz, reading.memory_mhz);
  if (reading.slowed_down())
    return {name, Health::warn, now + ", slowed down: " + reading.reasons(),
            "wait until it has cooled down, or see to its power supply: times taken now say little"};
  const std::string reasons = reading.reasons();
  return {name, Health::ok, now + (reasons.empty() ? "" : ", held by " + reasons), ""};
}

std::string program_of(unsigned pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/comm");
  return text.ok() ? text->substr(0, text->find('\n')) : "not visible from here";
}

HealthLine others(const Nvml& nvml, const std::string& name, const std::string& bus) {
  const auto processes = nvml.processes(bus);
  if (!processes)
    return {name, Health::warn, "NVML does not tell which processes use it", "see nvidia-smi"};
  if (processes->empty())
    return {name, Health::ok, "no other process computes on it", ""};
  std::string list;
  for (const GpuProcess& process : *processes)
    list += fmt::format("{}{} ({}, {} MiB)", list.empty() ? "" : ", ", process.pid, program_of(process.pid),
                        process.memory_bytes >> 20);
  return {name, Health::warn, fmt::format("{} other processes: {}", processes->size(), list),
          "end them, or expect wide noise bands"};
}

HealthLine cupti() {
  constexpr const char* library = "libcupti.so.13";
  std::vector<std::filesystem::path> places{library};
  if (const auto toolkit = find_cuda_toolkit(); toolkit.ok()) {
    const std::filesystem::path folder = toolkit->nvrtc.parent_path();
    for (const char* relative : {".", "../extras/CUPTI/lib64", "../../../extras/CUPTI/lib64"})
      places.push_back(folder / relative / library);
  }
  for (const std::filesystem::path& place : places)
    if (void* opened = ::dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      ::dlclose(opened);
      return {"CUPTI", Health::ok, place.string(), ""};
    }
  return {"CUPTI", Health::warn, "libcupti.so.13 was not found",
          "install the toolkit's CUPTI to profile; tuning does not need it"};
}

} // namespace

std::string_view to_string(Health health) {
  return health == Health::ok ? "ok" : health == Health::warn ? "warn" : "fail";
}

HealthLine profiling_permission(std::string_view driver_parameters, std::string_view capabilities) {
  constexpr const char* name = "profiling permission";
  constexpr int admin = 21; // CAP_SYS_ADMIN
  const std::string restricted = field(driver_parameters, "RmProfilingAdminOnly");
  if (restricted.empty())
    return {name, Health::warn, "the driver does not say who may read performance counters",
            "try lathe tune; it says when profiling is refused"};
  if (restricted.starts_with('0'))
    return {name, Health::ok, "every user may read performance counters", ""};
  std::uint64_t held = 0;
  std::from_chars(capabilities.data(), capabilities.data() + capabilities.size(), held, 16);
  if ((held >> admin & 1) != 0)
    return {name, Health::ok, "only administrators may read performance counters, and this process is one",
            ""};
  return {
      name, Health::warn, "only administrators may read performance counters (RmProfilingAdminOnly: 1)",
      "put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/lathe-profiling.conf, "
      "update the initial RAM disk and start again; or profile as root, or with CAP_SYS_ADMIN in a "
      "container"};
}

std::vector<HealthLine> gpu_health() {
  std::vector<HealthLine> lines;
  const auto driver = CudaDriver::load();
  if (!driver.ok()) {
    lines.push_back({"driver", Health::warn, driver.error().why, driver.error().remedy});
  } else {
    lines.push_back(
        {"driver", Health::ok,
         fmt::format("supports CUDA {}.{}", (*driver)->version / 1000, (*driver)->version % 1000 / 10), ""});
  }
  const auto devices = list_cuda_devices();
  const auto nvml = Nvml::open();
  if (nvml)
    lines.push_back({"NVML", Health::ok, "driver " + nvml->driver_version(), ""});
  else
    lines.push_back({"NVML", Health::warn, "libnvidia-ml.so.1 was not found or does not start",
                     "it comes with the driver; in a container, ask for the utility capability"});
  if (!devices.ok()) {
    lines.push_back(
        {"GPU", Health::warn, "none can be used", std::string("see the driver above, ") + use_host});
  } else {
    for (std::size_t i = 0; i < devices->size(); ++i) {
      const DeviceInfo& device = (*devices)[i];
      const std::string name = fmt::format("GPU {}", i);
      const bool known = known_device(device.architecture()).ok();
      lines.push_back({name, known ? Health::ok : Health::warn,
                       fmt::format("{}, {}, {} multiprocessors", device.name, device.architecture(),
                                   device.multiprocessors),
                       known ? "" : "CUDA 13 may not compile for this architecture"});
      const std::string bus = pci_bus_id(**driver, static_cast<int>(i));
      if (nvml && !bus.empty()) {
        lines.push_back(clocks(*nvml, name + " clocks", bus));
        lines.push_back(others(*nvml, name + " processes", bus));
      }
    }
  }
  lines.push_back(cupti());
  if (const auto parameters = read_file("/proc/driver/nvidia/params"); parameters.ok()) {
    const auto status = read_file("/proc/self/status");
    lines.push_back(profiling_permission(*parameters, status.ok() ? field(*status, "CapEff") : ""));
  } else if (devices.ok()) {
    lines.push_back(profiling_permission("", ""));
  }
  return lines;
}

} // namespace lathe
