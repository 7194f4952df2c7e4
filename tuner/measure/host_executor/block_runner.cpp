#include "tuner/measure/host_executor/block_runner.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace lathe::host {
namespace {

// Whether which thread comes next is left to chance.
bool is_drawn(HostSchedule schedule) {
  return schedule == HostSchedule::random || schedule == HostSchedule::interrupted;
}

} // namespace

BlockRunner::BlockRunner(Arena arena, BlockTask task)
    : arena_(std::move(arena)), task_(std::move(task)), contexts_(MAX_THREADS + 1), copies_(MAX_THREADS),
      random_(task_.seed) {
  const auto& dim = task_.launch.block;
  threads_ = dim[0] * dim[1] * dim[2];
  warps_.resize((threads_ + WARP - 1) / WARP);
  order_.resize(threads_);
  for (unsigned i = 0; i < threads_; ++i)
    order_[i] = i;
  if (task_.schedule == HostSchedule::reverse)
    std::reverse(order_.begin(), order_.end());
  if (task_.schedule == HostSchedule::interleaved)
    std::stable_sort(order_.begin(), order_.end(),
                     [](unsigned a, unsigned b) { return a % WARP < b % WARP; });
  Block& block = arena_.block();
  block.block_dim = {dim[0], dim[1], dim[2]};
  block.grid_dim = {task_.launch.grid[0], task_.launch.grid[1], task_.launch.grid[2]};
  block.threads = threads_;
  block.shared_bytes = task_.launch.shared_bytes;
  block.runner = this;
  block.own_accesses = 0;
  if (task_.schedule == HostSchedule::interrupted && task_.log != nullptr) {
    // Short runs interrupt what two accesses are to do together, long ones leave loops time to go round.
    constexpr unsigned LONGEST_RUNS[] = {4, 16, 64};
    is_interrupted_ = true;
    longest_run_ = LONGEST_RUNS[random_() % std::size(LONGEST_RUNS)];
  }
}

void BlockRunner::rank_warps() {
  rank_.resize(warps_.size());
  for (unsigned w = 0; w < rank_.size(); ++w)
    rank_[w] = w;
  std::shuffle(rank_.begin(), rank_.end(), random_);
}

void BlockRunner::start_block(Index3 index) {
  arena_.block().block = index;
  if (is_drawn(task_.schedule))
    std::shuffle(order_.begin(), order_.end(), random_);
  if (task_.schedule == HostSchedule::warps) {
    rank_warps();
    std::sort(order_.begin(), order_.end(), [this](unsigned a, unsigned b) {
      return std::pair(rank_[a / WARP], a) < std::pair(rank_[b / WARP], b);
    });
  }
  started_ = 0;
  waits_ = in_vain_ = yields_ = 0;
  live_ = threads_;
  for (unsigned w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = std::min(WARP, threads_ - w * WARP);
    warps_[w].live = lanes == WARP ? ~0u : (1u << lanes) - 1;
    warps_[w].runnable = lanes;
    warps_[w].used = warps_[w].open = 0;
    warps_[w].converging = 0;
  }
  for (Barrier& barrier : barrier_) {
    barrier.arrived = barrier.count = 0;
    barrier.waiting.clear();
  }
  poison_shared();
  if (task_.races)
    task_.races->begin_block();
  if (task_.fences)
    task_.fences->begin_block();
}

bool BlockRunner::run(Index3 index) {
  begin(index);
  while (!advance()) {
  }
  return failure_.what.empty();
}

void BlockRunner::begin(Index3 index) {
  running_ = this;
  start_block(index);
}

bool BlockRunner::advance() {
  running_ = this;
  is_suspended_ = is_waiting_ = false;
  unsigned carrier = MAIN, thread = 0;
  while (failure_.what.empty() && !is_suspended_ && choose(carrier, thread))
    switch_to(carrier);
  if (failure_.what.empty() && is_suspended_) {
    running_ = nullptr;
    return false;
  }
  if (failure_.what.empty() && live_ > 0)
    failure_.what = deadlock();
  if (failure_.what.empty() && !shared_intact())
    failure_.what = fmt::format("the kernel writes behind its {} bytes of dynamic shared memory",
                                task_.launch.shared_bytes);
  if (task_.races)
    task_.races->end_block();
  running_ = nullptr;
  return true;
}

