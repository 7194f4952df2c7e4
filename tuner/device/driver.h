// The CUDA driver API, opened at run time: no executable of Lathe links against it.
#pragma once

#include "tuner/base/result.h"

#include <cuda.h>

#include <string>

namespace lathe {

// Pointers under the names of cuda.h, whose macros pick the versions that belong to its declarations.
struct CudaDriver {
  // Opens libcuda.so.1 once and calls cuInit. Failure::no_device without a driver, with one too old for CUDA
  // 13 (13.0 needs driver 580), or when cuInit finds no device.
  static Result<const CudaDriver*> load();
  // Whether there is a libcuda.so.1 at all: load() takes a quarter of a second where there is.
  static bool is_installed();

  int version = 0; // 13000: supports CUDA 13.0

  // clang-format off: it indents each line of such a list deeper than the one before
#define LATHE_CUDA_FUNCTIONS(X) \
  X(cuInit) \
  X(cuDriverGetVersion) \
  X(cuGetErrorName) \
  X(cuGetErrorString) \
  X(cuDeviceGetCount) \
  X(cuDeviceGet) \
  X(cuDeviceGetName) \
  X(cuDeviceGetAttribute) \
  X(cuDeviceTotalMem) \
  X(cuDeviceGetUuid) \
  X(cuDeviceGetPCIBusId) \
  X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) \
  X(cuCtxSetCurrent) \
  X(cuCtxResetPersistingL2Cache) \
  X(cuMemGetInfo) \
  X(cuMemAlloc) \
  X(cuMemFree) \
  X(cuMemcpyHtoDAsync) \
  X(cuMemcpyDtoH) \
  X(cuMemcpyDtoDAsync) \
  X(cuMemsetD8Async) \
  X(cuModuleLoadData) \
  X(cuModuleUnload) \
  X(cuModuleGetFunction) \
  X(cuFuncSetAttribute) \
  X(cuFuncGetAttribute) \
  X(cuLaunchKernel) \
  X(cuStreamCreate) \
  X(cuStreamSynchronize) \
  X(cuStreamQuery) \
  X(cuStreamBeginCapture) \
  X(cuStreamEndCapture) \
  X(cuGraphInstantiate) \
  X(cuGraphLaunch) \
  X(cuGraphExecDestroy) \
  X(cuGraphDestroy) \
  X(cuGraphUpload) \
  X(cuEventCreate) \
  X(cuEventDestroy) \
  X(cuEventRecord) \
  X(cuEventRecordWithFlags) \
  X(cuEventQuery) \
  X(cuEventElapsedTime)
  // clang-format on
#define LATHE_DECLARE(name) decltype(&::name) name = nullptr;
  LATHE_CUDA_FUNCTIONS(LATHE_DECLARE)
#undef LATHE_DECLARE

  // "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  std::string describe(CUresult code) const;
};

} // namespace lathe
