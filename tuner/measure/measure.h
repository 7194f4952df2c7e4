// Running, verifying and timing configurations: on a GPU, or on the host executor where there is none.
#pragma once

#include "tuner/base/result.h"
#include "tuner/device/device.h"
#include "tuner/profile/profile.h"
#include "tuner/spec/spec.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

enum class Outcome {
  ok,
  compile_error,
  resource_limit, // cannot launch, or violates a stated occupancy floor: never ran
  runtime_error,  // illegal address, trap, launch failure, sanitizer report, deadlock
  timeout,
  crashed,      // the runner died
  wrong_result, // differs from the reference, wrote outside its buffers, or changed an input
  under_floor,  // faster than physics allows: rejected as an error
};
std::string_view to_string(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view text);

struct Timing {
  double median_us = 0;
  double low_us = 0, high_us = 0; // 95 % confidence interval of the median
  int samples = 0;
  bool stopped_early = false; // clearly beaten by the incumbent
  // GPU, as NVML read them while the samples were taken: never set. 0: not known.
  int sm_mhz = 0, memory_mhz = 0;
  std::uint64_t throttle_reasons = 0; // nvmlClocksEventReason bits
};

struct Measurement {
  Outcome outcome = Outcome::ok;
  std::string reason; // of a failure: one sentence
  Timing timing;
  KernelResources resources;
  double occupancy = 0;
  double error = 0; // worst |out - ref| / tolerance scale, 0: identical
  double compile_seconds = 0, run_seconds = 0;
};

struct MeasureOptions {
  std::uint64_t seed = 1;
  double time_limit_s = 10; // of running one configuration; compiling has a limit of its own
  int min_samples = 5, max_samples = 50;
  double target_interval = 0.01;            // half width of the confidence interval over the median
  bool sanitize = false;                    // host executor: address and undefined-behaviour sanitizers
  int schedules = 1;                        // host executor: thread orders tried when verifying
  std::vector<std::string> include_folders; // for the kernel's own includes (normally none)
  std::string cache_folder;                 // cubin and object cache; empty: the user's default
  int jobs = 0;                             // compile workers; 0: one a core
  // The raw kernel is known not to run on buffers that begin one element behind an aligned address. Finding
  // that out costs a fault, which the driver takes most of a second to report.
  bool raw_wants_alignment = false;
  // Results whose order the raw kernel leaves to its threads (an atomic counter gives places), by name: no
  // two of its launches agree on more than which elements these hold, and no more is asked of a
  // configuration.
  std::vector<std::string> unordered;
  // Nothing is timed: evaluate() judges what the configurations write and gives no times. No comparisons
  // then.
  bool verify_only = false;
};

// Raw against one configuration, interleaved in one run.
struct Comparison {
  Timing raw, tuned;
  double ratio = 1;                     // raw / tuned, median of paired samples: above 1 is a gain
  double ratio_low = 1, ratio_high = 1; // 95 % interval
  double noise_band = 0; // A/A: half width of the raw kernel's ratio against itself in the same run
};

// How busy the stages were since the backend was made: seconds of work, and seconds that were there for it.
struct PipelineLoad {
  double compile_busy_s = 0, compile_available_s = 0; // over all compile workers
  double device_busy_s = 0, evaluate_s = 0;           // the runner; and the wall time of evaluate()
  double runner_s = 0; // of device_busy_s what the runner itself took: the rest is what isolation costs
  double prepare_s = 0, compare_s = 0, profile_s = 0; // wall time of these
  // Of the search: choosing what comes next, of which nothing was measured beside it; and recording results.
  double choose_s = 0, choose_alone_s = 0, record_s = 0;

  PipelineLoad& operator+=(const PipelineLoad& other);
};

// One problem on one device. Not thread-safe but for announce(): one user at a time.
class Backend {
public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& device() const = 0;
  virtual std::string_view protocol() const = 0; // one line, stored beside every number

  // Fills the buffers, compiles and runs the reference, keeps its outputs, checks them by the specification's
  // CPU reference where there is one, times it, measures the copy floor. `workload` must outlive the
  // backend's use of it. `coming`: will be evaluated first, so that compiling them may begin meanwhile; a
  // hint.
  virtual Status prepare(const Workload& workload, const MeasureOptions& options,
                         std::span<const KnobValues> coming) = 0;
  Status prepare(const Workload& workload, const MeasureOptions& options) {
    return prepare(workload, options, {});
  }
  virtual const Timing& raw_timing() const = 0;
  // Microseconds of a device-to-device copy that moves the cost model's bytes; 0: unknown.
  virtual double copy_floor_us() const = 0;
  // What came of the CPU reference when the problem was prepared: that the raw kernel agrees, or why it was
  // not asked. A disagreement fails prepare().
  virtual const std::string& reference_check() const = 0;
  // False: the last prepare() failed because the raw kernel gave other results when it ran again on the same
  // data, as where atomics decide an order. That is how the kernel is, and no fault of the device.
  virtual bool raw_repeats() const { return true; }

  // Compiles (in parallel), verifies and times each configuration. Never fails as a whole for one
  // configuration's fault. `incumbent_us`: best so far, 0 for none; clearly slower ones stop early.
  virtual Result<std::vector<Measurement>> evaluate(std::span<const KnobValues> configurations,
                                                    double incumbent_us) = 0;
  // These will be evaluated next: compiling them may begin while other work runs. A hint, without results.
  // The one call that another thread may make while evaluate() runs.
  virtual void announce(std::span<const KnobValues> /*configurations*/) {}
  // Interleaved with the raw kernel, with an A/A band. `ratio_to_beat`: what is at stake is only whether raw
  // / tuned is above it, so that sampling may end once the whole interval lies below; 0: sample to the end.
  virtual Result<Comparison> compare(const KnobValues& configuration, double ratio_to_beat) = 0;
  Result<Comparison> compare(const KnobValues& configuration) { return compare(configuration, 0); }
  // Counters of one launch of a configuration, or of the raw kernel. An error where there are none; where it
  // says that they are denied, it is the same for every configuration.
  virtual Result<Profile> profile(const std::optional<KnobValues>& configuration) = 0;
  virtual PipelineLoad load() const { return {}; }
};

// Fails with Failure::no_device where there is none. `index` counts the visible devices.
// `tool`: a program's path and arguments that the process on the device is started with, such as
// compute-sanitizer; what it writes is the caller's to read once the backend is gone.
Result<std::unique_ptr<Backend>> make_cuda_backend(int index, std::vector<std::string> tool = {});
// Several on one device, `most` at most: what one of them measures waits for what another one does there, so
// that their compilations and searches overlap and their times are as those of one alone. Fewer where the
// device's memory may not hold so many problems with `buffer_bytes` of buffers; one at least.
Result<std::vector<std::unique_ptr<Backend>>> make_cuda_backends(int index, std::size_t most,
                                                                 std::uint64_t buffer_bytes);
// The host executor: the kernel as C++ by clang, blocks on threads, the threads of a block as fibers.
Result<std::unique_ptr<Backend>> make_host_backend();

} // namespace lathe
