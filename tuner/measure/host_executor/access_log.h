// What a checked kernel does to memory: judges each access against the known regions and records it.
#pragma once

#include "tuner/measure/host_executor/host_executor.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::host {

// Which of so many bytes were touched: a bit each.
class TouchedBytes {
public:
  // None of `bytes` is touched yet.
  void resize(std::size_t bytes);
  // [first, last), of which what lies behind the last byte is left out.
  void add(std::size_t first, std::size_t last);
  // The longest runs of touched bytes, ascending, as numbers of bytes behind `origin`.
  std::vector<ByteRange> ranges(std::size_t origin) const;

private:
  // Zeros that cost memory and time only once they are touched: a traced kernel's buffers may be far larger
  // than what it touches of them.
  std::unique_ptr<std::uint64_t[], void (*)(void*)> words_{nullptr, nullptr};
  std::size_t bytes_ = 0;
  std::size_t low_ = SIZE_MAX, high_ = 0; // all that is touched lies in [low, high)
};

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

  // False: complaint() says what is wrong with this access.
  bool note(std::uintptr_t address, std::size_t bytes, bool write) {
    ++count_;
    const Found& found = found_[slot_of(address)];
    if (address < found.begin || address + bytes > found.end)
      return look_up(address, bytes, write);
    if (found.is_recorded)
      record(found.region, address, bytes, write);
    return true;
  }
  // Accesses from here on to [begin, end), which no region has a part of, are nobody's concern.
  void ignore(std::uintptr_t begin, std::uintptr_t end);
  std::string complaint(std::uintptr_t address, std::size_t bytes, bool write) const;
  void count_atomic(std::uintptr_t address);

  std::vector<BufferAccess> accesses() const;
  std::uint64_t count() const { return count_; } // accesses that were announced so far

private:
  // From GUARD_BYTES before the buffer on.
  struct Record {
    TouchedBytes read, written;
    std::uint64_t atomics = 0;
  };
  // Where an address near by was found last. Kernels alternate between buffers: one place for all would be
  // wrong at every other access, and a branch that is taken at every other access is slow.
  struct Found {
    std::uintptr_t begin = 1, end = 0;
    std::size_t region = 0;
    bool is_recorded = false;
  };
  static constexpr unsigned SLOT_BITS = 6, PAGE_BITS = 12;
  // Fibonacci hashing: buffers often lie at multiples of large powers of two from each other.
  static std::size_t slot_of(std::uintptr_t address) {
    return (address >> PAGE_BITS) * std::uint64_t{0x9e3779b97f4a7c15} >> (64 - SLOT_BITS);
  }

  bool look_up(std::uintptr_t address, std::size_t bytes, bool write);
  void record(std::size_t region, std::uintptr_t address, std::size_t bytes, bool write);

  std::vector<Region> regions_; // ascending, disjoint
  std::vector<Record> records_;
  std::array<Found, std::size_t{1} << SLOT_BITS> found_{};
  std::uint64_t count_ = 0;
  bool keep_, enforce_;
};

} // namespace lathe::host
