// Runs the blocks of a launch on one OS thread, the threads of a block as fibers that switch only where they
// wait.
#pragma once

#include "tuner/measure/host_executor/access_log.h"
#include "tuner/measure/host_executor/async_copies.h"
#include "tuner/measure/host_executor/device/lathe_abi.h"
#include "tuner/measure/host_executor/fence_log.h"
#include "tuner/measure/host_executor/host_executor.h"
#include "tuner/measure/host_executor/kept_values.h"
#include "tuner/measure/host_executor/race_log.h"

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <bitset>
#include <deque>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace lathe::host {

using namespace lathe_host; // the ABI

// Address space for the fibers of one OS thread.
class Arena {
public:
  static Result<Arena> create();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();
  std::uintptr_t base() const { return base_; }
  Block& block() const { return *reinterpret_cast<Block*>(base_); }
  ThreadSlot& thread(unsigned slot) const {
    return *reinterpret_cast<ThreadSlot*>(base_ + THREAD_SLOTS_OFFSET + slot * sizeof(ThreadSlot));
  }
  Exchange* exchanges() const { return reinterpret_cast<Exchange*>(base_ + EXCHANGE_SLOT * SLOT_BYTES); }
  // The top of a stack that nobody uses; its memory stays open for the next user of the slot.
  Result<void*> stack(unsigned slot);
  bool is_guard(std::uintptr_t address) const;

private:
  // Slots whose stacks have been opened: that costs a call of the system each.
  using Opened = std::bitset<ARENA_BYTES / SLOT_BYTES>;

  Arena(std::uintptr_t base, const Opened& opened) : base_(base), opened_(opened) {}
  std::uintptr_t base_ = 0;
  Opened opened_;

  friend class SpareArena;
};

struct Failed {
  std::string what;         // empty: no failure
  std::uintptr_t where = 0; // an address in the kernel's code, or 0
  int line = 0;             // of the kernel's file, or 0
};

struct BlockTask {
  const Entry* entry = nullptr;
  void* const* arguments = nullptr;
  Launch launch;
  HostSchedule schedule = HostSchedule::forward;
  std::uint64_t seed = 1;
  std::byte poison{0xff};
  bool strict = false;                // warp primitives must be reached in one place by all
  bool strict_barriers = false;       // barriers too
  bool parts_of_active_lanes = false; // HostRunOptions::parts_of_active_lanes
  AccessLog* log = nullptr;
  RaceLog* races = nullptr;
  FenceLog* fences = nullptr;
  bool takes_turns = false;              // two runners of one OS thread have a block each
  bool may_wait = false;                 // for a block that another runner of the OS thread has
  bool reverse_blocks = false;           // the last block first
  std::span<const std::uint64_t> blocks; // the only ones that run, by number; none: all
  void (*shared_memory)(SharedMemory*) = nullptr;
  std::size_t static_before = 0,
              static_after = 0; // thread-local static shared memory around the dynamic array
  std::function<void(std::string_view)> print;
};

class BlockRunner {
public:
  BlockRunner(Arena arena, BlockTask task);
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Must be called first, on the OS thread that runs the blocks.
  void bind_to_thread();
  // False when a thread of the block failed: failure() says why, and the runner is of no more use.
  bool run(Index3 block);
  // The same in parts, of a task whose blocks take turns or may wait: begin(), and advance() until it is
  // true. Before another runner of the OS thread begins or goes on, this one leaves(), and enters() before it
  // does so again.
  void begin(Index3 block);
  bool advance();
  // Whether advance() ended as a thread looked at one place again and again, which another block has to
  // change; and whether it has for so long that none of those that have begun will.
  bool waits() const { return is_waiting_; }
  bool waits_in_vain() const { return is_waiting_ && in_vain_ >= IN_VAIN; }
  // Another block of the launch has waited: this runner's need not look for long before they do.
  void expect_waits() { patience_ = LATER_PATIENCE; }
  // Ends a launch none of whose blocks goes on.
  void give_up() { failure_ = {WAITS_FOR_A_BLOCK, 0, 0}; }
  void leave();
  void enter();
  const Failed& failure() const { return failure_; }
  std::uint64_t barriers() const { return barriers_done_; }
  // Calls of barriers and warp primitives, by all threads.
  std::uint64_t meetings() const { return meetings_; }
  // Of checked kernels to the executor's own memory.
  std::uint64_t own_accesses() const { return arena_.block().own_accesses; }

  static const Api& api();
  static BlockRunner* running() { return running_; } // on the calling OS thread, or null

