// Clocks and throttling, read through NVML and never set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

struct ClockReading {
  int sm_mhz = 0, memory_mhz = 0;
  std::uint64_t throttle_reasons = 0; // NVML's nvmlClocksEventReason bits
  bool available = false;
  // Thermal slowdown, power brake or hardware slowdown: a sample taken then says nothing about the kernel.
  bool slowed_down() const { return (throttle_reasons & (0x08 | 0x20 | 0x40 | 0x80)) != 0; }
  // "software power cap, thermal slowdown", or empty.
  std::string reasons() const;
};

// A process that computes on a GPU.
struct GpuProcess {
  unsigned pid = 0;
  std::uint64_t memory_bytes = 0; // 0: not known
};

class Nvml {
public:
  // Opens libnvidia-ml.so.1; a null pointer where it is not there.
  static std::shared_ptr<const Nvml> open();
  ~Nvml();
  std::string driver_version() const; // "580.95.05"; empty when unknown
  // Of the device with this PCI bus id ("0000:3b:00.0"); not available when NVML does not know it.
  ClockReading read(const std::string& pci_bus_id) const;
  // Compute processes on the device, of every user; nothing where NVML does not tell.
  std::optional<std::vector<GpuProcess>> processes(const std::string& pci_bus_id) const;

private:
  Nvml() = default;
  struct Functions;
  std::unique_ptr<Functions> functions_;
};

} // namespace lathe
