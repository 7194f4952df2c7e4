// What a machine needs for each of Lathe's jobs, looked at without changing anything.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

enum class Health {
  ok,
  warn, // works, but something is missing or makes results worse
  fail, // a job of Lathe's does not work
};
std::string_view to_string(Health health);

struct HealthLine {
  std::string name; // "driver", "NVRTC", ...
  Health health = Health::ok;
  std::string finding; // one clause
  std::string remedy;  // what to do; empty where there is nothing to do
};

// Driver, GPUs, NVML, clocks, other processes, permission to profile.
std::vector<HealthLine> gpu_health();
// Toolkit, NVRTC (compiles a kernel), the host executor (compiles and runs one), programs and files beside
// `lathe`, disk and caches. `results`: the store's file.
std::vector<HealthLine> host_health(const std::filesystem::path& results);

// Whether only administrators may read performance counters, by the text of /proc/driver/nvidia/params;
// `capabilities`: this process's effective ones, as /proc/self/status has them ("000001ffffffffff").
HealthLine profiling_permission(std::string_view driver_parameters, std::string_view capabilities);
// Room on a disk, in bytes.
HealthLine disk_room(const std::string& name, const std::filesystem::path& folder, std::uintmax_t free_bytes);

} // namespace lathe