// Which thread goes on: one that was woken, or one that has not started. A thread that starts needs a free
// carrier.
bool BlockRunner::choose(unsigned& carrier, unsigned& thread) {
  const bool can_start = started_ < order_.size();
  if (ready_.empty() && !can_start)
    return false;
  bool start = ready_.empty() || (can_start && std::exchange(starts_first_, false));
  if (task_.schedule == HostSchedule::interleaved)
    start = can_start;
  else if (is_drawn(task_.schedule) && can_start && !ready_.empty())
    start = random_() % (ready_.size() + (order_.size() - started_)) >= ready_.size();
  if (!start) {
    if (is_drawn(task_.schedule) && ready_.size() > 1)
      std::swap(ready_.front(), ready_[random_() % ready_.size()]);
    carrier = ready_.front();
    ready_.pop_front();
    return true;
  }
  thread = order_[started_++];
  pending_ = thread;
  if (free_.empty()) {
    const unsigned slot = ++carriers_;
    auto stack = arena_.stack(slot);
    if (!stack.ok()) { // as if nothing could run: reported with the reason
      failure_.what = stack.error().sentence();
      --carriers_;
      return false;
    }
    contexts_[slot] =
        boost::context::detail::make_fcontext(stack.value(), SLOT_BYTES / 2, &BlockRunner::carrier_main);
    free_.push_back(slot);
  }
  carrier = free_.back();
  free_.pop_back();
  return true;
}

void BlockRunner::switch_to(unsigned carrier) {
  const unsigned from = current_;
  current_ = carrier;
  const auto back =
      boost::context::detail::jump_fcontext(contexts_[carrier], static_cast<void*>(&contexts_[from]));
  *static_cast<boost::context::detail::fcontext_t*>(back.data) = back.fctx;
}

void BlockRunner::carrier_main(boost::context::detail::transfer_t from) {
  *static_cast<boost::context::detail::fcontext_t*>(from.data) = from.fctx;
  running()->carry();
}

// A carrier runs thread after thread and never ends.
void BlockRunner::carry() {
  const unsigned carrier = current_;
  while (true) {
    run_thread(pending_);
    unsigned next = MAIN, thread = 0;
    free_.push_back(carrier);
    if (!choose(next, thread))
      next = MAIN;
    if (next != carrier)
      switch_to(next);
  }
}

void BlockRunner::run_thread(unsigned thread) {
  ThreadSlot& slot = self();
  const Index3 dim = arena_.block().block_dim;
  slot.thread = {thread % dim.x, thread / dim.x % dim.y, thread / (dim.x * dim.y)};
  slot.linear = thread;
  slot.group = GROUPS;
  slot.patience = PATIENCE;
  repeats_ = 0; // the same flag that every thread of a large grid looks at once is no wait
  slot.frame = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  task_.entry->call(task_.arguments);
  end_thread();
}

void BlockRunner::announce(unsigned thread, const AsyncCopies::Copy& copy) {
  if (task_.races)
    task_.races->copy_arrives(thread, reinterpret_cast<std::uintptr_t>(copy.to), copy.bytes, copy.begun);
}

void BlockRunner::end_thread() {
  ThreadSlot& slot = self();
  copies_.finish(slot.linear, [this](unsigned of, const auto& copy) { announce(of, copy); });
  Warp& warp = warps_[slot.linear / WARP];
  drop_group(warp, slot);
  --live_;
  warp.live &= ~(1u << slot.linear % WARP);
  --warp.runnable;
  if (warp.open != 0)
    check_groups(warp);
  if (warp.converging != 0 && warp.runnable == 0)
    converge(warp);
  for (Barrier& barrier : barrier_)
    if (barrier.arrived > 0 && barrier.expected == 0 && barrier.arrived == live_)
      release(barrier);
}

