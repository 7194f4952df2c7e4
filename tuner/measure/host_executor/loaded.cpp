#include "tuner/measure/host_executor/loaded.h"

#include "tuner/measure/fill.h"
#include "tuner/measure/host_executor/isolate.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <mutex>
#include <optional>
#include <thread>

namespace lathe::host {
namespace {

// Of all threads of this process so far; waiting costs nothing.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Image {
  std::uintptr_t load_address;
  std::uintptr_t end = 0;
  std::uintptr_t local_begin = 0, local_end = 0; // the calling thread's copy of the thread-local segment
};

int find_image(dl_phdr_info* info, std::size_t, void* data) {
  auto& image = *static_cast<Image*>(data);
  if (info->dlpi_addr != image.load_address)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD)
      image.end = std::max<std::uintptr_t>(image.end, image.load_address + header.p_vaddr + header.p_memsz);
    if (header.p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
      image.local_begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
      image.local_end = image.local_begin + header.p_memsz;
    }
  }
  return 1;
}

std::string buffer_name(const HostArgument& argument, std::size_t index) {
  return argument.name.empty() ? fmt::format("the buffer of argument {}", index)
                               : fmt::format("buffer '{}'", argument.name);
}

// The regions that a checked kernel may touch. Shared memory lies inside the image, fibers inside the arenas.
std::vector<AccessLog::Region> regions_of(const LoadedUnit& unit, std::span<const Arena> arenas,
                                          const Launch& geometry, std::span<const HostArgument> arguments) {
  using Region = AccessLog::Region;
  std::vector<Region> regions;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const HostBuffer* buffer = arguments[i].buffer;
    if (buffer == nullptr)
      continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer->data());
    // Two arguments may point into one buffer: it is recorded under the first.
    const bool known = std::any_of(regions.begin(), regions.end(),
                                   [&](const Region& region) { return region.begin == begin; });
    if (!known)
      regions.push_back({Region::buffer, begin, begin + buffer->size(), i, buffer_name(arguments[i], i)});
  }
  SharedMemory shared;
  unit.shared_memory()(&shared);
  const auto address = [](const unsigned char* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  const auto add_static = [&](const unsigned char* begin, const unsigned char* end) {
    if (end > begin)
      regions.push_back({Region::static_shared, address(begin), address(end), 0, "static shared memory"});
  };
  if (const SharedVariable* variable = unit.shared_variables()) {
    for (; variable->begin != nullptr; ++variable)
      add_static(variable->begin, variable->begin + variable->bytes);
  } else {
    add_static(shared.begin, shared.guard);
    add_static(shared.guard + SHARED_GUARD_BYTES, shared.end);
  }
  const std::uintptr_t dynamic = address(shared.dynamic);
  regions.push_back(
      {Region::dynamic_shared, dynamic, dynamic + geometry.shared_bytes, 0, "dynamic shared memory"});
  // The rest of the image: constants and __device__ variables.
  struct Hole {
    std::uintptr_t begin, end;
  };
  std::vector<Hole> holes{{dynamic, dynamic + MAX_DYNAMIC_SHARED + DYNAMIC_SHARED_SLACK}};
  if (shared.end > shared.begin)
    holes.push_back({address(shared.begin), address(shared.end)});
  std::sort(holes.begin(), holes.end(), [](const Hole& a, const Hole& b) { return a.begin < b.begin; });
  std::uintptr_t at = unit.load_address();
  for (const Hole& hole : holes) {
    if (hole.begin > at)
      regions.push_back({Region::ignored, at, hole.begin, 0, ""});
    at = hole.end;
  }
  regions.push_back({Region::ignored, at, unit.end_address(), 0, ""});
  for (const Arena& arena : arenas)
    regions.push_back({Region::ignored, arena.base(), arena.base() + ARENA_BYTES, 0, ""});
  // The table that barriers and warp primitives are called through.
  const auto table = reinterpret_cast<std::uintptr_t>(&BlockRunner::api());
  regions.push_back({Region::ignored, table, table + sizeof(Api), 0, ""});
  return regions;
}

