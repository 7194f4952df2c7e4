#include "tuner/measure/runner_device.h"

#include <algorithm>
#include <array>
#include <thread>

namespace lathe {
namespace {

constexpr std::size_t KEPT_MODULES = 8;

// What a launch may answer without harm to the context: the configuration does not fit.
bool is_refusal(CUresult code) {
  return code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ||
         code == CUDA_ERROR_OUT_OF_MEMORY || code == CUDA_ERROR_INVALID_IMAGE ||
         code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_NOT_FOUND ||
         code == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE || code == CUDA_ERROR_NOT_SUPPORTED;
}

} // namespace

Result<std::unique_ptr<RunnerDevice>> RunnerDevice::open(int index) {
  LATHE_TRY(const CudaDriver* cuda, CudaDriver::load());
  std::unique_ptr<RunnerDevice> device(new RunnerDevice());
  device->cuda_ = cuda;
  device->index_ = index;
  const auto failed = [&](const char* what, CUresult code) {
    return Error{std::string("cannot ") + what, cuda->describe(code), "check nvidia-smi"};
  };
  if (const CUresult code = cuda->cuDeviceGet(&device->device_, index))
    return failed("open the GPU", code);
  if (const CUresult code = cuda->cuDevicePrimaryCtxRetain(&device->context_, device->device_))
    return failed("create a context on the GPU", code);
  if (const CUresult code = cuda->cuCtxSetCurrent(device->context_))
    return failed("use the context on the GPU", code);
  if (const CUresult code = cuda->cuStreamCreate(&device->stream_, CU_STREAM_NON_BLOCKING))
    return failed("create a stream on the GPU", code);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    cuda->cuDeviceGetAttribute(&value, which, device->device_);
    return value;
  };
  device->l2_bytes_ = static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  device->multiprocessors_ = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  device->clock_hz_ = 1000.0 * attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  std::array<char, 64> bus{};
  cuda->cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device->device_);
  device->pci_bus_id_ = bus.data();
  device->nvml_ = Nvml::open();
  return device;
}

RunnerDevice::~RunnerDevice() {
  if (context_)
    cuda_->cuDevicePrimaryCtxRelease(device_);
}

std::uint64_t RunnerDevice::free_bytes() const {
  std::size_t free = 0, total = 0;
  cuda_->cuMemGetInfo(&free, &total);
  return free;
}

DeviceStatus RunnerDevice::status_of(CUresult code, const char* action) const {
  if (code == CUDA_SUCCESS)
    return {};
  DeviceStatus status;
  status.outcome = is_refusal(code) ? Outcome::resource_limit : Outcome::runtime_error;
  status.context_lost = !is_refusal(code);
  status.reason = std::string(action) + ": " + cuda_->describe(code);
  return status;
}

DeviceStatus RunnerDevice::load(const RunnerKernel& kernel, CUfunction& function) {
  CUmodule module = nullptr;
  if (const auto kept = std::find_if(modules_.begin(), modules_.end(),
                                     [&](const auto& one) { return one.first == kernel.cubin_hash; });
      kept != modules_.end()) {
    // To the end: what is in use must not be the next to go.
    std::rotate(kept, kept + 1, modules_.end());
    module = modules_.back().second;
  } else {
    if (const CUresult code = cuda_->cuModuleLoadData(&module, kernel.cubin.data()))
      return status_of(code, "loading the kernel failed");
    modules_.emplace_back(kernel.cubin_hash, module);
    if (modules_.size() > KEPT_MODULES) {
      cuda_->cuModuleUnload(modules_.front().second);
      modules_.pop_front();
    }
  }
  if (const CUresult code = cuda_->cuModuleGetFunction(&function, module, kernel.entry.c_str()))
    return status_of(code, "loading the kernel failed");
  if (kernel.launch.shared_bytes > 0)
    if (const CUresult code =
            cuda_->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(kernel.launch.shared_bytes)))
      return status_of(code, "asking for dynamic shared memory failed");
  return {};
}

DeviceStatus RunnerDevice::launch(CUfunction function, const Launch& launch,
                                  std::span<void*> arguments) const {
  return status_of(cuda_->cuLaunchKernel(function, launch.grid[0], launch.grid[1], launch.grid[2],
                                         launch.block[0], launch.block[1], launch.block[2],
                                         launch.shared_bytes, stream_, arguments.data(), nullptr),
                   "the launch failed");
}

DeviceStatus RunnerDevice::wait(double limit_s) const {
  const Clock::time_point start = Clock::now();
  for (;;) {
    const CUresult code = cuda_->cuStreamQuery(stream_);
    if (code == CUDA_SUCCESS)
      return {};
    if (code != CUDA_ERROR_NOT_READY) {
      DeviceStatus status = status_of(code, "the kernel failed");
      status.outcome = Outcome::runtime_error; // whatever the code: the kernel ran
      status.context_lost = true;
      return status;
    }
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (waited > limit_s) {
      DeviceStatus status;
      status.outcome = Outcome::timeout;
      status.context_lost = true;
      char text[80];
      std::snprintf(text, sizeof text, "the kernel did not end within %.3g s", limit_s);
      status.reason = text;
      return status;
    }
    if (waited > 0.002) // most work is over in microseconds; a hang should not burn a core
      std::this_thread::sleep_for(std::chrono::microseconds(waited > 0.1 ? 1000 : 50));
  }
}

} // namespace lathe
