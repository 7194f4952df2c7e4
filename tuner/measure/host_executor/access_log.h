// What a checked kernel does to memory: judges each access against the known regions and records it.
#pragma once

#include "tuner/measure/host_executor/host_executor.h"

#include <string>
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

  // Empty, or what is wrong with this access.
  std::string note(std::uintptr_t address, std::size_t bytes, bool write) {
    const Region& hit = regions_[last_];
    if (address >= hit.begin && address + bytes <= hit.end) {
      if (keep_ && hit.kind == Region::buffer)
        record(last_, address, bytes, write);
      return {};
    }
    return look_up(address, bytes, write);
  }
  void count_atomic(std::uintptr_t address);

  std::vector<BufferAccess> accesses() const;

private:
  // Bits of touched bytes from GUARD_BYTES before the buffer on.
  struct Record {
    std::vector<bool> read, written;
    std::size_t low = SIZE_MAX, high = 0;
    std::uint64_t atomics = 0;
  };
  std::string look_up(std::uintptr_t address, std::size_t bytes, bool write);
  void record(std::size_t region, std::uintptr_t address, std::size_t bytes, bool write);

  std::vector<Region> regions_; // ascending, disjoint
  std::vector<Record> records_;
  std::size_t last_ = 0;
  bool keep_, enforce_;
};

} // namespace lathe::host
