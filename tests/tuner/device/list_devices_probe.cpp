#include "tuner/device/device.h"

#include <cstdio>

int main() {
  const auto devices = lathe::list_cuda_devices();
  if (devices.ok())
    return 0;
  std::puts(devices.error().sentence().c_str());
  return static_cast<int>(devices.error().failure);
}
