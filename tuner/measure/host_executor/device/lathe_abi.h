// What a compiled kernel and the host executor agree on. Included by both sides; plain C++17, no
// dependencies.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace lathe_host {

constexpr unsigned ABI_VERSION = 8;
constexpr unsigned MAX_THREADS = 1024; // of a block
constexpr unsigned WARP = 32;
constexpr size_t SLOT_BYTES = 256u << 10; // address space of one fiber's stack
constexpr size_t ARENA_BYTES =
    512u << 20; // aligned to its size: the stack pointer tells the arena and the slot
constexpr size_t MAX_DYNAMIC_SHARED = 227u << 10;
constexpr size_t DYNAMIC_SHARED_SLACK = 4096; // behind it, checked for stray writes

struct Index3 {
  unsigned x, y, z;
};

enum class Vote : int { none, count, all, any };

enum class WaitKind : int { barrier, warp, yield };

// One executing CUDA thread, in the first slots of its arena.
struct ThreadSlot {
  Index3 thread;
  unsigned linear; // x + y * dim.x + z * dim.x * dim.y
  unsigned result; // of the barrier that it waited at
  unsigned group;  // of the warp exchange that it holds
  int wait_line;
  WaitKind wait_kind;
  unsigned patience; // atomics left before the others get a turn
  unsigned named_barrier;
  unsigned reserved;
  uint64_t frame; // where its life began on its stack: its own variables lie below
  unsigned reserved_too[2];
};
static_assert(sizeof(ThreadSlot) == 64, "one cache line");

// One running block, at the start of its arena.
struct Block {
  Index3 block, block_dim, grid_dim;
  unsigned threads, shared_bytes;
  unsigned char* shared_window; // 32-bit shared addresses are relative to it
  unsigned char* dynamic_shared;
  void* runner;
  uint64_t own_accesses; // of a checked kernel to the executor's memory: counted, and not announced
};
constexpr size_t THREAD_SLOTS_OFFSET = 4096;
constexpr size_t FIRST_STACK_SLOT = 1; // slot 0 holds the block and the thread slots
constexpr size_t EXCHANGE_SLOT = FIRST_STACK_SLOT + MAX_THREADS; // from here on: the warps' exchanges

// Values that the lanes of a warp put up; valid until the calling thread's next exchange.
constexpr unsigned OPERATION_SYNC = 1; // what an exchange is for: to meet, and nothing else
struct Exchange {
  uint64_t value[WARP];
  unsigned lanes; // that took part
};

// Functions of the executor that a kernel calls.
struct Api {
  unsigned version;
  unsigned (*barrier)(unsigned id, unsigned threads, bool wait, Vote vote, int predicate, int line);
  const Exchange* (*exchange)(unsigned mask, unsigned operation, uint64_t value, int line);
  unsigned (*active_lanes)();
  void (*yield)();
  void (*fail)(const char* what, const char* file, int line);
  void (*print)(const char* text, size_t length);
  void (*access)(const void* address, size_t bytes, bool write, const void* return_address);
  void (*atomic)(const void* address, size_t bytes);
  void (*atomic_access)(const void* address, size_t bytes, bool write); // that only reads or only writes
  void (*undefined)(const char* what, const void* return_address);
  void (*fence)(); // of the device or the system
  // cp.async of 1 to 16 bytes, of which `read` come from `from` and the rest are zeros; its groups; a wait
  // for all of them but the last `pending`, or for everything.
  void (*async_copy)(void* to, const void* from, unsigned bytes, unsigned read);
  void (*async_commit)();
  void (*async_wait)(unsigned pending);
  void (*async_finish)();
  // Values that stand-ins for libraries pass between threads of a block outside the kernel's memory: by their
  // owner, an address of the kernel's, and a number. What nobody kept is zeros.
  void (*keep)(const void* owner, unsigned number, const void* value, unsigned bytes);
  void (*recall)(const void* owner, unsigned number, void* value, unsigned bytes);
};

struct ParameterInfo {
  unsigned size;
  bool is_pointer, points_to_const;
};

// One kernel instance of a shared object.
struct Entry {
  void (*call)(void* const* arguments);
  const ParameterInfo* parameters;
  unsigned parameter_count;
};

// Where the calling OS thread's static and dynamic shared memory is.
struct SharedMemory {
  unsigned char *begin, *end; // static: also holds the dynamic array when blocks run on several OS threads
  unsigned char* dynamic;
  unsigned char* guard; // checked kernels: SHARED_GUARD_BYTES within the static part that are nobody's
};
constexpr size_t SHARED_GUARD_BYTES = 4096;

// One variable in static shared memory of a checked kernel, or one that outlives its launches; a table of
// them ends with null.
struct SharedVariable {
  unsigned char* begin;
  uint64_t bytes;
};

// A place in the kernel's text that a checked kernel marks when it runs.
struct Place {
  unsigned line, column;
  unsigned entry; // the place, by index, at which its function begins
};

// A loop in the kernel's text, and what a checked kernel leaves in the loop's mark.
struct Loop {
  unsigned line, column;
};
constexpr unsigned char LOOP_EXCHANGES = 1; // the count of exchanges changed in it
constexpr unsigned char LOOP_WENT_ON = 2;   // beside that, a thread finished three rounds of it in one go

} // namespace lathe_host
