// The host executor: CUDA kernel text compiled as C++ by clang and run with CUDA's semantics on the CPU.
//
// Blocks run on OS threads; the threads of a block are fibers that switch only where they wait (barriers,
// warp primitives), so a kernel without either runs as a plain loop; one schedule interrupts them elsewhere.
// docs/host_executor.md lists what is modelled. Times are times of this machine's CPU and say nothing about a
// GPU.
#pragma once

#include "tuner/base/result.h"
#include "tuner/measure/measure.h"
#include "tuner/spec/spec.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lathe {

struct ByteRange { // half open, relative to the buffer's first byte; outside [0, size) for an access out of
                   // bounds
  std::int64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

// Memory that a kernel may be given: zero-filled, shared with forked children (so that isolated runs need no
// copies), with GUARD_BYTES of guard_byte() on either side. Movable, not copyable.
class HostBuffer {
public:
  // `data()` is 256-byte aligned plus `misalignment` bytes (< 256). `bytes` may be 0; untouched pages cost no
  // memory, so generous sizes are cheap when the wanted extent is what a traced run shall find out.
  static Result<HostBuffer> allocate(std::size_t bytes, std::size_t misalignment = 0);
  // The same with all of its pages there, for who writes the whole of it: a fault for each costs more.
  static Result<HostBuffer> allocate_whole(std::size_t bytes, std::size_t misalignment = 0);
  // The same for many gigabytes of which little is touched; touched() then says what.
  static Result<HostBuffer> allocate_sparse(std::size_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }
  template <class T> std::span<T> as() const { return {reinterpret_cast<T*>(data_), size_ / sizeof(T)}; }

  // Offset (negative: before the buffer; >= size(): after it) of a guard byte that no longer holds its value.
  std::optional<std::ptrdiff_t> damage() const;
  void reset_guards();

  // Of a sparse buffer: the pages, cut to the buffer, that anybody has read or written, ascending and
  // disjoint. Their ends are multiples of GUARD_BYTES or the buffer's own. Fails for other buffers.
  Result<std::vector<ByteRange>> touched() const;

private:
  HostBuffer() = default;
  static Result<HostBuffer> map(std::size_t bytes, std::size_t misalignment, int flags); // of mmap besides
  std::byte* mapping_ = nullptr;
  std::size_t mapping_size_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int file_ = -1; // of a sparse buffer: the memory's own
};

// One kernel argument: a pointer to a buffer (or null), or the bytes of a scalar or by-value structure.
struct HostArgument {
  const HostBuffer* buffer = nullptr;
  std::size_t offset = 0;       // bytes into the buffer at which the pointer points
  std::vector<std::byte> value; // the argument's object representation when `buffer` is null
  std::string name;             // for messages; may be empty