// Blocks are handed out one by one; the launch is over when all workers are done. Where blocks take turns,
// two of them are there at a time, on one OS thread; and where blocks wait for others, as many more as wait.
class Workers {
public:
  // `work_limit`: HostRunOptions::work_limit, where the task has a log.
  Workers(const BlockTask& task, std::vector<Arena> arenas, bool in_child, std::uint64_t work_limit)
      : log_(task.log), work_limit_(task.log ? work_limit : 0) {
    for (Arena& arena : arenas)
      runners_.push_back(std::make_unique<BlockRunner>(std::move(arena), task));
    has_block_.resize(runners_.size());
    only_ = task.blocks;
    blocks_ = only_.empty() ? std::uint64_t{task.launch.grid[0]} * task.launch.grid[1] * task.launch.grid[2]
                            : only_.size();
    grid_ = task.launch.grid;
    runners_[0]->bind_to_thread();
    if (task.takes_turns || task.may_wait) {
      for (std::size_t i = 1; i < runners_.size(); ++i)
        runners_[i]->bind_to_thread();
      at_once_ = runners_.size();
      return;
    }
    for (std::size_t i = 1; i < runners_.size(); ++i)
      threads_.emplace_back([this, i, in_child] {
        std::optional<SignalStack> stack;
        if (in_child)
          stack.emplace();
        runners_[i]->bind_to_thread();
        serve(i);
      });
  }
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    start_.notify_all();
    for (std::thread& thread : threads_)
      thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  double run() {
    const auto begin = std::chrono::steady_clock::now();
    next_ = 0;
    if (!threads_.empty()) {
      const std::lock_guard lock(mutex_);
      busy_ = threads_.size();
      ++generation_;
    }
    start_.notify_all();
    if (at_once_ > 0)
      work_in_turn();
    else
      work(*runners_[0]);
    if (!threads_.empty()) {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return busy_ == 0; });
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  const Failed* failure() const {
    for (const auto& runner : runners_)
      if (!runner->failure().what.empty())
        return &runner->failure();
    return nullptr;
  }
  std::uint64_t meetings() const {
    std::uint64_t sum = 0;
    for (const auto& runner : runners_)
      sum += runner->meetings();
    return sum;
  }
  std::uint64_t own_accesses() const {
    std::uint64_t sum = 0;
    for (const auto& runner : runners_)
      sum += runner->own_accesses();
    return sum;
  }
  // Counted accesses, and meetings at the price of several.
  std::uint64_t executed() const {
    constexpr std::uint64_t ACCESSES_PER_MEETING = 4; // a switch between fibers takes as long
    return (log_ ? log_->count() : 0) + own_accesses() + ACCESSES_PER_MEETING * meetings();
  }
  bool is_cut_short() const { return is_cut_short_; }
  std::uint64_t barriers() const {
    std::uint64_t sum = 0;
    for (const auto& runner : runners_)
      sum += runner->barriers();
    return sum;
  }

private:
  void serve(std::size_t index) {
    std::uint64_t seen = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return stop_ || generation_ != seen; });
        if (stop_)
          return;
        seen = generation_;
      }
      work(*runners_[index]);
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0)
        done_.notify_one();
    }
  }
  // The next block, or nothing where all have been handed out.
  std::optional<Index3> take_block() {
    std::uint64_t linear = next_.fetch_add(1, std::memory_order_relaxed);
    if (linear >= blocks_)
      return std::nullopt;
    if (runners_[0]->task().reverse_blocks)
      linear = blocks_ - 1 - linear;
    if (!only_.empty())
      linear = only_[linear];
    const std::uint64_t row = linear / grid_[0];
    return Index3{static_cast<unsigned>(linear % grid_[0]), static_cast<unsigned>(row % grid_[1]),
                  static_cast<unsigned>(row / grid_[1])};
  }
  void end_block(const BlockRunner& runner) {
    if (!runner.failure().what.empty())
      failed_ = true;
    if (work_limit_ > 0 && executed() > work_limit_ && next_ < blocks_)
      is_cut_short_ = true;
  }
  void work(BlockRunner& runner) {
    while (!failed_ && !is_cut_short_) {
      const auto block = take_block();
      if (!block)
        return;
      runner.run(*block);
      end_block(runner);
    }
  }
  // Of this OS thread's runners, all of which have their blocks in turn.
  void work_in_turn() {
    std::size_t last = 0; // whose shared memory is there
    for (std::size_t turn = 0; !failed_ && !is_cut_short_; turn = (turn + 1) % runners_.size()) {
      std::optional<Index3> block;
      if (!has_block_[turn] && going_on() < at_once_)
        block = take_block();
      if (!has_block_[turn] && !block) {
        if (std::ranges::find(has_block_, true) == has_block_.end())
          return;
        continue;
      }
      if (last != turn && has_block_[last])
        runners_[last]->leave();
      BlockRunner& runner = *runners_[turn];
      if (last != turn && has_block_[turn])
        runner.enter();
      last = turn;
      if (block)
        runner.begin(*block);
      has_block_[turn] = !runner.advance();
      if (!has_block_[turn])
        end_block(runner);
      else if (runner.waits() && std::ranges::find(has_block_, false) == has_block_.end() && !add_runner() &&
               std::ranges::all_of(runners_, [](const auto& each) { return each->waits_in_vain(); }))
        give_up(runner);
    }
  }
  // Blocks that have begun and do not wait.
  std::size_t going_on() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < runners_.size(); ++i)
      count += has_block_[i] && !runners_[i]->waits();
    return count;
  }
  // One more runner for a block that the others wait for. False: there is no such block, or no room.
  bool add_runner() {
    // A fiber takes two mappings, of the 65530 that a process may have.
    constexpr std::size_t MOST_FIBERS = 24576;
    const BlockTask& task = runners_[0]->task();
    const std::size_t threads =
        std::size_t{task.launch.block[0]} * task.launch.block[1] * task.launch.block[2];
    if (next_ >= blocks_ || (runners_.size() + 1) * threads > MOST_FIBERS)
      return false;
    auto arena = Arena::create();
    if (!arena.ok())
      return false;
    if (task.log)
      task.log->ignore(arena->base(), arena->base() + ARENA_BYTES);
    runners_.push_back(std::make_unique<BlockRunner>(std::move(*arena), task));
    has_block_.push_back(false);
    runners_.back()->bind_to_thread();
    for (const auto& runner : runners_)
      runner->expect_waits();
    return true;
  }
  void give_up(BlockRunner& runner) {
    runner.give_up();
    failed_ = true;
  }

  std::vector<std::unique_ptr<BlockRunner>> runners_;
  std::vector<bool> has_block_;
  std::size_t at_once_ = 0; // runners of one OS thread that go on in turn; 0: each has a thread of its own
  std::vector<std::thread> threads_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false}, is_cut_short_{false};
  const AccessLog* log_;
  std::uint64_t work_limit_;
  std::span<const std::uint64_t> only_; // blocks, by number; none: all
  std::uint64_t blocks_ = 0;
  std::array<std::uint32_t, 3> grid_{};
  std::mutex mutex_;
  std::condition_variable start_, done_;
  std::size_t busy_ = 0;
  std::uint64_t generation_ = 0;
  bool stop_ = false;
};

} // namespace

