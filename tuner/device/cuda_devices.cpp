#include "tuner/device/device.h"
#include "tuner/device/driver.h"
#include "tuner/device/nvml.h"

#include <array>

namespace lathe {
namespace {

std::string uuid_text(const CUuuid& uuid) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace

Result<std::vector<DeviceInfo>> list_cuda_devices() {
  LATHE_TRY(const CudaDriver* driver, CudaDriver::load());
  int count = 0;
  if (const CUresult status = driver->cuDeviceGetCount(&count); status != CUDA_SUCCESS || count == 0)
    return Error{"no NVIDIA GPU can be used",
                 status == CUDA_SUCCESS ? "the NVIDIA driver shows no device" : driver->describe(status),
                 "check nvidia-smi and CUDA_VISIBLE_DEVICES", Failure::no_device};
  std::string version;
  if (const std::shared_ptr<const Nvml> nvml = Nvml::open())
    version = nvml->driver_version();
  if (version.empty())
    version =
        "CUDA " + std::to_string(driver->version / 1000) + "." + std::to_string(driver->version % 1000 / 10);

  std::vector<DeviceInfo> devices;
  for (int index = 0; index < count; ++index) {
    CUdevice handle = 0;
    if (const CUresult status = driver->cuDeviceGet(&handle, index); status != CUDA_SUCCESS)
      return Error{"cannot open device " + std::to_string(index), driver->describe(status),
                   "check nvidia-smi"};
    const auto attribute = [&](CUdevice_attribute which) {
      int value = 0;
      driver->cuDeviceGetAttribute(&value, which, handle);
      return value;
    };
    DeviceInfo device;
    std::array<char, 256> name{};
    driver->cuDeviceGetName(name.data(), static_cast<int>(name.size()), handle);
    device.name = name.data();
    device.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    device.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    device.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    device.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    device.max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    device.max_blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    device.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    device.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    device.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    device.shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    device.shared_per_block_optin = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    device.shared_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    device.shared_reserved_per_block = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    device.l2_bytes = static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    std::size_t memory = 0;
    driver->cuDeviceTotalMem(&memory, handle);
    device.memory_bytes = memory;
    device.max_grid[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    device.max_grid[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    device.max_grid[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    device.max_block[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    device.max_block[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    device.max_block[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    device.driver_version = version;
    CUuuid uuid;
    if (driver->cuDeviceGetUuid(&uuid, handle) == CUDA_SUCCESS)
      device.uuid = uuid_text(uuid);
    devices.push_back(std::move(device));
  }
  return devices;
}

} // namespace lathe