  static HostArgument of(const HostBuffer& buffer, std::string name = {}) {
    return {&buffer, 0, {}, std::move(name)};
  }
  template <class T> static HostArgument scalar(const T& object) {
    static_assert(std::is_trivially_copyable_v<T>);
    HostArgument argument;
    argument.value.resize(sizeof(T));
    std::memcpy(argument.value.data(), &object, sizeof(T));
    return argument;
  }
  // A scalar of a specification ("i32", "f32", "bf16", ...); fails for an unknown dtype.
  static Result<HostArgument> scalar(std::string_view dtype, const Value& value);
};

struct HostCompileOptions {
  // Every access to memory is checked against the exact bounds of the buffers and of shared memory, and
  // clang's undefined-behaviour checks are on. About 10 to 30 times slower. Needs clang.
  bool sanitize = false;
  // Records which bytes of each buffer are read and written. Needs clang.
  bool trace = false;
  // As a KernelSource has them: -std=, -D, -U and -I are used, options that only change GPU code are ignored.
  std::vector<std::string> compile_options;
  std::vector<std::string> include_folders;
  std::string
      cache_folder; // of shared objects, by content; empty: $XDG_CACHE_HOME/lathe/host or ~/.cache/lathe/host
  double time_limit_s = 120;
};

enum class HostSchedule {
  forward,     // threads in index order
  reverse,     // last thread first
  random,      // any runnable thread, by the seed
  interleaved, // one thread of each warp in turn
  warps,       // one warp after the other, each as far as it goes, in an order by the seed
  // As random, and threads are interrupted at accesses to memory, by the seed; so are two blocks of the grid,
  // of which the other then goes on. Kernels that were compiled to sanitize or trace only.
  interrupted,
};

// Begins the reason of a run in which threads of a block wait at barriers in different lines.
inline constexpr const char* DIVERGENT_BARRIER = "divergent barrier";
// That a thread looks at one place until another block changes it, and none does: of kernels that were not
// compiled to sanitize or trace one that runs later, of others one that there is no room for, or none at all.
inline constexpr const char* WAITS_FOR_A_BLOCK =
    "a thread waits in a loop for what no block changes that runs meanwhile";
// The reason of a run that ended because an integer was divided by zero.
inline constexpr const char* DIVISION_BY_ZERO = "integer division by zero";

struct HostRunOptions {
  HostSchedule schedule = HostSchedule::forward;
  std::uint64_t seed = 1;   // of HostSchedule::random
  double time_limit_s = 60; // of a core's work on the whole run, not of the clock; enforced by run_isolated
  // No block begins once more than so much was executed (HostRunResult::work, without what the processor's
  // time says); 0: all do. Kernels that were compiled to sanitize or trace only.
  std::uint64_t work_limit = 0;
  int threads = 0; // OS threads; 0: one a core. One when the kernel was compiled to sanitize or trace
  // Records which bytes are read and written although the kernel was compiled to sanitize only.
  bool record_accesses = false;
  // Finds accesses that no barrier orders, and fences that are missing, in kernels that were compiled to
  // sanitize.
  bool find_races = false;
  // Of them also a read beside a write of the value that was there: it is another value on other data.
  bool equal_writes_race = false;
  bool reverse_blocks = false; // the grid's last block runs first
  // Numbers of the only blocks that run, in this order: x + (y + z * grid.y) * grid.x. None: all do.
  std::vector<std::uint64_t> blocks;
  // Threads of a block may meet at barriers that stand in different lines, as hardware counts arrivals; else
  // that ends a run of a kernel that was compiled to sanitize, with DIVERGENT_BARRIER.
  bool barriers_by_count = false;
  // Lanes that ask which are there together are told some of these, by the seed, as a device may do.
  bool parts_of_active_lanes = false;
  // Variables that outlive a launch hold what the launch before left in this process, not what the text
  // initialises them with.
  bool keep_globals = false;
  std::byte shared_poison{0xff}; // what shared memory holds when a block starts
  std::byte local_poison{0xff};  // and a thread's own variables; kernels that were compiled to sanitize only
  int repeats = 1;               // timed launches in a row over the same buffers, each timed on its own
  double repeat_seconds = 0;     // no further repeat once this much time has passed; 0: all of them
};

// What one launch did to one buffer (index of the argument): disjoint ranges in ascending order.
struct BufferAccess {
  std::size_t argument = 0;
  std::vector<ByteRange> read, written; // an atomic operation is both
  std::uint64_t atomics = 0;            // number of atomic operations on it
};

// Two accesses that nothing orders; one for each place and scope.
struct HostRace {
  std::string place;           // "buffer 'out'", "shared memory"
  bool between_blocks = false; // else within one block
  bool is_of_writes = false;   // of different values
  bool is_of_a_read = false;   // and a write; there may be both
  std::string text;            // "a write and a read by threads 0 and 32 of a block"
};

// A place in the kernel's text.
struct SourcePlace {
  unsigned line = 0, column = 0;
  unsigned entry = 0; // the place, by index, at which its function begins
};

// A loop of the kernel's text in which threads exchanged something: they met at a barrier, touched shared
// memory or read what another thread of the block had written.
struct HostLoop {
  unsigned line = 0, column = 0;
  bool went_on = false; // one thread finished three rounds of it in one go
};

struct HostRunResult {
  Outcome outcome = Outcome::ok;      // ok, runtime_error, timeout or crashed
  std::string reason;                 // of a failure: one sentence, with the kernel's line where known
  std::vector<double> seconds;        // one a repeat, in order; fewer when the run failed
  std::vector<BufferAccess> accesses; // when compiled with `trace` or recorded: one for each buffer argument
  std::uint64_t barriers = 0;         // __syncthreads() completed, over all blocks of the last repeat
  // What was executed, whatever the machine's load: accesses to memory, and barriers and warp primitives at
  // the price of several. Where that is little for what the processor did (a loop that touches no memory), so
  // much as it usually does in the time. Counted in kernels that were compiled to sanitize or trace.
  std::uint64_t work = 0;
  bool is_cut_short = false;   // by the limit on it: some blocks have not run
  std::vector<HostRace> races; // when they were looked for
  // And with them: memory fences executed by all threads, and the first place where a thread updates global
  // memory atomically with no fence behind an earlier plain write to it: a sentence, or nothing.
  std::uint64_t fences = 0;
  std::string unfenced;
  std::vector<HostLoop> loops; // with races, too; not those of which the compiler knows that they are shorter
  // Which of HostKernel::places() have run.
  std::vector<bool> reached;
  std::string output; // what the kernel printed (at most 64 KiB)
};

// A compiled kernel instance. Cheap to copy; safe to share between threads.
class HostKernel {
public:
  // Compiles `source` (a file that NVRTC could compile alone; `file_name` appears in messages) and
  // instantiates `instance`, a C++ name expression such as "act_and_mul_kernel<__nv_bfloat16, 8>". Errors
  // carry the first diagnostic.
  static Result<HostKernel> compile(std::string_view source, std::string_view instance,
                                    const HostCompileOptions& options = {},
                                    std::string_view file_name = "kernel.cu");

