#include "tuner/measure/host_executor/fence_log.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::host {

namespace {

// The region that an address lies in, or null.
const AccessLog::Region* region_at(const std::vector<AccessLog::Region>& regions, std::uintptr_t address) {
  const auto found = std::ranges::find_if(regions, [&](const AccessLog::Region& region) {
    return address >= region.begin && address < region.end;
  });
  return found == regions.end() ? nullptr : &*found;
}

} // namespace

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

void FenceLog::fence(unsigned thread) {
  ++fences_;
  for (unsigned t = 0; t < writes_.size(); ++t)
    if (t == thread || writes_[t].epoch < epoch_)
      writes_[t] = {};
}

void FenceLog::write(unsigned thread, std::uintptr_t address) {
  if (const AccessLog::Region* buffer = region_at(buffers_, address))
    writes_[thread] = {epoch_, buffer};
}

void FenceLog::atomic(unsigned thread, std::uintptr_t address) {
  if (!unfenced_.empty() || region_at(shared_, address))
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
