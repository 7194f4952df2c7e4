// A compiled unit in this process, and launches of its entries.
#pragma once

#include "tuner/measure/host_executor/block_runner.h"
#include "tuner/measure/host_executor/globals.h"

#include <filesystem>
#include <memory>

namespace lathe::host {

class LoadedUnit {
public:
  static Result<std::shared_ptr<const LoadedUnit>> load(const std::filesystem::path& object);
  ~LoadedUnit();
  LoadedUnit(const LoadedUnit&) = delete;
  LoadedUnit& operator=(const LoadedUnit&) = delete;

  const Entry* entry(std::size_t index) const;
  void (*shared_memory() const)(SharedMemory*) { return shared_memory_; }
  // Static shared memory in front of and behind the dynamic array, where it is thread-local.
  std::size_t static_before() const { return static_before_; }
  std::size_t static_after() const { return static_after_; }
  std::size_t static_shared_bytes() const;
  std::uintptr_t load_address() const { return load_address_; }
  std::uintptr_t end_address() const { return end_address_; }
  // Of checked kernels; null or empty where the compiler had no plugin.
  const SharedVariable* shared_variables() const { return shared_variables_; }
  unsigned char* local_poison() const { return local_poison_; }
  const std::vector<SourcePlace>& places() const { return places_; }
  // Forgets what reached() would say.
  void begin_places() const;
  std::vector<bool> reached() const;
  // Forgets what loops() would say, and where exchanges are counted; null where nothing counts them.
  volatile std::uint32_t* begin_loops() const;
  std::vector<HostLoop> loops() const;
  // Of checked kernels, as they were when the unit was loaded: what one run leaves behind is not what the
  // next begins with.
  const Globals& globals() const { return globals_; }

private:
  LoadedUnit() = default;
  void* handle_ = nullptr;
  void (*shared_memory_)(SharedMemory*) = nullptr;
  std::uintptr_t load_address_ = 0, end_address_ = 0;
  std::size_t static_before_ = 0, static_after_ = 0;
  const SharedVariable* shared_variables_ = nullptr;
  unsigned char* local_poison_ = nullptr;
  unsigned char* reached_ = nullptr;
  std::vector<SourcePlace> places_;
  unsigned char* loop_marks_ = nullptr;
  std::vector<Loop> loops_;
  volatile std::uint32_t* exchanges_ = nullptr;
  Globals globals_;
};

// What a launch came to, before its addresses are turned into lines.
struct LaunchEnd {
  Failed failure;
  std::vector<double> seconds;
  std::vector<BufferAccess> accesses;
  std::uint64_t barriers = 0, work = 0;
  bool is_cut_short = false;
  std::vector<HostRace> races;
  std::uint64_t fences = 0;
  std::string unfenced;
  std::vector<HostLoop> loops;
  std::vector<bool> reached;
  std::string output;
};

struct Checks {
  bool sanitize = false, trace = false;
};

// In this process. `arguments` fit the entry's parameters.
LaunchEnd launch(const LoadedUnit& unit, const Entry& entry, const Launch& geometry,
                 std::span<const HostArgument> arguments, const HostRunOptions& options, Checks checks);

// Describes an address relative to the arguments' buffers.
std::string describe_address(std::uintptr_t address, std::span<const HostArgument> arguments);

// For answers of child processes.
std::string serialise(const LaunchEnd& end);
LaunchEnd deserialise(std::string_view bytes);

} // namespace lathe::host
