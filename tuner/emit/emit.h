// Writes what a build includes: the dispatch header, and the same table as JSON, T4, CMake or plain CUDA.
#pragma once

#include "tuner/base/result.h"
#include "tuner/spec/spec.h"
#include "tuner/store/store.h"

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// A dependency-free C++17 header: the winning table, select(device, problem), launch(...), the template's
// text, its hash. Rows whose gain is inside the noise band are left to the default. Host-executor results are
// refused unless `allow_host` (and then say so in the header).
struct HeaderOptions {
  bool allow_host = false;
  std::string command; // how to write it again, printed by the stale-header error
};
Result<std::string> emit_header(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                                const HeaderOptions& options);
// The device whose rows that header uses on the device of this name and architecture ("sm_90"): its own, else
// those of the first one of the same architecture, else nothing: there it runs the raw kernel.
std::string device_used_on(const std::string& device, const std::string& architecture, const TuningSpec& spec,
                           const std::vector<StoredWinner>& winners, bool allow_host);
// One winner as a CUDA file that compiles alone, with NVRTC or nvcc: the template with its knobs as constants
// and, for nvcc, a launch().
struct CudaSource {
  std::string text;
  std::string instance; // C++ name expression of the kernel in `text`
  KernelSource source;  // the specification's, with the knobs gone from its instance
};
// `substitute`: knobs that are template parameters become constants of the file; otherwise the template stays
// as it is and `instance` names them. Host-executor results as in emit_header.
Result<CudaSource> emit_cuda(const TuningSpec& spec, const StoredWinner& winner, const HeaderOptions& options,
                             bool substitute = true);
// The winning table as CMake variables, and a function that defines one device's and workload's values as
// macros.
Result<std::string> emit_cmake(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                               const HeaderOptions& options);
std::string emit_json(const TuningSpec& spec, const std::vector<StoredWinner>& winners);
// The community's T4 result format for one key's evaluations. Counters of a configuration become measurements
// named "counter:" + their name (profile_counters).
std::string emit_t4(const TuningSpec& spec, const StoreKey& key,
                    const std::vector<StoredEvaluation>& evaluations,
                    const std::vector<StoredProfile>& profiles = {});

} // namespace lathe
