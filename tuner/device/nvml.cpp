#include "tuner/device/nvml.h"

#include <dlfcn.h>

namespace lathe {

// NVML's C interface (nvml.h of the driver), of which these are all that is used; the toolkit's packages need
// not have its header.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*handle)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*processes)(void*, unsigned*, void*) = nullptr; // null in drivers that lack it
};

namespace {
constexpr int NVML_SUCCESS_CODE = 0, CLOCK_OF_SM = 1, CLOCK_OF_MEMORY = 2;

// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
} // namespace

std::string ClockReading::reasons() const {
  static constexpr struct {
    std::uint64_t bit;
    const char* name;
  } NAMES[] = {{0x02, "application clocks"},        {0x04, "software power cap"},
               {0x08, "hardware slowdown"},         {0x10, "sync boost"},
               {0x20, "software thermal slowdown"}, {0x40, "hardware thermal slowdown"},
               {0x80, "hardware power brake"},      {0x100, "display clocks"}};
  std::string text;
  for (const auto& [bit, name] : NAMES)
    if (throttle_reasons & bit)
      text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::shared_ptr<const Nvml> Nvml::open() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return nullptr;
  auto functions = std::make_unique<Functions>();
  const auto bind = [&](auto& target, const char* name) {
    target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(::dlsym(library, name));
    return target != nullptr;
  };
  if (!bind(functions->init, "nvmlInit_v2") || !bind(functions->shutdown, "nvmlShutdown") ||
      !bind(functions->driver_version, "nvmlSystemGetDriverVersion") ||
      !bind(functions->handle, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !bind(functions->clock, "nvmlDeviceGetClockInfo") ||
      !(bind(functions->reasons, "nvmlDeviceGetCurrentClocksEventReasons") ||
        bind(functions->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons")) ||
      functions->init() != NVML_SUCCESS_CODE)
    return nullptr;
  bind(functions->processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  std::shared_ptr<Nvml> nvml(new Nvml());
  nvml->functions_ = std::move(functions);
  return nvml;
}

Nvml::~Nvml() {
  if (functions_)
    functions_->shutdown();
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  return functions_->driver_version(text, sizeof text) == NVML_SUCCESS_CODE ? text : "";
}

ClockReading Nvml::read(const std::string& pci_bus_id) const {
  ClockReading reading;
  void* device = nullptr;
  if (functions_->handle(pci_bus_id.c_str(), &device) != NVML_SUCCESS_CODE)
    return reading;
  unsigned sm = 0, memory = 0;
  unsigned long long reasons = 0;
  reading.available = functions_->clock(device, CLOCK_OF_SM, &sm) == NVML_SUCCESS_CODE &&
                      functions_->clock(device, CLOCK_OF_MEMORY, &memory) == NVML_SUCCESS_CODE;
  if (functions_->reasons(device, &reasons) == NVML_SUCCESS_CODE)
    reading.throttle_reasons = reasons;
  reading.sm_mhz = static_cast<int>(sm);
  reading.memory_mhz = static_cast<int>(memory);
  return reading;
}

std::optional<std::vector<GpuProcess>> Nvml::processes(const std::string& pci_bus_id) const {
  constexpr unsigned most = 256;
  void* device = nullptr;
  if (!functions_->processes || functions_->handle(pci_bus_id.c_str(), &device) != NVML_SUCCESS_CODE)
    return std::nullopt;
  std::vector<ProcessInfo> found(most);
  unsigned count = most;
  if (functions_->processes(device, &count, found.data()) != NVML_SUCCESS_CODE)
    return std::nullopt;
  std::vector<GpuProcess> list;
  for (unsigned i = 0; i < count && i < most; ++i)
    list.push_back({found[i].pid, found[i].memory == ~0ull ? 0 : found[i].memory});
  return list;
}

} // namespace lathe
