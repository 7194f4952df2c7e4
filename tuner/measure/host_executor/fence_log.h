// Finds results that a thread announces too early: an atomic operation on global memory behind a plain write
// to it, with no memory fence between. The write may be the thread's own or one that it waited for at a
// barrier; a fence of either orders it (fences are cumulative: CUDA C++ Programming Guide, "Memory Fence
// Functions"). Whether anybody relies on the order is not known here.
#pragma once

#include "tuner/measure/host_executor/access_log.h"
#include "tuner/measure/host_executor/device/lathe_abi.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::host {

// One OS thread only.
class FenceLog {
public:
  explicit FenceLog(const std::vector<AccessLog::Region>& regions);

  void begin_block();
  void barrier() { ++epoch_; }
  void fence(unsigned thread);
  void write(unsigned thread, std::uintptr_t address);
  void atomic(unsigned thread, std::uintptr_t address);

  std::uint64_t fences() const { return fences_; } // by all threads
  // The first such place; empty: none.
  const std::string& unfenced() const { return unfenced_; }

private:
  // A thread's last write that no fence has ordered since; epoch 0: none.
  struct Write {
    std::uint32_t epoch = 0;
    const AccessLog::Region* buffer = nullptr;
  };
  std::vector<AccessLog::Region> buffers_, shared_;
  std::array<Write, lathe_host::MAX_THREADS> writes_{};
  std::uint32_t epoch_ = 1; // barriers of the block so far, and one
  std::uint64_t fences_ = 0;
  std::string unfenced_;
};

} // namespace lathe::host
