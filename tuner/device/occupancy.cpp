// CUDA's own rules, from the header that the toolkit ships for this purpose.
#include "tuner/device/device.h"

#include <algorithm>

// The header defines functions that are not all used here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

namespace lathe {

Occupancy occupancy(const DeviceInfo& device, const KernelResources& kernel, int threads_per_block,
                    int dynamic_shared) {
  cudaOccDeviceProp properties;
  properties.computeMajor = device.compute_major;
  // What the header does not know by its minor number obeys the rules of its family's first member.
  properties.computeMinor = device.compute_major == 12 && device.compute_minor > 1 ? 0 : device.compute_minor;
  properties.maxThreadsPerBlock = device.max_threads_per_block;
  properties.maxThreadsPerMultiprocessor = device.max_threads_per_sm;
  properties.regsPerBlock = device.registers_per_block;
  properties.regsPerMultiprocessor = device.registers_per_sm;
  properties.warpSize = device.warp_size;
  properties.sharedMemPerBlock = static_cast<std::size_t>(device.shared_per_block);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shared_per_sm);
  properties.numSms = device.multiprocessors;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.shared_per_block_optin);
  properties.reservedSharedMemPerBlock = static_cast<std::size_t>(device.shared_reserved_per_block);

  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = std::min(kernel.max_threads, device.max_threads_per_block);
  attributes.numRegs = std::max(1, kernel.registers);
  attributes.sharedSizeBytes = static_cast<std::size_t>(kernel.static_shared);
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  // More than 48 KiB is asked for only by kernels that were given the right to it.
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(
      std::max(0, std::min(dynamic_shared, device.shared_per_block_optin - kernel.static_shared)));
  attributes.numBlockBarriers = 1;
  const cudaOccDeviceState state;

  if (threads_per_block >
      attributes.maxThreadsPerBlock) // its launch bounds, which the header does not look at
    return {0, 0, "threads"};
  Occupancy result;
  cudaOccResult found;
  if (threads_per_block <= 0 || dynamic_shared < 0 ||
      cudaOccMaxActiveBlocksPerMultiprocessor(&found, &properties, &attributes, &state, threads_per_block,
                                              static_cast<std::size_t>(dynamic_shared)) != CUDA_OCC_SUCCESS)
    return {0, 0, "an unknown device or impossible launch"};
  result.blocks_per_sm = std::max(0, found.activeBlocksPerMultiprocessor);
  const int warps = (threads_per_block + device.warp_size - 1) / device.warp_size;
  result.fraction = std::min(1.0, static_cast<double>(result.blocks_per_sm) * warps * device.warp_size /
                                      std::max(1, device.max_threads_per_sm));
  if (found.limitingFactors & OCC_LIMIT_REGISTERS)
    result.limited_by = "registers";
  else if (found.limitingFactors & OCC_LIMIT_SHARED_MEMORY)
    result.limited_by = "shared memory";
  else if (found.limitingFactors & OCC_LIMIT_WARPS)
    result.limited_by = "threads";
  else
    result.limited_by = "blocks";
  return result;
}

} // namespace lathe