  // What kernels call, by the running fiber.
  unsigned barrier(unsigned id, unsigned threads, bool wait, Vote vote, int predicate, int line);
  const Exchange* exchange(unsigned mask, unsigned operation, std::uint64_t value, int line);
  unsigned active_lanes();
  void yield();
  [[noreturn]] void fail(Failed failure);
  AccessLog* log() const { return task_.log; }
  RaceLog* races() const { return task_.races; }
  FenceLog* fences() const { return task_.fences; }
  const BlockTask& task() const { return task_; }
  AsyncCopies& copies() { return copies_; }
  KeptValues& kept_values() { return kept_values_; }
  // What copies() announces to: what arrives is a write of its thread.
  void announce(unsigned thread, const AsyncCopies::Copy& copy);
  const Arena& arena() const { return arena_; }
  // Of each access to memory, before it is made: one place over and over, while no thread begins, is a wait
  // for another thread or for another block.
  void note_place(std::uintptr_t address) {
    repeats_ = address == last_place_ ? repeats_ + 1 : 0;
    last_place_ = address;
    if (repeats_ >= patience_ && repeats_ % LATER_PATIENCE == 0) [[unlikely]]
      wait_for_others();
  }
  // What each access to memory comes to, before it is made: the running fiber may have to wait for others.
  void may_interrupt(bool is_atomic) {
    if (is_interrupted_ && --until_interruption_ == 0)
      interrupt(is_atomic);
  }

private:
  static constexpr std::uint64_t FIRST_PATIENCE = 1u << 16, LATER_PATIENCE = 1u << 8; // looks at one place
  static constexpr unsigned IN_VAIN = 64;          // waits in a row, with nothing between them
  static constexpr unsigned MOST_WAITS = 1u << 15; // of one block; of LATER_PATIENCE each: a second or so
  static constexpr unsigned MAIN = 0;
  static constexpr unsigned GROUPS = 64; // exchanges of one warp in flight: at most two a lane
  static constexpr unsigned NAMED_BARRIERS = 16;
  static constexpr unsigned PATIENCE = 1024;

  struct Barrier {
    unsigned arrived = 0, expected = 0; // expected 0: all live threads
    Vote vote = Vote::none;
    unsigned count = 0;
    int line = 0;
    std::vector<unsigned> waiting;
  };
  struct Group {
    unsigned mask = 0, arrived = 0, readers = 0, operation = 0;
    int line = 0;
    bool open = false;
  };
  struct Warp {
    unsigned live = 0;     // lanes
    unsigned runnable = 0; // lanes that neither wait nor have ended
    std::array<Group, GROUPS> groups;
    std::uint64_t used = 0;               // bits: groups that hold or collect values
    std::uint64_t open = 0;               // bits: still collecting
    std::array<unsigned, WARP> carrier{}; // of each waiting lane
    unsigned converging = 0;              // lanes that asked for the active mask
  };

  static void carrier_main(boost::context::detail::transfer_t from);
  void carry();
  void run_thread(unsigned thread);
  void end_thread();
  void wait(); // the running fiber stops until woken
  void wake(unsigned carrier);
  bool choose(unsigned& carrier, unsigned& thread); // what runs next; false: nothing can
  void switch_to(unsigned carrier);
  void release(Barrier& barrier);
  void complete(Warp& warp, unsigned index);
  void check_groups(Warp& warp);
  void converge(Warp& warp);
  void drop_group(Warp& warp, ThreadSlot& slot);
  void start_block(Index3 block);
  void poison_shared();
  bool shared_intact();
  std::string deadlock() const;
  ThreadSlot& self() const { return arena_.thread(current_); }

  static inline constinit thread_local BlockRunner* running_ = nullptr;

  Arena arena_;
  BlockTask task_;
  unsigned threads_ = 0;
  std::vector<unsigned> order_; // in which threads start
  std::vector<unsigned> rank_;  // of each warp, for HostSchedule::warps
  void rank_warps();
  void interrupt(bool is_atomic);
  void wait_for_others();
  void suspend();
  bool is_interrupted_ = false, is_suspended_ = false, is_waiting_ = false, starts_first_ = false;
  unsigned until_interruption_ = 1, longest_run_ = 1; // accesses
  std::vector<unsigned char> left_;                   // shared memory, of a runner that has left
  std::size_t started_ = 0;
  unsigned live_ = 0;
  unsigned current_ = MAIN;
  unsigned pending_ = 0; // the thread that a free carrier shall start
  std::deque<unsigned> ready_;
  std::vector<unsigned> free_;
  unsigned carriers_ = 0; // created
  std::vector<boost::context::detail::fcontext_t> contexts_;
  std::vector<Warp> warps_;
  std::uintptr_t last_place_ = 0;
  std::uint64_t repeats_ = 0, patience_ = FIRST_PATIENCE;
  // Of the block: waits for what did not change, those of them in a row, what was looked at then, and how
  // often another thread went on since.
  unsigned waits_ = 0, in_vain_ = 0, yields_ = 0;
  std::uintptr_t waited_place_ = 0;
  std::uint64_t waited_value_ = 0, waited_repeats_ = 0;
  AsyncCopies copies_;
  KeptValues kept_values_;
  std::array<Barrier, NAMED_BARRIERS> barrier_;
  std::uint64_t barriers_done_ = 0, meetings_ = 0;
  Failed failure_;
  std::mt19937_64 random_;
  unsigned char* dynamic_ = nullptr;
  std::array<std::pair<unsigned char*, unsigned char*>, 2> static_{}; // begin, end
};

} // namespace lathe::host
