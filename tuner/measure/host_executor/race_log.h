// Finds data races: two accesses to one byte by different threads, at least one of them a write that changes
// it, that no barrier or __syncwarp() orders. What is found does not depend on the order in which threads
// happen to run.
//
// Clocks are those of Lamport's happens-before relation, kept cheaply: a block's epoch advances at each of
// its barriers, and each lane of a warp has a vector of what it knows of the other lanes, which __syncwarp()
// joins. Shuffles and votes order a read before a later write, whose value passed through them, and nothing
// else, as CUDA's guide says of them. An asynchronous copy writes at any time from where it is issued to
// where it is waited for. As in FastTrack (Flanagan and Freund, 2009) a byte remembers its last writer and a
// few readers instead of all; bytes that are only ever accessed together do so together.
#pragma once

#include "tuner/measure/host_executor/access_log.h"
#include "tuner/measure/host_executor/device/lathe_abi.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lathe::host {

// One OS thread only.
class RaceLog {
public:
  struct Options {
    bool equal_writes = false; // count, too: HostRunOptions::equal_writes_race
    // Counts up where threads meet at a barrier, touch shared memory or read what another thread of the block
    // has written; null: nobody asks.
    volatile std::uint32_t* exchanges = nullptr;
  };
  // `regions`: those of shared memory and of buffers are watched.
  RaceLog(const std::vector<AccessLog::Region>& regions, const Options& options);

  void begin_block();
  void end_block() { settle(); }
  // The threads of the block that wait at a barrier go on.
  void barrier();
  // These lanes met: in __syncwarp(), or in another warp primitive.
  void warp_sync(unsigned warp, unsigned lanes, bool orders_writes);
  // Must be announced before a write happens.
  void access(unsigned thread, std::uintptr_t address, std::size_t bytes, bool write, bool atomic);
  // A copy that may write from now on; what is to be said where it has arrived, before it is made.
  std::uint32_t copy_begins(unsigned thread, std::uintptr_t address, std::size_t bytes);
  void copy_arrives(unsigned thread, std::uintptr_t address, std::size_t bytes, std::uint32_t begun);

  // At most one for each place and scope.
  const std::vector<HostRace>& races() const { return races_; }

private:
  struct Stamp {
    std::uint32_t epoch = 0, clock = 0; // epoch 0: none
    std::uint32_t meeting = 0;          // as `clock`, of all warp primitives
    std::uint16_t thread = 0;
    bool atomic = false;
  };
  // Of bytes that are accessed together: who changed one of them last, who wrote it last (changing it or
  // not), and up to two threads that have read it since.
  struct Cell {
    Stamp changer, writer, readers[2];
    bool is_used() const { return writer.epoch != 0 || readers[0].epoch != 0; }
  };
  struct Watched {
    std::uintptr_t begin = 0, end = 0;
    std::string name;
    bool is_shared = false;                                           // begins anew with each block
    unsigned shift = 0;                                               // a cell is of 2^shift bytes
    std::unique_ptr<Cell[], void (*)(void*)> cells{nullptr, nullptr}; // none before the first access
  };
  // A write that has been announced; whether it changes anything is seen later.
  struct Pending {
    Watched* region = nullptr;
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    Stamp stamp;
    std::uint32_t since = 0; // epoch from which on it may have happened
    std::array<unsigned char, 64> before{};
  };

  Watched* find(std::uintptr_t address, std::size_t bytes);
  // The cells of a region's bytes, which are made as small as that asks for.
  std::span<Cell> cells_of(Watched& region, std::uintptr_t address, std::size_t bytes);
  void refine(Watched& region, std::uintptr_t place);
  Stamp stamp_of(unsigned thread, bool atomic) const;
  bool is_ordered(const Watched& region, const Stamp& earlier, const Stamp& now, std::uint32_t since,
                  bool earlier_reads) const;
  void announce(Watched& region, std::uintptr_t address, std::size_t bytes, const Stamp& stamp,
                std::uint32_t since);
  void note_exchange() {
    if (options_.exchanges)
      *options_.exchanges = *options_.exchanges + 1;
  }
  void read(Watched& region, Cell& cell, const Stamp& now);
  void settle();
  void report(Watched& region, const Stamp& earlier, const Stamp& now, const char* what);

  Options options_;
  std::vector<Watched> watched_; // ascending
  std::size_t last_ = 0;
  std::uint32_t epoch_ = 0, block_epoch_ = 0; // now, and when the block began
  using Clocks = std::array<std::uint32_t, lathe_host::WARP>;
  // By warp and lane, what it knows of every lane: through __syncwarp(), and through any warp primitive.
  std::vector<std::array<Clocks, lathe_host::WARP>> known_, met_;
  Pending pending_;
  std::vector<HostRace> races_;
};

} // namespace lathe::host
