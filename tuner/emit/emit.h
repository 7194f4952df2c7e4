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
std::string emit_json(const TuningSpec& spec, const std::vector<StoredWinner>& winners);
// The community's T4 result format for one key's evaluations.
std::string emit_t4(const TuningSpec& spec, const StoreKey& key,
                    const std::vector<StoredEvaluation>& evaluations);

} // namespace lathe
