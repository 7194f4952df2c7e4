#include "tuner/measure/host_executor/race_log.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace lathe::host {

using lathe_host::WARP;

namespace {
constexpr const char *TWO_WRITES = "two writes", *A_READ_AND_A_WRITE = "a read and a write",
                     *A_WRITE_AND_A_READ = "a write and a read";
}

RaceLog::RaceLog(const std::vector<AccessLog::Region>& regions, const Options& options)
    : options_(options), known_(lathe_host::MAX_THREADS / WARP), met_(known_.size()) {
  constexpr std::size_t LARGEST = std::size_t{8} << 20; // bytes of a buffer that is watched
  for (const AccessLog::Region& region : regions) {
    if (region.kind == AccessLog::Region::ignored || region.end <= region.begin ||
        region.end - region.begin > LARGEST)
      continue;
    Watched watched;
    watched.begin = region.begin;
    watched.end = region.end;
    watched.is_shared = region.kind != AccessLog::Region::buffer;
    watched.name = region.kind == AccessLog::Region::buffer ? region.name : "shared memory";
    watched_.push_back(std::move(watched));
  }
  std::sort(watched_.begin(), watched_.end(),
            [](const Watched& a, const Watched& b) { return a.begin < b.begin; });
  for (auto* clocks : {&known_, &met_})
    for (auto& warp : *clocks)
      for (unsigned lane = 0; lane < WARP; ++lane)
        warp[lane][lane] = 1;
}

void RaceLog::begin_block() {
  settle();
  block_epoch_ = ++epoch_;
}

void RaceLog::barrier() {
  settle();
  note_exchange();
  ++epoch_;
}

namespace {

// Each lane learns what the others know.
template <class Clocks> void join(std::array<Clocks, WARP>& known, unsigned lanes) {
  Clocks joined{};
  for (unsigned lane = 0; lane < WARP; ++lane)
    if (lanes >> lane & 1)
      for (unsigned of = 0; of < WARP; ++of)
        joined[of] = std::max(joined[of], known[lane][of]);
  for (unsigned lane = 0; lane < WARP; ++lane)
    if (lanes >> lane & 1) {
      known[lane] = joined;
      ++known[lane][lane];
    }
}

} // namespace

void RaceLog::warp_sync(unsigned warp, unsigned lanes, bool orders_writes) {
  settle();
  join(met_[warp], lanes);
  if (orders_writes)
    join(known_[warp], lanes);
}

RaceLog::Watched* RaceLog::find(std::uintptr_t address, std::size_t bytes) {
  if (watched_.empty())
    return nullptr;
  const auto holds = [&](const Watched& region) {
    return address >= region.begin && address + bytes <= region.end;
  };
  if (holds(watched_[last_]))
    return &watched_[last_];
  const auto after =
      std::upper_bound(watched_.begin(), watched_.end(), address,
                       [](std::uintptr_t value, const Watched& region) { return value < region.begin; });
  if (after == watched_.begin() || !holds(*(after - 1)))
    return nullptr;
  last_ = static_cast<std::size_t>(after - watched_.begin()) - 1;
  return &watched_[last_];
}

// `place`: offset and length of an access, in one number's bits.
void RaceLog::refine(Watched& region, std::uintptr_t place) {
  constexpr unsigned WIDEST = 4; // accesses of more than 16 bytes are of as many
  const auto shift = static_cast<unsigned>(std::min<int>(WIDEST, std::countr_zero(place)));
  const auto cells_at = [&](unsigned width) {
    return ((region.end - region.begin) + (std::uintptr_t{1} << width) - 1) >> width;
  };
  // Untouched cells cost nothing.
  decltype(region.cells) finer{static_cast<Cell*>(std::calloc(cells_at(shift), sizeof(Cell))), &std::free};
  if (region.cells && finer)
    for (std::size_t i = 0; i < cells_at(shift); ++i)
      if (const Cell& whole = region.cells[i >> (region.shift - shift)]; whole.is_used())
        finer[i] = whole;
  region.cells = std::move(finer);
  region.shift = shift;
}

std::span<RaceLog::Cell> RaceLog::cells_of(Watched& region, std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t offset = address - region.begin;
  const std::uintptr_t mask = (std::uintptr_t{1} << region.shift) - 1;
  if (!region.cells || ((offset | bytes) & mask) != 0)
    refine(region, offset | bytes);
  if (!region.cells) // no memory: as if nothing had been accessed before
    return {};
  return {region.cells.get() + (offset >> region.shift), bytes >> region.shift};
}

RaceLog::Stamp RaceLog::stamp_of(unsigned thread, bool atomic) const {
  const unsigned warp = thread / WARP, lane = thread % WARP;
  return {epoch_, known_[warp][lane][lane], met_[warp][lane][lane], static_cast<std::uint16_t>(thread),
          atomic};
}