void BlockRunner::wait() {
  Warp& warp = warps_[self().linear / WARP];
  --warp.runnable;
  if (warp.converging != 0 && warp.runnable == 0)
    converge(warp);
  unsigned next = MAIN, thread = 0;
  if (!choose(next, thread))
    next = MAIN;
  if (next != current_)
    switch_to(next);
}

void BlockRunner::wake(unsigned carrier) {
  ++warps_[arena_.thread(carrier).linear / WARP].runnable;
  // A warp that goes on after one of its own primitives goes before every other.
  if (task_.schedule == HostSchedule::warps && arena_.thread(carrier).wait_kind != WaitKind::barrier)
    ready_.push_front(carrier);
  else
    ready_.push_back(carrier);
}

void BlockRunner::yield() {
  ThreadSlot& slot = self();
  slot.patience = PATIENCE;
  if (ready_.empty() && started_ == order_.size())
    return;
  ready_.push_back(current_);
  unsigned next = MAIN, thread = 0;
  if (!choose(next, thread))
    next = MAIN;
  if (next != current_)
    switch_to(next);
}

void BlockRunner::interrupt(bool is_atomic) {
  until_interruption_ = 1 + static_cast<unsigned>(random_() % longest_run_);
  // A block's turn is over more often at what blocks tell each other by.
  constexpr unsigned ONE_IN = 64, ONE_ATOMIC_IN = 4;
  if (!task_.takes_turns || random_() % (is_atomic ? ONE_ATOMIC_IN : ONE_IN) != 0)
    return yield();
  suspend();
}

void BlockRunner::suspend() {
  is_suspended_ = true;
  ready_.push_back(current_);
  switch_to(MAIN);
}

// Other threads of the block first, each once; then other blocks.
void BlockRunner::wait_for_others() {
  patience_ = LATER_PATIENCE;
  // The whole word, which is there where a byte of it is.
  const std::uintptr_t place = last_place_ & ~(sizeof(std::uint64_t) - 1);
  const std::uint64_t value = *reinterpret_cast<const volatile std::uint64_t*>(place);
  const bool is_same_place = place == waited_place_, is_same = is_same_place && value == waited_value_;
  in_vain_ = is_same && repeats_ == waited_repeats_ + LATER_PATIENCE ? in_vain_ + 1 : 0;
  waits_ = is_same_place && !is_same ? 0 : waits_ + 1; // a thread that counts there waits for nobody
  waited_place_ = place, waited_value_ = value, waited_repeats_ = repeats_;
  if (waits_ > MOST_WAITS)
    fail({WAITS_FOR_A_BLOCK, 0, 0});
  const bool has_others = !ready_.empty() || started_ < order_.size();
  if (has_others && (!task_.may_wait || ++yields_ <= live_)) {
    starts_first_ = true; // those that have begun may all wait
    return yield();
  }
  yields_ = 0;
  if (!task_.may_wait)
    return;
  is_waiting_ = true;
  suspend();
}

