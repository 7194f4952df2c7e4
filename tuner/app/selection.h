// What a command works on: which problems and types of a specification, and on which device.
#pragma once

#include "tuner/measure/measure.h"
#include "tuner/spec/spec.h"
#include "tuner/store/store.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe {

struct WorkloadSelection {
  std::vector<std::string> problems; // "n=16,d=4096" each; empty: all of the specification
  std::string types;                 // "T=f16"; empty: the first of each type parameter
  bool all_types = false;
  bool tune_only = false;
};

// The workloads, searched ones first. A problem that is not in the specification is searched like a tune
// problem. Errors name unknown dimensions and types with the known ones. `spec` must outlive the result.
Result<std::vector<Workload>> select_workloads(const TuningSpec& spec, const WorkloadSelection& selection,
                                               const std::map<std::string, Value>& device_limits);

// "auto": the first GPU, or the host executor with a note on standard error; "host"; or a GPU's index.
Result<std::unique_ptr<Backend>> open_backend(const std::string& device);
// The index of a GPU, given where "auto" and "host" were possible too.
Result<int> parse_device_index(const std::string& device);
// How many problems are searched at once on each GPU, at most, and the bytes of the largest one's buffers.
struct Concurrency {
  std::size_t most = 1;
  std::uint64_t buffer_bytes = 0;
};
std::uint64_t largest_buffer_bytes(const std::vector<Workload>& workloads);
// Backends by model of their device: "all", or indices with commas between them.
using DevicesByModel = std::vector<std::vector<std::unique_ptr<Backend>>>;
Result<DevicesByModel> open_devices(const std::string& text, const Concurrency& concurrency);
// As open_backend(), the only device of the only model. The host executor has one backend.
Result<DevicesByModel> open_one_device(const std::string& device, const Concurrency& concurrency);
// Distinct devices of these backends.
std::size_t count_devices(const std::vector<std::unique_ptr<Backend>>& backends);

// Says on standard error when the store holds results of another version of this template: they are not
// reused.
Status warn_of_stale_results(const TuningSpec& spec, Store& store);

} // namespace lathe
