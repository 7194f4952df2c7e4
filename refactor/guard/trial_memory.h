// What trials of a raw kernel came to, kept for judgements of other templates against it.
#pragma once

#include "refactor/guard/host_trial.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lathe::refactor {

// Two trials are the same where the compiled kernel, the launch, everything that the workload says of buffers
// and arguments, and all settings are equal: what is found is what a run would give. A trial behind another
// run (TrialSettings::again) is never kept. Where there is too much, what came first goes first. Safe to call
// from several threads.
class TrialMemory {
public:
  explicit TrialMemory(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // The result of an equal trial, or nothing.
  std::shared_ptr<const TrialResult> find(const Trial& trial) const;
  // Keeps a result that is clean; others may be the machine's.
  void keep(const Trial& trial, const TrialResult& result);

private:
  // What a workload says of buffers and arguments.
  struct Contract {
    std::vector<Workload::Buffer> buffers;
    std::vector<Workload::Parameter> parameters;
  };
  struct Entry {
    std::string kernel; // its object and instance
    Launch launch;
    std::shared_ptr<const Contract> contract; // one for the entries of a bucket that agree on it
    TrialSettings settings;
    std::shared_ptr<const TrialResult> result;
    std::size_t bytes = 0;
  };
  static std::string bucket_of(const Trial& trial);
  static bool is_under(const Entry& entry, const Workload& workload);
  static bool is_of(const Entry& entry, const Trial& trial);

  std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::deque<Entry>> buckets_;
  std::deque<std::string> order_; // of buckets, one for each entry, oldest first
  std::size_t bytes_ = 0;
};

} // namespace lathe::refactor
