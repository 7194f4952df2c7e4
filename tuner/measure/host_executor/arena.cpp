#include "tuner/measure/host_executor/block_runner.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/mman.h>
#include <utility>

namespace lathe::host {
namespace {

constexpr std::size_t GUARD_PAGE = 4096;

Error no_memory(const char* what) {
  return {std::string("cannot reserve memory for ") + what, std::strerror(errno),
          "run fewer threads at a time"};
}

} // namespace

// An arena of this OS thread that is not in use: its pages are there already.
class SpareArena {
public:
  SpareArena() = default;
  SpareArena(const SpareArena&) = delete;
  SpareArena& operator=(const SpareArena&) = delete;
  ~SpareArena() {
    if (base_ != 0)
      munmap(reinterpret_cast<void*>(base_), ARENA_BYTES);
  }
  std::optional<Arena> take() {
    if (base_ == 0)
      return std::nullopt;
    return Arena(std::exchange(base_, 0), opened_);
  }
  // Whether it was kept.
  bool keep(const Arena& arena) {
    if (base_ != 0)
      return false;
    base_ = arena.base_;
    opened_ = arena.opened_;
    return true;
  }

private:
  std::uintptr_t base_ = 0;
  Arena::Opened opened_;
};

namespace {
thread_local SpareArena spare;
} // namespace

Result<Arena> Arena::create() {
  if (auto kept = spare.take())
    return std::move(*kept);
  // Twice the size, so that an aligned half lies inside; only touched pages cost memory.
  void* mapping =
      mmap(nullptr, 2 * ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return no_memory("the threads of a block");
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping);
  const std::uintptr_t base = (begin + ARENA_BYTES - 1) / ARENA_BYTES * ARENA_BYTES;
  if (base > begin)
    munmap(mapping, base - begin);
  if (begin + ARENA_BYTES > base)
    munmap(reinterpret_cast<void*>(base + ARENA_BYTES), begin + ARENA_BYTES - base);
  Arena arena(base, {});
  const std::size_t exchange_bytes = (MAX_THREADS / WARP) * 64 * sizeof(Exchange);
  if (mprotect(reinterpret_cast<void*>(base), SLOT_BYTES, PROT_READ | PROT_WRITE) != 0 ||
      mprotect(arena.exchanges(), exchange_bytes, PROT_READ | PROT_WRITE) != 0)
    return no_memory("the threads of a block");
  return arena;
}

Arena::Arena(Arena&& other) noexcept : base_(std::exchange(other.base_, 0)), opened_(other.opened_) {}

Arena::~Arena() {
  if (base_ != 0 && !spare.keep(*this))
    munmap(reinterpret_cast<void*>(base_), ARENA_BYTES);
}

Result<void*> Arena::stack(unsigned slot) {
  const std::uintptr_t begin = base_ + slot * SLOT_BYTES;
  if (!opened_.test(slot) && mprotect(reinterpret_cast<void*>(begin + GUARD_PAGE), SLOT_BYTES - GUARD_PAGE,
                                      PROT_READ | PROT_WRITE) != 0)
    return no_memory("a thread's stack");
  opened_.set(slot);
  // Tops at different offsets, lest all stacks compete for the same cache sets.
  const std::size_t colour = (slot % 61) * 320;
  return reinterpret_cast<void*>(begin + SLOT_BYTES - colour);
}

bool Arena::is_guard(std::uintptr_t address) const {
  return address >= base_ + SLOT_BYTES && address < base_ + EXCHANGE_SLOT * SLOT_BYTES &&
         (address - base_) % SLOT_BYTES < GUARD_PAGE;
}

} // namespace lathe::host
