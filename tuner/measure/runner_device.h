// The runner's device: context, modules, launches with a deadline. Used only inside the runner process.
#pragma once

#include "tuner/device/driver.h"
#include "tuner/device/nvml.h"
#include "tuner/measure/cuda_protocol.h"

#include <chrono>
#include <deque>
#include <span>

namespace lathe {

// How a piece of device work ended. A context that is lost accepts no more work: the process must be
// replaced.
struct DeviceStatus {
  Outcome outcome = Outcome::ok;
  std::string reason;
  bool context_lost = false;
  bool differs = false; // of a wrong result: from the reference
  bool ok() const { return outcome == Outcome::ok; }
};

class RunnerDevice {
public:
  using Clock = std::chrono::steady_clock;

  // Retains the primary context of visible device `index`.
  static Result<std::unique_ptr<RunnerDevice>> open(int index);
  ~RunnerDevice();

  const CudaDriver& cuda() const { return *cuda_; }
  CUstream stream() const { return stream_; }
  CUcontext context() const { return context_; }
  int index() const { return index_; }
  ClockReading clocks() const { return nvml_ ? nvml_->read(pci_bus_id_) : ClockReading{}; }
  std::uint64_t l2_bytes() const { return l2_bytes_; }
  int multiprocessors() const { return multiprocessors_; }
  double clock_hz() const { return clock_hz_; }
  std::uint64_t free_bytes() const;

  // A failure of a call that is no kernel's fault, or of a kernel if the code is sticky.
  DeviceStatus status_of(CUresult code, const char* action) const;

  // The function with its right to dynamic shared memory set. The last few modules are kept.
  DeviceStatus load(const RunnerKernel& kernel, CUfunction& function);
  DeviceStatus launch(CUfunction function, const Launch& launch, std::span<void*> arguments) const;
  // Waits for everything on the stream. A hang is Outcome::timeout, and the context counts as lost.
  DeviceStatus wait(double limit_s) const;

private:
  RunnerDevice() = default;
  const CudaDriver* cuda_ = nullptr;
  std::shared_ptr<const Nvml> nvml_;
  int index_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::string pci_bus_id_;
  std::uint64_t l2_bytes_ = 0;
  int multiprocessors_ = 1;
  double clock_hz_ = 0;
  std::deque<std::pair<std::string, CUmodule>> modules_; // by hash, least recently used first
};

// Device memory that is freed with the object.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept
      : cuda_(other.cuda_), address_(std::exchange(other.address_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(cuda_, other.cuda_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~DeviceMemory() {
    if (address_)
      cuda_->cuMemFree(address_);
  }
  CUresult allocate(const CudaDriver& cuda, std::uint64_t bytes) {
    cuda_ = &cuda;
    return cuda.cuMemAlloc(&address_, bytes);
  }
  CUdeviceptr address() const { return address_; }

private:
  const CudaDriver* cuda_ = nullptr;
  CUdeviceptr address_ = 0;
};

} // namespace lathe
