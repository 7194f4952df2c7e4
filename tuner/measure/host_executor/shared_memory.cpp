// The block's shared memory: found in the shared object's storage, filled before each block, checked after
// it.
#include "tuner/measure/host_executor/block_runner.h"

#include <algorithm>
#include <cstring>

namespace lathe::host {

void BlockRunner::bind_to_thread() {
  SharedMemory shared;
  task_.shared_memory(&shared);
  dynamic_ = shared.dynamic;
  if (shared.begin != nullptr) {
    static_[0] = {shared.begin, shared.end};
  } else { // thread-local: on either side of the dynamic array
    unsigned char* behind = dynamic_ + MAX_DYNAMIC_SHARED + DYNAMIC_SHARED_SLACK;
    static_[0] = {dynamic_ - task_.static_before, dynamic_};
    static_[1] = {behind, behind + task_.static_after};
  }
  Block& block = arena_.block();
  block.dynamic_shared = dynamic_;
  block.shared_window =
      shared.begin != nullptr ? std::min(shared.begin, dynamic_) : dynamic_ - task_.static_before;
  std::memset(dynamic_ + task_.launch.shared_bytes, static_cast<int>(task_.poison), DYNAMIC_SHARED_SLACK);
}

void BlockRunner::poison_shared() {
  for (const auto& [begin, end] : static_)
    if (end > begin)
      std::memset(begin, static_cast<int>(task_.poison), static_cast<std::size_t>(end - begin));
  std::memset(dynamic_, static_cast<int>(task_.poison), task_.launch.shared_bytes);
  kept_values_.clear();
}

void BlockRunner::leave() {
  if (task_.races)
    task_.races->end_block();
  left_.clear();
  for (const auto& [begin, end] : static_)
    left_.insert(left_.end(), begin, end);
  left_.insert(left_.end(), dynamic_, dynamic_ + task_.launch.shared_bytes + DYNAMIC_SHARED_SLACK);
}

// The logs know one block at a time: what this one did before is as another block's to them from here on.
void BlockRunner::enter() {
  if (task_.races)
    task_.races->begin_block();
  if (task_.fences)
    task_.fences->begin_block();
  const unsigned char* from = left_.data();
  const auto restore = [&from](unsigned char* begin, std::size_t bytes) {
    if (bytes > 0)
      std::memcpy(begin, from, bytes);
    from += bytes;
  };
  for (const auto& [begin, end] : static_)
    restore(begin, static_cast<std::size_t>(end - begin));
  restore(dynamic_, task_.launch.shared_bytes + DYNAMIC_SHARED_SLACK);
}

bool BlockRunner::shared_intact() {
  const unsigned char* slack = dynamic_ + task_.launch.shared_bytes;
  return slack[0] == static_cast<unsigned char>(task_.poison) &&
         std::memcmp(slack, slack + 1, DYNAMIC_SHARED_SLACK - 1) == 0;
}

} // namespace lathe::host