  // Several instances in as few translation units as compile; one result for each, in order. An instance that
  // does not compile costs only itself. `jobs`: compilers at a time, 0: one a core.
  static std::vector<Result<HostKernel>> compile_all(std::string_view source,
                                                     std::span<const std::string> instances,
                                                     const HostCompileOptions& options = {},
                                                     std::string_view file_name = "kernel.cu", int jobs = 0);

  // Runs in this process: a wild access or an endless loop in the kernel takes the process with it. Fails
  // when the arguments do not fit the kernel's parameters or the launch is not legal in CUDA.
  Result<HostRunResult> run(const Launch& launch, std::span<const HostArgument> arguments,
                            const HostRunOptions& options = {}) const;
  // The same in a forked child: a crash, a hang or a trap is an outcome, not the caller's end.
  Result<HostRunResult> run_isolated(const Launch& launch, std::span<const HostArgument> arguments,
                                     const HostRunOptions& options = {}) const;

  // Several runs, of any kernels, in as few forked children as survive: the cost of a fork grows with this
  // process. A run that crashes or exceeds the longest of the time limits is an outcome of its own, and those
  // behind it are made in another child; later runs of a kernel that did not end are not tried and end alike.
  struct Run {
    const HostKernel* kernel = nullptr;
    Launch launch;
    std::vector<HostArgument> arguments;
    HostRunOptions options;
  };
  static std::vector<Result<HostRunResult>> run_all_isolated(std::span<const Run> runs);

  struct ParameterType {
    std::size_t size = 0;
    bool is_pointer = false, points_to_const = false;
  };
  const std::vector<ParameterType>& parameters() const;
  std::size_t static_shared_bytes() const; // of all kernels in its translation unit: an upper bound
  const std::string& instance() const;
  // Path of the compiled file, which its content names: the same text, options, compiler and headers.
  std::string object() const;
  // The branches of the text, of all kernels in its translation unit; empty unless compiled to sanitize.
  const std::vector<SourcePlace>& places() const;
  bool from_cache() const;
  double compile_seconds() const; // of its translation unit; 0 when it came from the cache

  struct Implementation;

private:
  explicit HostKernel(std::shared_ptr<const Implementation> implementation);
  std::shared_ptr<const Implementation> implementation_;
};

// The compiler that is used and its version ("clang++-19: Debian clang version 19.1.7"): $LATHE_HOST_CXX,
// else the newest clang++ from 14 on, else g++ (without sanitize and trace). Fails when there is none.
Result<std::string> host_compiler();

} // namespace lathe