// Whether the earlier access happens before the present one whatever the order of threads. `since`: the epoch
// from which on the present one may have happened.
bool RaceLog::is_ordered(const Watched& region, const Stamp& earlier, const Stamp& now, std::uint32_t since,
                         bool earlier_reads) const {
  if (earlier.epoch == 0 || (earlier.atomic && now.atomic))
    return true;
  if (earlier.epoch < block_epoch_) // another block's
    return region.is_shared;
  if (earlier.epoch < since || earlier.thread == now.thread)
    return true;
  if (earlier.thread / WARP != now.thread / WARP)
    return false;
  // Within a warp and the epoch of its beginning copy_begins() has looked.
  if (earlier.epoch < now.epoch)
    return earlier.epoch == since;
  const unsigned warp = now.thread / WARP, lane = now.thread % WARP, other = earlier.thread % WARP;
  return known_[warp][lane][other] >= earlier.clock ||
         (earlier_reads && met_[warp][lane][other] >= earlier.meeting);
}

void RaceLog::report(Watched& region, const Stamp& earlier, const Stamp& now, const char* what) {
  const bool between_blocks = earlier.epoch < block_epoch_;
  const bool is_of_writes = what == TWO_WRITES;
  for (HostRace& race : races_)
    if (race.place == region.name && race.between_blocks == between_blocks) {
      race.is_of_writes |= is_of_writes;
      race.is_of_a_read |= !is_of_writes;
      return;
    }
  races_.push_back(
      {region.name, between_blocks, is_of_writes, !is_of_writes,
       between_blocks ? fmt::format("{} by thread {} of a block and another block's", what, now.thread)
                      : fmt::format("{} by threads {} and {} of a block", what, earlier.thread, now.thread)});
}

void RaceLog::read(Watched& region, Cell& cell, const Stamp& now) {
  // Who wrote the value itself last reads its own, though another wrote the same.
  const bool own = cell.writer.epoch >= block_epoch_ && cell.writer.thread == now.thread;
  if (!own && !is_ordered(region, cell.changer, now, now.epoch, false))
    report(region, cell.changer, now, A_WRITE_AND_A_READ);
  for (Stamp& reader : cell.readers)
    if (reader.epoch == 0 || reader.epoch < epoch_ || reader.thread == now.thread) {
      reader = now;
      return;
    }
  // Of two readers, one in another warp tells more.
  if (cell.readers[0].thread / WARP == cell.readers[1].thread / WARP)
    cell.readers[1] = now;
}

void RaceLog::access(unsigned thread, std::uintptr_t address, std::size_t bytes, bool write, bool atomic) {
  settle();
  Watched* region = find(address, bytes);
  if (!region)
    return;
  const Stamp now = stamp_of(thread, atomic);
  const std::span<Cell> cells = cells_of(*region, address, bytes);
  if (cells.empty())
    return;
  if (region->is_shared ||
      (!write && cells[0].changer.epoch >= block_epoch_ && cells[0].changer.thread != now.thread))
    note_exchange();
  if (write)
    return announce(*region, address, bytes, now, now.epoch);
  for (Cell& cell : cells)
    read(*region, cell, now);
}

void RaceLog::announce(Watched& region, std::uintptr_t address, std::size_t bytes, const Stamp& stamp,
                       std::uint32_t since) {
  pending_.region = &region;
  pending_.address = address;
  pending_.bytes = bytes;
  pending_.stamp = stamp;
  pending_.since = since;
  std::memcpy(pending_.before.data(), reinterpret_cast<const void*>(address),
              std::min(bytes, pending_.before.size()));
}

std::uint32_t RaceLog::copy_begins(unsigned thread, std::uintptr_t address, std::size_t bytes) {
  settle();
  if (Watched* region = find(address, bytes)) {
    const Stamp now = stamp_of(thread, false);
    for (const Cell& cell : cells_of(*region, address, bytes))
      for (const Stamp& reader : cell.readers)
        if (!is_ordered(*region, reader, now, now.epoch, true))
          report(*region, reader, now, A_READ_AND_A_WRITE);
  }
  return epoch_;
}

void RaceLog::copy_arrives(unsigned thread, std::uintptr_t address, std::size_t bytes, std::uint32_t begun) {
  settle();
  if (Watched* region = find(address, bytes)) {
    note_exchange();
    announce(*region, address, bytes, stamp_of(thread, false), begun);
  }
}

// A write that leaves bytes as they were changes nothing for anybody: several threads may store one value.
// Where equal writes count, a thread that reads it beside them may get another value on other data.
void RaceLog::settle() {
  if (!pending_.region)
    return;
  Watched& region = *pending_.region;
  pending_.region = nullptr;
  const auto* after = reinterpret_cast<const unsigned char*>(pending_.address);
  const Stamp& now = pending_.stamp;
  std::size_t begin = 0;
  for (Cell& cell : cells_of(region, pending_.address, pending_.bytes)) {
    cell.writer = now;
    const std::size_t each = std::size_t{1} << region.shift;
    const bool is_equal = begin + each <= pending_.before.size() &&
                          std::memcmp(after + begin, pending_.before.data() + begin, each) == 0;
    begin += each;
    if (is_equal && !options_.equal_writes)
      continue;
    if (!is_equal && !is_ordered(region, cell.changer, now, pending_.since, false))
      report(region, cell.changer, now, TWO_WRITES);
    for (const Stamp& reader : cell.readers)
      if (!is_ordered(region, reader, now, pending_.since, true))
        report(region, reader, now, A_READ_AND_A_WRITE);
    cell.changer = now;
    cell.readers[0] = cell.readers[1] = Stamp{};
  }
}

} // namespace lathe::host