unsigned BlockRunner::barrier(unsigned id, unsigned threads, bool waits, Vote vote, int predicate, int line) {
  ++meetings_;
  if (id >= NAMED_BARRIERS)
    fail({fmt::format("barrier {} does not exist: a block has 16", id), 0, line});
  if (threads % WARP != 0)
    fail({fmt::format("a barrier for {} threads: the count must be a multiple of the warp size", threads), 0,
          line});
  Barrier& barrier = barrier_[id];
  if (barrier.arrived == 0) {
    barrier.expected = threads;
    barrier.vote = vote;
    barrier.count = 0;
    barrier.line = line;
  } else if (barrier.expected != threads || barrier.vote != vote) {
    fail({fmt::format("the threads of a block meet at barriers of different kinds (lines {} and {})",
                      barrier.line, line),
          0, line});
  } else if (task_.strict_barriers && threads == 0 && barrier.line != line) {
    fail({fmt::format("{}: some threads of the block wait at line {}, others at line {}", DIVERGENT_BARRIER,
                      barrier.line, line),
          0, line});
  }
  ++barrier.arrived;
  barrier.count += predicate != 0;
  ThreadSlot& slot = self();
  if (barrier.arrived == (barrier.expected != 0 ? barrier.expected : live_)) {
    const unsigned count = barrier.count, arrived = barrier.arrived;
    release(barrier);
    return vote == Vote::count ? count : vote == Vote::all ? count == arrived : count != 0;
  }
  if (!waits)
    return 0;
  slot.wait_kind = WaitKind::barrier;
  slot.wait_line = line;
  slot.named_barrier = id;
  barrier.waiting.push_back(current_);
  wait();
  return slot.result;
}

void BlockRunner::release(Barrier& barrier) {
  const unsigned result = barrier.vote == Vote::count ? barrier.count
                          : barrier.vote == Vote::all ? barrier.count == barrier.arrived
                                                      : barrier.count != 0;
  if (task_.schedule == HostSchedule::reverse)
    std::reverse(barrier.waiting.begin(), barrier.waiting.end());
  if (task_.schedule == HostSchedule::warps) {
    rank_warps();
    std::stable_sort(barrier.waiting.begin(), barrier.waiting.end(), [this](unsigned a, unsigned b) {
      return rank_[arena_.thread(a).linear / WARP] < rank_[arena_.thread(b).linear / WARP];
    });
  }
  for (const unsigned carrier : barrier.waiting) {
    arena_.thread(carrier).result = result;
    wake(carrier);
  }
  barrier.waiting.clear();
  barrier.arrived = 0;
  ++barriers_done_;
  if (task_.races)
    task_.races->barrier();
  if (task_.fences)
    task_.fences->barrier();
}

const Exchange* BlockRunner::exchange(unsigned mask, unsigned operation, std::uint64_t value, int line) {
  ThreadSlot& slot = self();
  const unsigned warp_index = slot.linear / WARP, lane = slot.linear % WARP;
  Warp& warp = warps_[warp_index];
  ++meetings_;
  if (!(mask >> lane & 1))
    fail({fmt::format("a warp primitive with the mask 0x{:08x} that leaves out the calling lane {}", mask,
                      lane),
          0, line});
  drop_group(warp, slot);
  unsigned index = GROUPS;
  for (std::uint64_t open = warp.open; open != 0; open &= open - 1) {
    const auto candidate = static_cast<unsigned>(__builtin_ctzll(open));
    if (warp.groups[candidate].mask == mask) {
      index = candidate;
      break;
    }
  }
  if (index == GROUPS) {
    index = static_cast<unsigned>(__builtin_ctzll(~warp.used));
    warp.groups[index] = {mask, 0, 0, operation, line, true};
    warp.used |= 1ull << index;
    warp.open |= 1ull << index;
  }
  Group& group = warp.groups[index];
  if (group.operation != operation || (task_.strict && group.line != line))
    fail({fmt::format("divergent warp primitive: some lanes of a warp are at line {}, others at line {}",
                      group.line, line),
          0, line});
  Exchange& exchange = arena_.exchanges()[warp_index * GROUPS + index];
  exchange.value[lane] = value;
  group.arrived |= 1u << lane;
  slot.group = index;
  if (group.arrived == (mask & warp.live)) {
    complete(warp, index);
    return &exchange;
  }
  slot.wait_kind = WaitKind::warp;
  slot.wait_line = line;
  warp.carrier[lane] = current_;
  wait();
  return &exchange;
}

