#include "tuner/base/subprocess.h"
#include "tuner/device/device.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace lathe {
namespace {

DeviceInfo device(const char* architecture) {
  return known_device(architecture).value();
}

KernelResources kernel(int registers, int static_shared = 0) {
  KernelResources resources;
  resources.registers = registers;
  resources.static_shared = static_shared;
  return resources;
}

TEST(KnownDevice, HasEveryArchitectureOfCuda13) {
  for (const char* name : {"sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110",
                           "sm_120", "sm_121"}) {
    const auto found = known_device(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ(found->architecture(), name);
    EXPECT_GE(found->shared_per_sm, found->shared_per_block_optin);
    EXPECT_EQ(found->max_threads_per_sm % found->warp_size, 0);
  }
  EXPECT_EQ(device("sm_90a").architecture(), "sm_90");
  EXPECT_EQ(device("sm_120f").architecture(), "sm_120");
}

TEST(KnownDevice, SaysWhatItKnows) {
  for (const char* name : {"sm_60", "sm_9", "sm_900", "compute_90", "", "sm_90x"}) {
    const auto unknown = known_device(name);
    ASSERT_FALSE(unknown.ok()) << name;
    EXPECT_NE(unknown.error().sentence().find("sm_90"), std::string::npos);
    EXPECT_EQ(unknown.error().failure, Failure::usage);
  }
}

TEST(KnownDevice, LimitsAreTheNamesOfConditions) {
  const auto limits = device("sm_86").limits();
  EXPECT_EQ(std::get<std::int64_t>(limits.at("device.max_threads_per_sm")), 1536);
  EXPECT_EQ(std::get<std::int64_t>(limits.at("device.shared_per_block_optin")), 99 << 10);
  EXPECT_EQ(std::get<std::int64_t>(limits.at("device.compute_capability")), 86);
  EXPECT_EQ(std::get<std::int64_t>(limits.at("device.max_grid_y")), 65535);
}

struct Known {
  const char* architecture;
  int registers, static_shared, threads, dynamic;
  int blocks;
  double fraction;
  const char* limited_by;
};

// Worked by hand from the occupancy calculator's rules: registers are given to warps in units of 256, shared
// memory to blocks in units of 128 bytes (256 on 7.5) with 1 KiB for the driver from 8.0 on.
TEST(Occupancy, KnownValues) {
  for (const Known& known : {
           Known{"sm_90", 32, 0, 256, 0, 8, 1.0, "registers"},
           Known{"sm_90", 26, 0, 1024, 0, 2, 1.0, "registers"},
           Known{"sm_90", 33, 0, 1024, 0, 1, 0.5, "registers"},
           Known{"sm_90", 16, 0, 32, 0, 32, 0.5, "blocks"},
           Known{"sm_90", 16, 0, 512, 0, 4, 1.0, "threads"},
           Known{"sm_90", 32, 0, 128, 100 << 10, 2, 0.125, "shared memory"},
           Known{"sm_90", 32, 0, 1024, 227 << 10, 1, 0.5, "shared memory"},
           Known{"sm_90", 64, 0, 96, 0, 10, 10 * 96 / 2048.0, "registers"},
           Known{"sm_80", 255, 0, 128, 0, 2, 0.125, "registers"},
           Known{"sm_80", 40, 20 << 10, 256, 0, 6, 0.75, "registers"},
           Known{"sm_86", 32, 0, 128, 48 << 10, 2, 256 / 1536.0, "shared memory"},
           Known{"sm_86", 40, 0, 1024, 0, 1, 1024 / 1536.0, "registers"},
           Known{"sm_75", 32, 0, 256, 0, 4, 1.0, "threads"},
           Known{"sm_75", 64, 32 << 10, 256, 0, 2, 0.5, "shared memory"},
           Known{"sm_120", 16, 0, 48, 0, 24, 24 * 64 / 1536.0, "threads"},
       }) {
    const Occupancy found =
        occupancy(device(known.architecture), kernel(known.registers, known.static_shared), known.threads,
                  known.dynamic);
    SCOPED_TRACE(std::string(known.architecture) + " " + std::to_string(known.registers) + " registers, " +
                 std::to_string(known.threads) + " threads, " + std::to_string(known.dynamic) + " bytes");
    EXPECT_EQ(found.blocks_per_sm, known.blocks);
    EXPECT_DOUBLE_EQ(found.fraction, known.fraction);
    // Where two limits meet, either may be named.
    if (known.fraction < 1) {
      EXPECT_EQ(found.limited_by, known.limited_by);
    }
  }
}

TEST(Occupancy, WhatCannotLaunchHasNoBlocks) {
  EXPECT_EQ(occupancy(device("sm_90"), kernel(128), 1024, 0).blocks_per_sm, 0);
  EXPECT_EQ(occupancy(device("sm_90"), kernel(32), 2048, 0).blocks_per_sm, 0);
  EXPECT_EQ(occupancy(device("sm_90"), kernel(32), 128, 228 << 10).blocks_per_sm, 0);
  EXPECT_EQ(occupancy(device("sm_90"), kernel(32), 0, 0).blocks_per_sm, 0);
  EXPECT_EQ(occupancy(device("sm_90"), kernel(32), 128, -1).blocks_per_sm, 0);
  KernelResources bounded = kernel(32);
  bounded.max_threads = 128;
  EXPECT_EQ(occupancy(device("sm_90"), bounded, 256, 0).blocks_per_sm, 0);
}

// More of anything never means more blocks.
TEST(Occupancy, IsMonotone) {
  for (const char* architecture : {"sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    const DeviceInfo info = device(architecture);
    for (int threads = 32; threads <= 1024; threads += 96) {
      int before = 1 << 20;
      for (int registers = 16; registers <= 255; ++registers) {
        const int blocks = occupancy(info, kernel(registers), threads, 4096).blocks_per_sm;
        EXPECT_LE(blocks, before);
        EXPECT_LE(blocks * threads, info.max_threads_per_sm);
        EXPECT_LE(blocks * threads * registers, info.registers_per_sm);
        before = blocks;
      }
    }
  }
}

std::string probe(const std::string& library_folder, int& exit_code) {
  SubprocessOptions options;
  options.environment = {{"LD_LIBRARY_PATH", library_folder}};
  const char* bin = std::getenv("LATHE_BIN_DIR");
  const auto result = run_subprocess({std::string(bin ? bin : "bin") + "/list_devices_probe"}, options);
  EXPECT_TRUE(result.ok());
  exit_code = result->exit_code;
  return result->output;
}

TEST(ListDevices, AnOldDriverIsNamedWithItsVersion) {
  int exit_code = 0;
  const std::string text = probe(FAKE_DRIVERS "/old", exit_code);
  EXPECT_EQ(exit_code, 3);
  EXPECT_NE(text.find("too old: it supports CUDA 12.4 and Lathe needs CUDA 13.0"), std::string::npos) << text;
  EXPECT_NE(text.find("580"), std::string::npos) << text;
}

TEST(ListDevices, ADriverWithoutDevicesSaysSo) {
  int exit_code = 0;
  const std::string text = probe(FAKE_DRIVERS "/empty", exit_code);
  EXPECT_EQ(exit_code, 3);
  EXPECT_NE(text.find("it has no device"), std::string::npos) << text;
}

TEST(ListDevices, HereEitherDevicesOrOneSentence) {
  const auto devices = list_cuda_devices();
  if (devices.ok()) {
    EXPECT_FALSE(devices->empty());
    EXPECT_FALSE(devices->at(0).name.empty());
  } else {
    EXPECT_EQ(devices.error().failure, Failure::no_device);
    EXPECT_EQ(devices.error().sentence().find('\n'), std::string::npos);
  }
}

} // namespace
} // namespace lathe
