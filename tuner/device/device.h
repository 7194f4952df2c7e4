// What a GPU model can hold, and the driver behind it, opened at run time.
#pragma once

#include "tuner/base/result.h"
#include "tuner/expression/expression.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

struct DeviceInfo {
  std::string name;     // "NVIDIA H200", or "host executor (<cpu model>)"
  bool is_host = false; // times are host-executor times
  int compute_major = 9, compute_minor = 0;
  int multiprocessors = 132;
  int max_threads_per_block = 1024, max_threads_per_sm = 2048, max_blocks_per_sm = 32, warp_size = 32;
  int registers_per_sm = 65536, registers_per_block = 65536, register_allocation_unit = 256;
  int shared_per_block = 48 << 10, shared_per_block_optin = 227 << 10, shared_per_sm = 228 << 10,
      shared_reserved_per_block = 1 << 10;
  std::uint64_t l2_bytes = 0, memory_bytes = 0;
  int max_grid[3] = {2147483647, 65535, 65535};
  int max_block[3] = {1024, 1024, 64};
  std::string driver_version, uuid;

  // The "device.*" names of conditions.
  std::map<std::string, Value> limits() const;
  std::string architecture() const; // "sm_90"
};

// Resource use of one compiled kernel.
struct KernelResources {
  int registers = 0, spill_bytes = 0, stack_bytes = 0;
  int static_shared = 0, constant_bytes = 0;
  int max_threads = 1024; // by its launch bounds and registers
};

struct Occupancy {
  int blocks_per_sm = 0;
  double fraction = 0;    // of max_threads_per_sm
  std::string limited_by; // "registers", "shared memory", "threads", "blocks"
};

// CUDA's occupancy rules (CUDA C++ Programming Guide and the occupancy calculator's allocation
// granularities).
Occupancy occupancy(const DeviceInfo& device, const KernelResources& kernel, int threads_per_block,
                    int dynamic_shared);

// Limits of a known architecture when no such device is at hand ("sm_90"): for static checks.
Result<DeviceInfo> known_device(const std::string& architecture);

// GFLOP/s of plain fp32 arithmetic (multiply-adds count twice) by the maker's data sheet, for a device's name
// as the driver gives it; nothing for a model that is not known. Nominal: at the boost clock.
std::optional<double> nominal_fp32_gflops(const std::string& device_name);

// Opens libcuda and lists the devices. Failure::no_device when there is no driver, it is too old for CUDA 13,
// or it has no device. Honours CUDA_VISIBLE_DEVICES. Creates no context.
Result<std::vector<DeviceInfo>> list_cuda_devices();

} // namespace lathe
