// What buffers hold before a trial.
#pragma once

#include "refactor/guard/host_trial.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace lathe::refactor {

// Whether TrialSettings::nudge changes what the buffer holds.
bool has_neighbours(const Workload::Buffer& buffer);

// What buffers hold before a run, made once for trials that share it.
class Fills {
public:
  // The contents of the workload's buffer `index`; valid as long as this object is.
  const std::vector<std::byte>& of(const Workload& workload, std::size_t index,
                                   const TrialSettings& settings);

private:
  std::map<std::tuple<const Workload*, std::size_t, std::uint64_t, Data, IntegerFill,
                      const std::vector<BufferAccess>*, std::size_t, std::uint64_t>,
           std::vector<std::byte>>
      known_;
};

} // namespace lathe::refactor