Result<std::shared_ptr<const LoadedUnit>> LoadedUnit::load(const std::filesystem::path& object) {
  std::shared_ptr<LoadedUnit> unit(new LoadedUnit);
  unit->handle_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (unit->handle_ == nullptr) {
    const char* why = dlerror();
    return Error{"cannot load the compiled kernel", why == nullptr ? "unknown error" : why,
                 "remove " + object.string()};
  }
  const auto attach = reinterpret_cast<unsigned (*)(const Api*)>(dlsym(unit->handle_, "lathe_attach"));
  unit->shared_memory_ =
      reinterpret_cast<void (*)(SharedMemory*)>(dlsym(unit->handle_, "lathe_shared_memory"));
  if (attach == nullptr || unit->shared_memory_ == nullptr || attach(&BlockRunner::api()) != ABI_VERSION)
    return Error{"cannot load the compiled kernel", "it was made by another version of the host executor",
                 "remove " + object.string()};
  link_map* map = nullptr;
  if (dlinfo(unit->handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr)
    unit->load_address_ = map->l_addr;
  SharedMemory memory;
  unit->shared_memory_(&memory); // also allocates the thread's copy
  Image image{unit->load_address_};
  dl_iterate_phdr(find_image, &image);
  unit->end_address_ = image.end;
  const auto dynamic = reinterpret_cast<std::uintptr_t>(memory.dynamic);
  const std::uintptr_t behind = dynamic + MAX_DYNAMIC_SHARED + DYNAMIC_SHARED_SLACK;
  if (image.local_begin <= dynamic && behind <= image.local_end) {
    unit->static_before_ = dynamic - image.local_begin;
    unit->static_after_ = image.local_end - behind;
  }
  unit->shared_variables_ =
      static_cast<const SharedVariable*>(dlsym(unit->handle_, "lathe_shared_variables"));
  unit->globals_ =
      Globals(static_cast<const SharedVariable*>(dlsym(unit->handle_, "lathe_global_variables")));
  unit->local_poison_ = static_cast<unsigned char*>(dlsym(unit->handle_, "lathe_local_poison"));
  unit->reached_ = static_cast<unsigned char*>(dlsym(unit->handle_, "lathe_reached"));
  const auto* places = static_cast<const Place*>(dlsym(unit->handle_, "lathe_places"));
  const auto* count = static_cast<const std::uint32_t*>(dlsym(unit->handle_, "lathe_place_count"));
  if (unit->reached_ != nullptr && places != nullptr && count != nullptr)
    for (std::uint32_t i = 0; i < *count; ++i)
      unit->places_.push_back({places[i].line, places[i].column, places[i].entry});
  unit->loop_marks_ = static_cast<unsigned char*>(dlsym(unit->handle_, "lathe_loop_marks"));
  unit->exchanges_ = static_cast<volatile std::uint32_t*>(dlsym(unit->handle_, "lathe_exchanges"));
  const auto* loops = static_cast<const Loop*>(dlsym(unit->handle_, "lathe_loops"));
  const auto* loop_count = static_cast<const std::uint32_t*>(dlsym(unit->handle_, "lathe_loop_count"));
  if (unit->loop_marks_ != nullptr && loops != nullptr && loop_count != nullptr)
    unit->loops_.assign(loops, loops + *loop_count);
  return std::shared_ptr<const LoadedUnit>(std::move(unit));
}

void LoadedUnit::begin_places() const {
  std::fill_n(reached_, places_.size(), static_cast<unsigned char>(0));
}

std::vector<bool> LoadedUnit::reached() const {
  return std::vector<bool>(reached_, reached_ + places_.size());
}

volatile std::uint32_t* LoadedUnit::begin_loops() const {
  std::fill_n(loop_marks_, loops_.size(), static_cast<unsigned char>(0));
  return exchanges_;
}

std::vector<HostLoop> LoadedUnit::loops() const {
  std::vector<HostLoop> found;
  for (std::size_t i = 0; i < loops_.size(); ++i)
    if ((loop_marks_[i] & LOOP_EXCHANGES) != 0)
      found.push_back({loops_[i].line, loops_[i].column, (loop_marks_[i] & LOOP_WENT_ON) != 0});
  return found;
}

LoadedUnit::~LoadedUnit() {
  if (handle_ != nullptr)
    dlclose(handle_);
}

std::size_t LoadedUnit::static_shared_bytes() const {
  SharedMemory memory;
  shared_memory_(&memory);
  return memory.begin != nullptr ? static_cast<std::size_t>(memory.end - memory.begin) - SHARED_GUARD_BYTES
                                 : static_before_ + static_after_;
}

const Entry* LoadedUnit::entry(std::size_t index) const {
  return static_cast<const Entry*>(dlsym(handle_, fmt::format("lathe_entry_{}", index).c_str()));
}

LaunchEnd launch(const LoadedUnit& unit, const Entry& entry, const Launch& geometry,
                 std::span<const HostArgument> arguments, const HostRunOptions& options, Checks checks) {
  LaunchEnd end;
  const bool checked = checks.sanitize || checks.trace;
  const std::uint64_t blocks = std::uint64_t{geometry.grid[0]} * geometry.grid[1] * geometry.grid[2];
  for (const std::uint64_t block : options.blocks)
    if (block >= blocks) {
      end.failure.what = fmt::format("the launch has no block {}", block);
      return end;
    }
  std::uint64_t workers = checked               ? 1
                          : options.threads > 0 ? static_cast<std::uint64_t>(options.threads)
                                                : std::max(1u, std::thread::hardware_concurrency());
  // Each worker's fibers take two mappings each of the 65530 that a process may have.
  workers = std::min<std::uint64_t>({workers, blocks, 24});
  const bool takes_turns = checked && options.schedule == HostSchedule::interrupted && blocks > 1;
  if (takes_turns)
    workers = 2;
  std::vector<Arena> arenas;
  for (std::uint64_t i = 0; i < workers; ++i) {
    auto arena = Arena::create();
    if (!arena.ok()) {
      end.failure.what = arena.error().sentence();
      return end;
    }
    arenas.push_back(std::move(arena).value());
  }

  // Kernel parameters by value: pointers, or the scalars' bytes.
  std::vector<std::vector<std::max_align_t>> storage(arguments.size());
  std::vector<void*> values(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t bytes = std::max<std::size_t>(arguments[i].value.size(), sizeof(void*));
    storage[i].resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    if (arguments[i].buffer != nullptr) {
      std::byte* pointer = arguments[i].buffer->data() + arguments[i].offset;
      std::memcpy(storage[i].data(), static_cast<const void*>(&pointer), sizeof pointer);
    } else {
      std::memcpy(storage[i].data(), arguments[i].value.data(), arguments[i].value.size());
    }
    values[i] = storage[i].data();
  }

  std::optional<AccessLog> log;
  std::optional<RaceLog> races;
  std::optional<FenceLog> fences;
  unit.begin_places();
  if (checked) {
    auto regions = regions_of(unit, arenas, geometry, arguments);
    if (options.find_races && checks.sanitize) {
      races.emplace(regions, RaceLog::Options{options.equal_writes_race, unit.begin_loops()});
      fences.emplace(regions);
    }
    log.emplace(std::move(regions), checks.trace || options.record_accesses, checks.sanitize);
  }
  if (!options.keep_globals)
    unit.globals().restore();
  if (unit.local_poison() != nullptr)
    *unit.local_poison() = static_cast<unsigned char>(options.local_poison);
  std::mutex print_mutex;
  BlockTask task;
  task.entry = &entry;
  task.arguments = values.data();
  task.launch = geometry;
  task.schedule = options.schedule;
  task.seed = options.seed;
  task.poison = options.shared_poison;
  task.strict = checks.sanitize;
  task.strict_barriers = checks.sanitize && !options.barriers_by_count;
  task.parts_of_active_lanes = options.parts_of_active_lanes;
  task.log = log ? &*log : nullptr;
  task.races = races ? &*races : nullptr;
  task.fences = fences ? &*fences : nullptr;
  task.takes_turns = takes_turns;
  task.may_wait = checked && blocks > 1;
  task.reverse_blocks = options.reverse_blocks;
  task.blocks = options.blocks;
  task.shared_memory = unit.shared_memory();
  task.static_before = unit.static_before();
  task.static_after = unit.static_after();
  task.print = [&](std::string_view text) {
    constexpr std::size_t OUTPUT_LIMIT = 64u << 10;
    const std::lock_guard lock(print_mutex);
    end.output += text.substr(0, OUTPUT_LIMIT - std::min(OUTPUT_LIMIT, end.output.size()));
  };
  Workers team(task, std::move(arenas), true, options.work_limit);
  std::uint64_t barriers_before = 0;
  const auto begin = std::chrono::steady_clock::now();
  const double computing_before = processor_seconds();
  for (int i = 0; i < options.repeats; ++i) {
    barriers_before = team.barriers();
    const double seconds = team.run();
    if (const Failed* failure = team.failure()) {
      end.failure = *failure;
      break;
    }
    end.seconds.push_back(seconds);
    if (options.repeat_seconds > 0 &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
            options.repeat_seconds)
      break;
  }
  end.barriers = team.barriers() - barriers_before;
  if (log) {
    end.accesses = log->accesses();
    // A loop that touches no memory is nothing to count, but may go on for long.
    constexpr double STEP_S = 0.5, ACCESSES_PER_STEP = 5e6;
    const double steps = std::floor((processor_seconds() - computing_before) / STEP_S);
    end.work = std::max(team.executed(), static_cast<std::uint64_t>(steps * ACCESSES_PER_STEP));
  }
  end.is_cut_short = team.is_cut_short();
  if (races) {
    end.races = races->races();
    end.loops = unit.loops();
  }
  if (fences) {
    end.fences = fences->fences();
    end.unfenced = fences->unfenced();
  }
  end.reached = unit.reached();
  return end;
}

std::string describe_address(std::uintptr_t address, std::span<const HostArgument> arguments) {
  constexpr std::uintptr_t REACH = std::uintptr_t{1} << 30;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].buffer == nullptr)
      continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(arguments[i].buffer->data());
    const std::uintptr_t end = begin + arguments[i].buffer->size();
    if (address >= end && address - end < REACH)
      return fmt::format("{} bytes behind {}", address - end, buffer_name(arguments[i], i));
    if (address < begin && begin - address < REACH)
      return fmt::format("{} bytes before {}", begin - address, buffer_name(arguments[i], i));
  }
  return address < 4096 ? "null or near it" : "that belongs to no buffer";
}

} // namespace lathe::host
