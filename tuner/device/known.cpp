// Limits by compute capability: CUDA C++ Programming Guide 13.0, "Technical specifications per compute
// capability".
#include "tuner/device/device.h"

#include <array>
#include <cctype>
#include <string_view>

namespace lathe {
namespace {

struct Capability {
  int major, minor;
  int threads_per_sm, blocks_per_sm, shared_per_sm_kib, shared_per_block_kib;
  // A common model of it, for conditions that mention the number of multiprocessors or the L2's size
  // (0: not stated by its maker).
  const char* model;
  int multiprocessors, l2_mib;
};

constexpr std::array<Capability, 11> CAPABILITIES{{
    {7, 5, 1024, 16, 64, 64, "Tesla T4", 40, 4},
    {8, 0, 2048, 32, 164, 163, "NVIDIA A100", 108, 40},
    {8, 6, 1536, 16, 100, 99, "NVIDIA A40", 84, 6},
    {8, 7, 1536, 16, 164, 163, "NVIDIA Jetson AGX Orin", 16, 0},
    {8, 9, 1536, 24, 100, 99, "NVIDIA L40", 142, 96},
    {9, 0, 2048, 32, 228, 227, "NVIDIA H100", 132, 50},
    {10, 0, 2048, 32, 228, 227, "NVIDIA B200", 148, 126},
    {10, 3, 2048, 32, 228, 227, "NVIDIA B300", 148, 0},
    {11, 0, 1536, 24, 228, 227, "NVIDIA Thor", 20, 0},
    {12, 0, 1536, 24, 100, 99, "NVIDIA RTX PRO 6000 Blackwell", 188, 128},
    {12, 1, 1536, 24, 100, 99, "NVIDIA GB10", 48, 0},
}};

// NVIDIA's data sheets of the models, "FP32" without tensor cores, in TFLOP/s. The first entry that the name
// contains counts.
struct Peak {
  std::string_view name;
  double fp32_tflops;
};
constexpr std::array<Peak, 12> PEAKS{{
    {"H100 PCIe", 51},
    {"H100 NVL", 60},
    {"H200 NVL", 60},
    {"H100", 67},
    {"H200", 67},
    {"A100", 19.5},
    {"L40S", 91.6},
    {"L40", 90.5},
    {"L4", 30.3},
    {"A40", 37.4},
    {"A10", 31.2},
    {"T4", 8.1},
}};

} // namespace

std::optional<double> nominal_fp32_gflops(const std::string& device_name) {
  constexpr double giga_per_tera = 1e3;
  for (const Peak& peak : PEAKS) {
    const std::size_t found = device_name.find(peak.name);
    // "A10" is not "A10G", nor "A100".
    const std::size_t end = found + peak.name.size();
    if (found != std::string::npos &&
        (end >= device_name.size() || std::isalnum(static_cast<unsigned char>(device_name[end])) == 0))
      return peak.fp32_tflops * giga_per_tera;
  }
  return std::nullopt;
}

Result<DeviceInfo> known_device(const std::string& architecture) {
  std::string names;
  for (const Capability& known : CAPABILITIES) {
    const std::string name = "sm_" + std::to_string(known.major) + std::to_string(known.minor);
    names += (names.empty() ? "" : ", ") + name;
    // sm_90a and sm_100f are the same hardware with more instructions allowed.
    if (architecture != name && architecture != name + "a" && architecture != name + "f")
      continue;
    DeviceInfo device;
    device.name = known.model;
    device.compute_major = known.major;
    device.compute_minor = known.minor;
    device.multiprocessors = known.multiprocessors;
    device.max_threads_per_sm = known.threads_per_sm;
    device.max_blocks_per_sm = known.blocks_per_sm;
    device.shared_per_sm = known.shared_per_sm_kib << 10;
    device.shared_per_block_optin = known.shared_per_block_kib << 10;
    device.shared_reserved_per_block = known.major >= 8 ? 1 << 10 : 0;
    device.l2_bytes = static_cast<std::uint64_t>(known.l2_mib) << 20;
    return device;
  }
  return usage_error("unknown GPU architecture " + architecture, "CUDA 13 compiles for " + names,
                     "name one of them");
}

std::string DeviceInfo::architecture() const {
  return "sm_" + std::to_string(compute_major) + std::to_string(compute_minor);
}

std::map<std::string, Value> DeviceInfo::limits() const {
  std::map<std::string, Value> names;
  const auto add = [&](const std::string& limit, std::int64_t value) { names["device." + limit] = value; };
  add("compute_major", compute_major);
  add("compute_minor", compute_minor);
  add("compute_capability", compute_major * 10 + compute_minor);
  add("multiprocessors", multiprocessors);
  add("max_threads_per_block", max_threads_per_block);
  add("max_threads_per_sm", max_threads_per_sm);
  add("max_blocks_per_sm", max_blocks_per_sm);
  add("warp_size", warp_size);
  add("registers_per_sm", registers_per_sm);
  add("registers_per_block", registers_per_block);
  add("shared_per_block", shared_per_block);
  add("shared_per_block_optin", shared_per_block_optin);
  add("shared_per_sm", shared_per_sm);
  add("shared_reserved_per_block", shared_reserved_per_block);
  add("l2_bytes", static_cast<std::int64_t>(l2_bytes));
  add("memory_bytes", static_cast<std::int64_t>(memory_bytes));
  for (int axis = 0; axis < 3; ++axis) {
    const std::string suffix(1, "xyz"[axis]);
    add("max_grid_" + suffix, max_grid[axis]);
    add("max_block_" + suffix, max_block[axis]);
  }
  return names;
}

} // namespace lathe
