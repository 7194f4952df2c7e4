#include "tuner/device/driver.h"

#include <dlfcn.h>

// The versioned symbol behind each name: cuda.h's macro, as text.
#define LATHE_TEXT_(x) #x
#define LATHE_TEXT(x) LATHE_TEXT_(x)

namespace lathe {
namespace {

Error no_device(std::string why, std::string remedy) {
  return {"no NVIDIA GPU can be used", std::move(why), std::move(remedy), Failure::no_device};
}

void* open_library() {
  return ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

Result<CudaDriver> open_driver() {
  void* library = open_library();
  if (!library)
    return no_device("no NVIDIA driver is installed (libcuda.so.1 was not found)",
                     "install driver 580 or newer, or use the host executor");
  CudaDriver driver;
  const char* missing = nullptr;
#define LATHE_BIND(name)                                                                                     \
  driver.name = reinterpret_cast<decltype(driver.name)>(::dlsym(library, LATHE_TEXT(name)));                 \
  if (!driver.name && !missing)                                                                              \
    missing = LATHE_TEXT(name);
  LATHE_CUDA_FUNCTIONS(LATHE_BIND)
#undef LATHE_BIND
  constexpr const char* UPDATE = "install driver 580 or newer";
  if (driver.cuDriverGetVersion)
    driver.cuDriverGetVersion(&driver.version);
  const std::string supports =
      std::to_string(driver.version / 1000) + "." + std::to_string(driver.version % 1000 / 10);
  if (driver.version < 13000)
    return no_device(
        "the NVIDIA driver is too old: it supports CUDA " + supports + " and Lathe needs CUDA 13.0", UPDATE);
  if (missing)
    return no_device(std::string("the NVIDIA driver lacks the function ") + missing, UPDATE);
  if (const CUresult status = driver.cuInit(0); status != CUDA_SUCCESS) {
    if (status == CUDA_ERROR_NO_DEVICE)
      return no_device("the NVIDIA driver is there, but it has no device",
                       "check nvidia-smi and CUDA_VISIBLE_DEVICES");
    return no_device("the NVIDIA driver does not start: " + driver.describe(status), "check nvidia-smi");
  }
  return driver;
}

} // namespace

bool CudaDriver::is_installed() {
  return open_library() != nullptr;
}

Result<const CudaDriver*> CudaDriver::load() {
  static const Result<CudaDriver> driver = open_driver();
  if (!driver.ok())
    return driver.error();
  return &driver.value();
}

std::string CudaDriver::describe(CUresult code) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName)
    cuGetErrorName(code, &name);
  if (cuGetErrorString)
    cuGetErrorString(code, &text);
  return (name ? name : "CUDA error " + std::to_string(static_cast<int>(code))) +
         (text ? std::string(" (") + text + ")" : std::string());
}

} // namespace lathe