// All lanes have come: those that wait go on. A lane that did not take part shows a recognisable value.
void BlockRunner::complete(Warp& warp, unsigned index) {
  Group& group = warp.groups[index];
  Exchange& exchange = arena_.exchanges()[static_cast<std::size_t>(&warp - warps_.data()) * GROUPS + index];
  exchange.lanes = group.arrived;
  for (unsigned lane = 0; lane < WARP; ++lane)
    if (!(group.arrived >> lane & 1))
      exchange.value[lane] = 0xdeadbeefdeadbeefull;
  group.readers = group.arrived;
  group.open = false;
  warp.open &= ~(1ull << index);
  if (task_.races)
    task_.races->warp_sync(static_cast<unsigned>(&warp - warps_.data()), group.arrived,
                           group.operation == OPERATION_SYNC);
  const bool backwards = task_.schedule == HostSchedule::reverse;
  for (unsigned i = 0; i < WARP; ++i) {
    const unsigned lane = backwards ? WARP - 1 - i : i;
    if ((group.arrived >> lane & 1) && warp.carrier[lane] != current_ && warp.carrier[lane] != MAIN) {
      wake(warp.carrier[lane]);
      warp.carrier[lane] = MAIN;
    }
  }
}

// A lane has ended: exchanges that only waited for it are complete.
void BlockRunner::check_groups(Warp& warp) {
  for (std::uint64_t open = warp.open; open != 0; open &= open - 1) {
    const auto index = static_cast<unsigned>(__builtin_ctzll(open));
    const Group& group = warp.groups[index];
    if (group.arrived != 0 && group.arrived == (group.mask & warp.live))
      complete(warp, index);
  }
}

void BlockRunner::drop_group(Warp& warp, ThreadSlot& slot) {
  if (slot.group == GROUPS)
    return;
  Group& group = warp.groups[slot.group];
  group.readers &= ~(1u << slot.linear % WARP);
  if (group.readers == 0)
    warp.used &= ~(1ull << slot.group);
  slot.group = GROUPS;
}

// The active mask is that of the lanes that reach one place together: each waits until no lane of its warp
// can run.
unsigned BlockRunner::active_lanes() {
  ThreadSlot& slot = self();
  Warp& warp = warps_[slot.linear / WARP];
  const unsigned lane = slot.linear % WARP;
  slot.wait_kind = WaitKind::yield;
  warp.carrier[lane] = current_;
  warp.converging |= 1u << lane;
  wait();
  return slot.result;
}

void BlockRunner::converge(Warp& warp) {
  const unsigned lanes = std::exchange(warp.converging, 0);
  const unsigned part = task_.parts_of_active_lanes ? static_cast<unsigned>(random_()) : ~0u;
  for (unsigned lane = 0; lane < WARP; ++lane)
    if (lanes >> lane & 1) {
      arena_.thread(warp.carrier[lane]).result = lanes & (part >> lane & 1 ? part : ~part);
      wake(warp.carrier[lane]);
      warp.carrier[lane] = MAIN;
    }
}

void BlockRunner::fail(Failed failure) {
  failure_ = std::move(failure);
  switch_to(MAIN);
  __builtin_unreachable(); // a failed runner is never resumed
}

std::string BlockRunner::deadlock() const {
  std::map<std::pair<int, WaitKind>, unsigned> places;
  std::vector<bool> idle(MAX_THREADS + 1);
  for (const unsigned carrier : free_)
    idle[carrier] = true;
  for (unsigned carrier = 1; carrier <= carriers_; ++carrier)
    if (!idle[carrier]) {
      const ThreadSlot& slot = arena_.thread(carrier);
      ++places[{slot.wait_line, slot.wait_kind}];
    }
  std::string text;
  for (const auto& [place, count] : places)
    text += fmt::format("{}{} wait at the {} in line {}", text.empty() ? "" : ", ", count,
                        place.second == WaitKind::barrier ? "barrier" : "warp primitive", place.first);
  return fmt::format("deadlock in block ({}, {}, {}): of {} threads {} have ended, {}",
                     arena_.block().block.x, arena_.block().block.y, arena_.block().block.z, threads_,
                     threads_ - live_, text);
}

} // namespace lathe::host
