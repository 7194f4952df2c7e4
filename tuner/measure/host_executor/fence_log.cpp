#include "tuner/measure/host_executor/fence_log.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::host {

FenceLog::FenceLog(const std::vector<AccessLog::Region>& regions) {
  for (const AccessLog::Region& region : regions)
    if (region.kind == AccessLog::Region::buffer)
      buffers_.push_back(region);
    else if (region.kind != AccessLog::Region::ignored)
      shared_.push_back(region);
}

void FenceLog::begin_block() {
  epoch_ = 1;
  writes_.fill({});
}

const AccessLog::Region* FenceLog::buffer_at(std::uintptr_t address) const {
  const auto found = std::ranges::find_if(buffers_, [&](const AccessLog::Region& region) {
    return address >= region.begin && address < region.end;
  });
  return found == buffers_.end() ? nullptr : &*found;
}

bool FenceLog::is_shared(std::uintptr_t address) const {
  return std::ranges::any_of(shared_, [&](const AccessLog::Region& region) {
    return address >= region.begin && address < region.end;
  });
}

void FenceLog::fence(unsigned thread) {
  ++fences_;
  for (unsigned t = 0; t < writes_.size(); ++t)
    if (t == thread || writes_[t].epoch < epoch_)
      writes_[t] = {};
}

void FenceLog::write(unsigned thread, std::uintptr_t address) {
  if (const AccessLog::Region* buffer = buffer_at(address))
    writes_[thread] = {epoch_, buffer};
}

void FenceLog::atomic(unsigned thread, std::uintptr_t address) {
  if (!unfenced_.empty() || is_shared(address))
    return;
  for (unsigned t = 0; t < writes_.size(); ++t) {
    const Write& write = writes_[t];
    if (write.epoch == 0 || (t != thread && write.epoch == epoch_))
      continue;
    unfenced_ =
        fmt::format("thread {} of a block updates memory atomically with no fence behind {} write to {}",
                    thread, t == thread ? "its" : fmt::format("thread {}'s", t), write.buffer->name);
    return;
  }
}

} // namespace lathe::host
