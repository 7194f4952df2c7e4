#include "tuner/measure/host_executor/access_log.h"

#include "tuner/measure/fill.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::host {

AccessLog::AccessLog(std::vector<Region> regions, bool keep, bool enforce)
    : regions_(std::move(regions)), keep_(keep), enforce_(enforce) {
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& a, const Region& b) { return a.begin < b.begin; });
  if (regions_.empty())
    regions_.emplace_back();
  records_.resize(regions_.size());
  for (std::size_t i = 0; i < regions_.size(); ++i)
    if (keep_ && regions_[i].kind == Region::buffer) {
      const std::size_t bytes = regions_[i].end - regions_[i].begin + 2 * GUARD_BYTES;
      records_[i].read.resize(bytes);
      records_[i].written.resize(bytes);
    }
}

void AccessLog::record(std::size_t region, std::uintptr_t address, std::size_t bytes, bool write) {
  Record& record = records_[region];
  const std::size_t first = address - regions_[region].begin + GUARD_BYTES;
  std::vector<bool>& bits = write ? record.written : record.read;
  const std::size_t last = std::min(first + bytes, bits.size());
  for (std::size_t i = first; i < last; ++i)
    bits[i] = true;
  record.low = std::min(record.low, first);
  record.high = std::max(record.high, last);
}

bool AccessLog::look_up(std::uintptr_t address, std::size_t bytes, bool write) {
  // The last region that begins at or before the address.
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](std::uintptr_t value, const Region& region) { return value < region.begin; });
  if (after != regions_.begin()) {
    const std::size_t index = static_cast<std::size_t>(after - regions_.begin()) - 1;
    const Region& region = regions_[index];
    if (address + bytes <= region.end) {
      recent_ = {index, recent_[0], recent_[1]};
      if (keep_ && region.kind == Region::buffer)
        record(index, address, bytes, write);
      return true;
    }
  }
  if (keep_)
    for (std::size_t i = 0; i < regions_.size(); ++i)
      if (regions_[i].kind == Region::buffer && address + GUARD_BYTES >= regions_[i].begin &&
          address + bytes <= regions_[i].end + GUARD_BYTES)
        record(i, address, bytes, write);
  return !enforce_;
}

std::string AccessLog::complaint(std::uintptr_t address, std::size_t bytes, bool write) const {
  // The nearest region within reach.
  constexpr std::uintptr_t REACH = std::uintptr_t{1} << 20;
  const Region* nearest = nullptr;
  std::uintptr_t distance = REACH;
  for (const Region& region : regions_) {
    if (region.kind == Region::ignored)
      continue;
    const std::uintptr_t gap = address + bytes <= region.begin ? region.begin - address
                               : address >= region.end         ? address - region.end
                                                               : 0;
    if (gap < distance)
      nearest = &region, distance = gap;
  }
  const char* verb = write ? "writes" : "reads";
  if (!nearest)
    return fmt::format("{} {} bytes at an address that belongs to no buffer", verb, bytes);
  const std::size_t size = nearest->end - nearest->begin;
  if (address < nearest->begin)
    return fmt::format("{} {} bytes {} bytes before {} ({} bytes)", verb, bytes, nearest->begin - address,
                       nearest->name, size);
  return fmt::format("{} {} bytes at byte {} of {}, which has {}", verb, bytes, address - nearest->begin,
                     nearest->name, size);
}

void AccessLog::count_atomic(std::uintptr_t address) {
  for (std::size_t i = 0; i < regions_.size(); ++i)
    if (regions_[i].kind == Region::buffer && address >= regions_[i].begin && address < regions_[i].end)
      ++records_[i].atomics;
}

std::vector<BufferAccess> AccessLog::accesses() const {
  std::vector<BufferAccess> result;
  if (!keep_)
    return result;
  const auto ranges = [](const std::vector<bool>& bits, std::size_t low, std::size_t high) {
    std::vector<ByteRange> found;
    for (std::size_t i = low; i < high; ++i)
      if (bits[i]) {
        const std::size_t begin = i;
        while (i < high && bits[i])
          ++i;
        found.push_back({static_cast<std::int64_t>(begin) - static_cast<std::int64_t>(GUARD_BYTES),
                         static_cast<std::int64_t>(i) - static_cast<std::int64_t>(GUARD_BYTES)});
      }
    return found;
  };
  for (std::size_t i = 0; i < regions_.size(); ++i)
    if (regions_[i].kind == Region::buffer) {
      const Record& record = records_[i];
      result.push_back({regions_[i].argument, ranges(record.read, record.low, record.high),
                        ranges(record.written, record.low, record.high), record.atomics});
    }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.argument < b.argument; });
  return result;
}

} // namespace lathe::host
