// One problem on the runner's device: rotating buffer sets with guard bands, verification beside the
// reference, and timing by graph replay.
#pragma once

#include "tuner/measure/fill.h"
#include "tuner/measure/runner_device.h"
#include "tuner/measure/verify.h"
#include "tuner/profile/range_profiler.h"

#include <functional>
#include <random>

// Return from a function of DeviceStatus when a driver call or a step failed.
#define LATHE_DEVICE(call, action)                                                                           \
  do {                                                                                                       \
    DeviceStatus device_status = device_.status_of(call, action);                                            \
    if (!device_status.ok())                                                                                 \
      return device_status;                                                                                  \
  } while (false)
#define LATHE_STEP(expression)                                                                               \
  do {                                                                                                       \
    DeviceStatus device_status = (expression);                                                               \
    if (!device_status.ok())                                                                                 \
      return device_status;                                                                                  \
  } while (false)

namespace lathe {

class RunnerSession {
public:
  // Allocates, fills, runs and, when asked to, times the reference and the copy floor.
  static Result<std::unique_ptr<RunnerSession>> create(RunnerDevice& device, SetupRequest request,
                                                       SetupReply& reply);

  ~RunnerSession();
  RunnerSession(const RunnerSession&) = delete;
  RunnerSession& operator=(const RunnerSession&) = delete;

  EvaluateReply evaluate(const EvaluateRequest& request);
  CompareReply compare(const CompareRequest& request);
  ProfileReply profile(const ProfileRequest& request);

private:
  // A replay should last this long: short enough for ten thousand configurations, long against an event's
  // resolution of half a microsecond.
  static constexpr double REPLAY_US = 150;

  struct Set {
    std::vector<CUdeviceptr> data; // a buffer each
    std::uint64_t key = 0;         // of its present values
    std::byte poison{};            // of its outputs, before a launch
  };
  // A captured sequence of launches over the sets, with event records at both ends inside the graph: a sample
  // has no launch latency in it.
  struct Replay {
    CUgraphExec graph = nullptr;
    CUevent begin = nullptr, end = nullptr;
    int nodes = 0;
  };
  struct RefreshEntry { // as in gpu_utilities.cu
    CUdeviceptr master, data;
    std::uint64_t bytes, size, number, is_ordered;
  };
  struct Finding { // as in gpu_utilities.cu
    std::uint64_t worst, failures, first;
    double sum;
    std::uint64_t used;
  };

  explicit RunnerSession(RunnerDevice& device) : device_(device) {}

  DeviceStatus load_utilities();
  DeviceStatus allocate();
  // Fills the masters, sets the guards, and plans the refreshing.
  DeviceStatus fill();
  // The first set with the values that the host executor would use, and its outputs by the raw kernel when
  // asked for; then the outputs' magnitudes, also of other values.
  DeviceStatus run_reference(std::vector<std::string>* outputs);
  DeviceStatus add_magnitudes(std::size_t set);
  DeviceStatus sizes_below(std::size_t set, std::size_t buffer, double limit, Sizes& sizes);
  DeviceStatus utility(const char* name, std::uint64_t elements, std::vector<void*> arguments);
  // New values and poisoned outputs for all sets in one launch, or for one set with a given key and poison.
  DeviceStatus refresh();
  DeviceStatus reset(std::size_t set, std::uint64_t key, std::byte poison);
  DeviceStatus refresh_entries(std::size_t first, std::size_t count, std::uint64_t key, std::byte poison);
  std::uint64_t new_key() { return secret_() | 1; }
  std::byte new_poison() { return POISONS[secret_() % 2]; }
  DeviceStatus clear_findings();
  DeviceStatus read_findings(std::size_t count);
  DeviceStatus flush();

  DeviceStatus launch(CUfunction function, const Launch& geometry, std::size_t set);
  // Whether a launch on the set left guards and inputs alone and wrote what the raw kernel, run on the same
  // values now, writes.
  DeviceStatus judge(std::size_t set, double& error);
  DeviceStatus describe_findings(std::size_t set, double& error);
  // Two runs, poisoned differently, of different data; `first_us` is the time of the first, roughly.
  DeviceStatus verify(CUfunction function, const Launch& geometry, double limit_s, double& error,
                      double& first_us);
  // Launches of a replay as it is timed are judged.
  DeviceStatus verify_replay(const Replay& replay, CUfunction function, const Launch& geometry,
                             double limit_s, double& error);
  // What a replay that just ended left in one of the sets that it reached.
  DeviceStatus judge_replay(const Replay& replay, double& error);

  // Launches of a sample. A sample has a cost of its own, some microseconds, that its launches share: only
  // times of as many launches can be compared. So the number is decided once for a problem, by what the raw
  // kernel and a copy take; `first_us`: a launch that is far slower than they are gets fewer.
  int launches_for(double first_us) const;
  DeviceStatus decide_launches(CUfunction reference, double first_us, double copy_floor_us);
  int replay_of(double estimate_us) const; // launches that last REPLAY_US together
  // Of a sample: two, that share its own cost, or one of those that take long.
  int fewest_launches(double estimate_us) const;
  DeviceStatus capture(int nodes, const std::function<DeviceStatus(std::size_t set)>& enqueue,
                       Replay& replay);
  void release(Replay& replay);
  // Microseconds a launch of one replay. Before it, every buffer gets values that it never had and every
  // output is poisoned: nothing remembered from an earlier call is of use, and a timed call looks like a
  // verified one.
  DeviceStatus sample(const Replay& replay, double limit_s, double& us);
  // `error`: where timed calls are judged as well, one of every sample at first, of every fourth later.
  DeviceStatus time(const Replay& replay, const RunnerTiming& timing, Timing& result,
                    double* error = nullptr);
  // In the sets' memory, before they are filled.
  DeviceStatus measure_copies(SetupReply& reply);
  DeviceStatus time_copies(std::uint64_t bytes, std::uint64_t chunk, int copies, double& us);
  double physics_floor_us(double bytes_per_second, double raw_us) const;

  std::uint64_t bytes_of(std::size_t buffer) const;

  RunnerDevice& device_;
  SetupRequest request_;
  CUmodule utilities_ = nullptr;
  std::vector<Set> sets_;
  std::uint64_t set_bytes_ = 0, moved_bytes_ = 0;
  bool sets_exceed_l2_ = false;
  int launches_ = 0; // of a sample; 0: not decided
  bool filled_ = false;
  DeviceMemory arena_; // the sets, side by side
  std::uint64_t arena_bytes_ = 0;
  DeviceMemory flush_, findings_, bands_;
  std::uint64_t flush_bytes_ = 0, band_count_ = 0;
  std::vector<DeviceMemory> masters_; // a buffer each, empty for outputs
  std::vector<DeviceMemory>
      spares_;                     // a buffer each, empty for inputs: where outputs wait for the raw kernel's
  std::vector<double> magnitudes_; // a buffer each
  std::vector<Finding> found_;
  DeviceMemory refresh_table_; // a RefreshEntry for each buffer of each set
  std::mt19937_64 secret_{std::random_device()()};
  CUfunction refresh_function_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  std::unique_ptr<RangeProfiler> profiler_; // once a profile was asked for
};

} // namespace lathe
