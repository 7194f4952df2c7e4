#include "refactor/guard/trial_memory.h"

#include <algorithm>
#include <utility>

namespace lathe::refactor {
namespace {

std::string kernel_of(const Trial& trial) {
  return trial.kernel->object() + " " + trial.kernel->instance();
}

std::size_t bytes_of(const TrialResult& result) {
  constexpr std::size_t BESIDE = 1024; // settings, names and what containers take for themselves
  std::size_t bytes = BESIDE + sizeof(TrialResult) + result.reached.size() / 8;
  for (const std::vector<std::byte>& contents : result.contents)
    bytes += contents.size();
  for (const BufferAccess& access : result.accesses)
    bytes += sizeof(BufferAccess) + (access.read.size() + access.written.size()) * sizeof(ByteRange);
  return bytes;
}

} // namespace

std::shared_ptr<TrialMemory> remember_raw_runs() {
  // Some hundred sizes of one kernel. Children are forked off the process that holds it, which takes the
  // longer the more that is.
  constexpr std::size_t MOST_BYTES = std::size_t{96} << 20;
  return std::make_shared<TrialMemory>(MOST_BYTES);
}

std::string TrialMemory::bucket_of(const Trial& trial) {
  return kernel_of(trial) + " " + trial.workload->key() + " " + std::to_string(trial.settings.seed);
}

bool TrialMemory::is_under(const Entry& entry, const Workload& workload) {
  return entry.contract->buffers == workload.buffers && entry.contract->parameters == workload.parameters;
}

bool TrialMemory::is_of(const Entry& entry, const Trial& trial) {
  return entry.settings == trial.settings && entry.launch == *trial.launch &&
         entry.kernel == kernel_of(trial) && is_under(entry, *trial.workload);
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
  Entry entry{
      kernel_of(trial), *trial.launch, nullptr, trial.settings, std::make_shared<const TrialResult>(result),
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
  auto& bucket = buckets_[order_.back()];
  const auto agrees = [&](const Entry& other) { return is_under(other, *trial.workload); };
  if (const auto same = std::ranges::find_if(bucket, agrees); same != bucket.end())
    entry.contract = same->contract;
  else
    entry.contract =
        std::make_shared<const Contract>(Contract{trial.workload->buffers, trial.workload->parameters});
  bucket.push_back(std::move(entry));
}

} // namespace lathe::refactor
