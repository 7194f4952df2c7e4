// What a checked kernel does to memory: judges each access against the known regions and records it.
#pragma once

#include "tuner/measure/host_executor/host_executor.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace lathe::host {

// One OS thread only.
class AccessLog {
public:
  struct Region {
    enum Kind { buffer, static_shared, dynamic_shared, ignored } kind = ignored;
    std::uintptr_t begin = 0, end = 0; // exact
    std::size_t argument = 0;          // buffers
    std::string name;
  };

  // `keep`: record ranges (trace). `enforce`: accesses outside are errors (sanitize).
  AccessLog(std::vector<Region> regions, bool keep, bool enforce);

  // False: complaint() says what is wrong with this access. Kernels alternate between few regions.
  bool note(std::uintptr_t address, std::size_t bytes, bool write) {
    ++count_;
    for (std::size_t& recent : recent_) {
      const Region& hit = regions_[recent];
      if (address >= hit.begin && address + bytes <= hit.end) {
        if (keep_ && hit.kind == Region::buffer)
          record(recent, address, bytes, write);
        std::swap(recent, recent_[0]);
        return true;
      }
    }
    return look_up(address, bytes, write);
  }
  std::string complaint(std::uintptr_t address, std::size_t bytes, bool write) const;
  void count_atomic(std::uintptr_t address);

  std::vector<BufferAccess> accesses() const;
  std::uint64_t count() const { return count_; } // accesses of any kind so far

private:
  // Bits of touched bytes from GUARD_BYTES before the buffer on.
  struct Record {
    std::vector<bool> read, written;
    std::size_t low = SIZE_MAX, high = 0;
    std::uint64_t atomics = 0;
  };
  bool look_up(std::uintptr_t address, std::size_t bytes, bool write);
  void record(std::size_t region, std::uintptr_t address, std::size_t bytes, bool write);

  std::vector<Region> regions_; // ascending, disjoint
  std::vector<Record> records_;
  std::array<std::size_t, 3> recent_{}; // regions, the last one first
  std::uint64_t count_ = 0;
  bool keep_, enforce_;
};

} // namespace lathe::host
