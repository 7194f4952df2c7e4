#include "refactor/guard/trial_memory.h"

#include <utility>

namespace lathe::refactor {
namespace {

std::string kernel_of(const Trial& trial) {
  return trial.kernel->object() + " " + trial.kernel->instance();
}

std::size_t bytes_of(const TrialResult& result) {
  std::size_t bytes = sizeof(TrialResult) + result.reached.size() / 8;
  for (const std::vector<std::byte>& contents : result.contents)
    bytes += contents.size();
  for (const BufferAccess& access : result.accesses)
    bytes += sizeof(BufferAccess) + (access.read.size() + access.written.size()) * sizeof(ByteRange);
  return bytes;
}

} // namespace

std::shared_ptr<TrialMemory> remember_raw_runs() {
  // Some hundred sizes of one kernel; children are forked off a process that holds it.
  constexpr std::size_t MOST_BYTES = std::size_t{256} << 20;
  return std::make_shared<TrialMemory>(MOST_BYTES);
}

std::string TrialMemory::bucket_of(const Trial& trial) {
  return kernel_of(trial) + " " + trial.workload->key() + " " + std::to_string(trial.settings.seed);
}

bool TrialMemory::is_of(const Entry& entry, const Trial& trial) {
  return entry.settings == trial.settings && entry.launch == *trial.launch &&
         entry.kernel == kernel_of(trial) && entry.buffers == trial.workload->buffers &&
         entry.parameters == trial.workload->parameters;
}

std::shared_ptr<const TrialResult> TrialMemory::find(const Trial& trial) const {
  if (!trial.kernel || trial.settings.again)
    return nullptr;
  const std::lock_guard lock(mutex_);
  const auto bucket = buckets_.find(bucket_of(trial));
  if (bucket == buckets_.end())
    return nullptr;
  for (const Entry& entry : bucket->second)
    if (is_of(entry, trial))
      return entry.result;
  return nullptr;
}

void TrialMemory::keep(const Trial& trial, const TrialResult& result) {
  if (!trial.kernel || trial.settings.again || !result.clean)
    return;
  Entry entry{kernel_of(trial),        *trial.launch,
              trial.workload->buffers, trial.workload->parameters,
              trial.settings,          std::make_shared<const TrialResult>(result),
              bytes_of(result)};
  const std::lock_guard lock(mutex_);
  if (entry.bytes > most_bytes_)
    return;
  while (bytes_ + entry.bytes > most_bytes_) {
    const auto oldest = buckets_.find(order_.front());
    bytes_ -= oldest->second.front().bytes;
    oldest->second.pop_front();
    if (oldest->second.empty())
      buckets_.erase(oldest);
    order_.pop_front();
  }
  bytes_ += entry.bytes;
  order_.push_back(bucket_of(trial));
  buckets_[order_.back()].push_back(std::move(entry));
}

} // namespace lathe::refactor
