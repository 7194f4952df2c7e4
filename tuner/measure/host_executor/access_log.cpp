#include "tuner/measure/host_executor/access_log.h"

#include "tuner/measure/fill.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fmt/format.h>
#include <new>

namespace lathe::host {

namespace {
constexpr std::size_t WORD_BITS = 64;
constexpr std::uint64_t ALL_BITS = ~std::uint64_t{0};
} // namespace

void TouchedBytes::resize(std::size_t bytes) {
  bytes_ = bytes;
  low_ = SIZE_MAX;
  high_ = 0;
  const std::size_t words = std::max<std::size_t>(1, (bytes + WORD_BITS - 1) / WORD_BITS);
  words_ = {static_cast<std::uint64_t*>(std::calloc(words, sizeof(std::uint64_t))), &std::free};
  if (words_ == nullptr)
    throw std::bad_alloc();
}

void TouchedBytes::add(std::size_t first, std::size_t last) {
  last = std::min(last, bytes_);
  if (first >= last)
    return;
  low_ = std::min(low_, first);
  high_ = std::max(high_, last);
  const std::size_t begin = first / WORD_BITS, end = (last - 1) / WORD_BITS;
  const std::uint64_t head = ALL_BITS << (first % WORD_BITS),
                      tail = ALL_BITS >> (WORD_BITS - 1 - (last - 1) % WORD_BITS);
  if (begin == end) {
    words_[begin] |= head & tail;
    return;
  }
  words_[begin] |= head;
  std::fill(words_.get() + begin + 1, words_.get() + end, ALL_BITS);
  words_[end] |= tail;
}

std::vector<ByteRange> TouchedBytes::ranges(std::size_t origin) const {
  std::vector<ByteRange> found;
  // The first byte from `from` on that is touched, or not, or `high_`.
  const auto next = [&](std::size_t from, bool touched) {
    while (from < high_) {
      const std::uint64_t word = touched ? words_[from / WORD_BITS] : ~words_[from / WORD_BITS];
      const std::uint64_t rest = word >> (from % WORD_BITS);
      if (rest != 0)
        return std::min(high_, from + static_cast<std::size_t>(std::countr_zero(rest)));
      from = (from / WORD_BITS + 1) * WORD_BITS;
    }
    return high_;
  };
  const auto at = [&](std::size_t byte) {
    return static_cast<std::int64_t>(byte) - static_cast<std::int64_t>(origin);
  };
  for (std::size_t begin = next(low_, true); begin < high_;) {
    const std::size_t end = next(begin, false);
    found.push_back({at(begin), at(end)});
    begin = next(end, true);
  }
  return found;
}

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

void AccessLog::ignore(std::uintptr_t begin, std::uintptr_t end) {
  const auto at = std::ranges::upper_bound(regions_, begin, {}, &Region::begin);
  records_.emplace(records_.begin() + (at - regions_.begin()));
  regions_.insert(at, {Region::ignored, begin, end, 0, ""});
  found_.fill({}); // they name regions by their place
}

void AccessLog::record(std::size_t region, std::uintptr_t address, std::size_t bytes, bool write) {
  const std::size_t first = address - regions_[region].begin + GUARD_BYTES;
  (write ? records_[region].written : records_[region].read).add(first, first + bytes);
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
      const bool is_recorded = keep_ && region.kind == Region::buffer;
      found_[slot_of(address)] = {region.begin, region.end, index, is_recorded};
      if (is_recorded)
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
  for (std::size_t i = 0; i < regions_.size(); ++i)
    if (regions_[i].kind == Region::buffer) {
      const Record& record = records_[i];
      result.push_back({regions_[i].argument, record.read.ranges(GUARD_BYTES),
                        record.written.ranges(GUARD_BYTES), record.atomics});
    }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.argument < b.argument; });
  return result;
}

} // namespace lathe::host
