#include "tuner/device/device.h"

#include <cstdio>
#include <gtest/gtest.h>

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (const auto devices = lathe::list_cuda_devices(); !devices.ok()) {
    std::fprintf(stderr, "skipped: %s\n", devices.error().sentence().c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
