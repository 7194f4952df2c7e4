#include "tuner/measure/runner_session.h"

#include "tuner/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace lathe {
namespace {

constexpr double BEATEN =
    1.15; // slower than the incumbent by this factor in every sample: not worth more samples
constexpr double LONGEST_US = 8000; // of a sample, roughly
constexpr int FEWEST_ROUNDS = 10;   // of a comparison: of fewer a median's interval says little
// The same where they take long: of fewer not even the smallest and the largest enclose the median with 95 %.
constexpr int FEWEST_SLOW_ROUNDS = 6;
constexpr double FLOOR_MARGIN = 1.2; // reads alone are faster than a copy; clocks may boost
// Floating-point operations a multiprocessor and clock that no GPU of CUDA 13 exceeds: four times the dense
// 8-bit rate of compute capability 9.0 and 10.0 (8192 and 16384).
constexpr double MOST_OPERATIONS = 65536;

} // namespace

int RunnerSession::launches_for(double first_us) const {
  const int decided = launches_ > 0 ? launches_ : replay_of(first_us);
  return std::max(std::min(decided, static_cast<int>(std::ceil(LONGEST_US / std::max(1.0, first_us)))),
                  fewest_launches(first_us));
}

DeviceStatus RunnerSession::decide_launches(CUfunction reference, double first_us, double copy_floor_us) {
  constexpr int WARM_SAMPLES = 4;
  constexpr double FASTER =
      8; // than the raw kernel: no sample of the raw kernel is longer than so many replays
  Replay replay;
  LATHE_STEP(capture(
      replay_of(first_us), [&](std::size_t set) { return launch(reference, request_.reference.launch, set); },
      replay));
  double warm_us = first_us;
  for (int i = 0; i < WARM_SAMPLES; ++i) {
    double us = 0;
    const DeviceStatus sampled = sample(replay, request_.timing.time_limit_s, us);
    if (!sampled.ok()) {
      if (!sampled.context_lost)
        release(replay);
      return sampled;
    }
    warm_us = std::min(warm_us, us);
    if (us > LONGEST_US) // one that is warm is not much faster
      break;
  }
  release(replay);
  const double fastest = copy_floor_us > 0 ? std::min(warm_us, copy_floor_us) : warm_us;
  launches_ = replay_of(std::max(fastest, warm_us / FASTER));
  return {};
}

int RunnerSession::fewest_launches(double estimate_us) const {
  // What the last launch leaves in the L2 and a sample's own cost do not show in launches that take so long.
  return estimate_us > LONGEST_US ? 1 : static_cast<int>(std::min<std::size_t>(2, sets_.size()));
}

int RunnerSession::replay_of(double estimate_us) const {
  // A second visit to a set would find its outputs there and its in-place inputs changed.
  const auto sets = static_cast<int>(sets_.size());
  const double wanted = std::ceil(REPLAY_US / std::max(0.5, estimate_us));
  return static_cast<int>(std::clamp<double>(wanted, fewest_launches(estimate_us), sets));
}

DeviceStatus RunnerSession::capture(int nodes, const std::function<DeviceStatus(std::size_t set)>& enqueue,
                                    Replay& replay) {
  const CudaDriver& cuda = device_.cuda();
  if (!replay.begin) {
    LATHE_DEVICE(cuda.cuEventCreate(&replay.begin, CU_EVENT_DEFAULT), "creating an event failed");
    LATHE_DEVICE(cuda.cuEventCreate(&replay.end, CU_EVENT_DEFAULT), "creating an event failed");
  }
  replay.nodes = nodes;
  LATHE_DEVICE(cuda.cuStreamBeginCapture(device_.stream(), CU_STREAM_CAPTURE_MODE_RELAXED),
               "capturing failed");
  const auto enqueue_all = [&]() -> DeviceStatus {
    LATHE_DEVICE(cuda.cuEventRecordWithFlags(replay.begin, device_.stream(), CU_EVENT_RECORD_EXTERNAL),
                 "recording an event failed");
    for (int node = 0; node < nodes; ++node)
      LATHE_STEP(enqueue(static_cast<std::size_t>(node) % sets_.size()));
    LATHE_DEVICE(cuda.cuEventRecordWithFlags(replay.end, device_.stream(), CU_EVENT_RECORD_EXTERNAL),
                 "recording an event failed");
    return {};
  };
  const DeviceStatus enqueued = enqueue_all();
  CUgraph graph = nullptr;
  const CUresult ended = cuda.cuStreamEndCapture(device_.stream(), &graph);
  LATHE_STEP(enqueued);
  LATHE_DEVICE(ended, "capturing failed");
  const CUresult instantiated = cuda.cuGraphInstantiate(&replay.graph, graph, 0);
  cuda.cuGraphDestroy(graph);
  LATHE_DEVICE(instantiated, "building a graph failed");
  LATHE_DEVICE(cuda.cuGraphUpload(replay.graph, device_.stream()), "uploading a graph failed");
  return {};
}

void RunnerSession::release(Replay& replay) {
  if (replay.graph)
    device_.cuda().cuGraphExecDestroy(replay.graph);
  for (CUevent event : {replay.begin, replay.end})
    if (event)
      device_.cuda().cuEventDestroy(event);
  replay = {};
}

DeviceStatus RunnerSession::flush() {
  CUdeviceptr data = flush_.address(), sink = findings_.address() + (found_.size() - 1) * sizeof(Finding);
  std::uint64_t count = flush_bytes_ / 16;
  return utility("lathe_flush", count, {&data, &count, &sink});
}

DeviceStatus RunnerSession::sample(const Replay& replay, double limit_s, double& us) {
  const CudaDriver& cuda = device_.cuda();
  if (filled_) {
    LATHE_STEP(refresh());
    if (sets_exceed_l2_) // what the refreshing left in the L2, much of it dirty, goes
      LATHE_STEP(flush());
  }
  LATHE_DEVICE(cuda.cuGraphLaunch(replay.graph, device_.stream()), "the launch failed");
  LATHE_STEP(device_.wait(limit_s));
  float milliseconds = 0;
  LATHE_DEVICE(cuda.cuEventElapsedTime(&milliseconds, replay.begin, replay.end), "reading a time failed");
  us = 1e3 * static_cast<double>(milliseconds) / replay.nodes;
  return {};
}

DeviceStatus RunnerSession::time(const Replay& replay, const RunnerTiming& timing, Timing& result,
                                 double* error) {
  LATHE_DEVICE(device_.cuda().cuCtxResetPersistingL2Cache(), "resetting the L2 cache failed");
  const RunnerDevice::Clock::time_point start = RunnerDevice::Clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(RunnerDevice::Clock::now() - start).count();
  };
  double warm_up = 0;
  LATHE_STEP(sample(replay, timing.time_limit_s, warm_up));
  ClockReading clocks;
  std::vector<double> samples;
  for (int attempt = 0; attempt < 3; ++attempt) {
    samples.clear();
    result = {};
    const auto least = static_cast<std::size_t>(std::max(1, timing.min_samples));
    const auto most = static_cast<std::size_t>(std::max(timing.min_samples, timing.max_samples));
    while (samples.size() < most) {
      double us = 0;
      LATHE_STEP(sample(replay, timing.time_limit_s, us));
      samples.push_back(us);
      const double best = *std::min_element(samples.begin(), samples.end());
      if (timing.incumbent_us > 0 && samples.size() >= 2 && best > BEATEN * timing.incumbent_us) {
        result.stopped_early = true;
        break;
      }
      // Work left out of some timed calls gains their share of the time: most of them are looked at.
      if (error && (samples.size() <= least || secret_() % 4 == 0))
        LATHE_STEP(judge_replay(replay, *error));
      if (samples.size() >= least &&
          (relative_half_width(median_interval(samples)) <= timing.target_interval ||
           spent() > timing.time_limit_s / 2))
        break;
    }
    clocks = device_.clocks();
    if (!clocks.slowed_down())
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // let it cool, then measure again
  }
  const bool stopped_early = result.stopped_early;
  result = timing_of(samples);
  result.stopped_early = stopped_early;
  result.sm_mhz = clocks.sm_mhz;
  result.memory_mhz = clocks.memory_mhz;
  result.throttle_reasons = clocks.throttle_reasons;
  return {};
}

CompareReply RunnerSession::compare(const CompareRequest& request) {
  CompareReply reply;
  Replay raw, tuned;
  const auto run = [&]() -> DeviceStatus {
    CUfunction reference = nullptr, candidate = nullptr;
    LATHE_STEP(device_.load(request_.reference, reference));
    LATHE_STEP(device_.load(request.kernel, candidate));
    const double limit_s = request.timing.time_limit_s;
    double error = 0, raw_us = 0, tuned_us = 0;
    LATHE_STEP(verify(reference, request_.reference.launch, limit_s, error, raw_us));
    LATHE_STEP(verify(candidate, request.kernel.launch, limit_s, error, tuned_us));
    LATHE_STEP(capture(
        launches_for(raw_us),
        [&](std::size_t set) { return launch(reference, request_.reference.launch, set); }, raw));
    LATHE_STEP(capture(
        launches_for(tuned_us),
        [&](std::size_t set) { return launch(candidate, request.kernel.launch, set); }, tuned));
    LATHE_DEVICE(device_.cuda().cuCtxResetPersistingL2Cache(), "resetting the L2 cache failed");

    const RunnerDevice::Clock::time_point start = RunnerDevice::Clock::now();
    std::vector<double> raw_us_all, tuned_us_all, ratios, noise;
    const int most = std::max(request.timing.min_samples, request.timing.max_samples);
    for (int round = -1; round < most; ++round) { // the first is the warm-up
      // raw, tuned, raw: a slow drift of the clocks is the same for both, and the two raws are the A/A pair.
      double before = 0, between = 0, after = 0;
      LATHE_STEP(sample(raw, limit_s, before));
      LATHE_STEP(sample(tuned, limit_s, between));
      LATHE_STEP(sample(raw, limit_s, after));
      if (round < 0)
        continue;
      raw_us_all.insert(raw_us_all.end(), {before, after});
      tuned_us_all.push_back(between);
      ratios.push_back(std::sqrt(before * after) / between);
      noise.push_back(before / after);
      const double spent = std::chrono::duration<double>(RunnerDevice::Clock::now() - start).count();
      const MedianInterval so_far = median_interval(ratios);
      const int fewest = before > LONGEST_US ? FEWEST_SLOW_ROUNDS : FEWEST_ROUNDS;
      if (round + 1 >= std::max(fewest, request.timing.min_samples) &&
          (relative_half_width(so_far) <= request.timing.target_interval / 4 ||
           so_far.high < request.ratio_to_beat || spent > limit_s / 2))
        break;
    }
    const ClockReading clocks = device_.clocks();
    Comparison& comparison = reply.comparison;
    comparison.raw = timing_of(raw_us_all);
    comparison.tuned = timing_of(tuned_us_all);
    for (Timing* timing : {&comparison.raw, &comparison.tuned}) {
      timing->sm_mhz = clocks.sm_mhz;
      timing->memory_mhz = clocks.memory_mhz;
      timing->throttle_reasons = clocks.throttle_reasons;
    }
    const MedianInterval ratio = median_interval(ratios), band = median_interval(noise);
    comparison.ratio = ratio.median;
    comparison.ratio_low = ratio.low;
    comparison.ratio_high = ratio.high;
    comparison.noise_band = std::max(std::abs(band.low - 1), std::abs(band.high - 1));
    return verify_replay(tuned, candidate, request.kernel.launch, limit_s, error);
  };
  const DeviceStatus status = run();
  reply.ok = status.ok();
  reply.error = status.reason;
  reply.last_words = status.context_lost;
  if (!reply.last_words) {
    release(raw);
    release(tuned);
  }
  return reply;
}

// Copies of `bytes` by the protocol of kernels, over as many pairs of places as the arena has. In nodes of
// `chunk` bytes at most: the driver is slow with some large sizes. `copies` a sample; 0: as many as are long
// enough for the sample's own cost not to show.
DeviceStatus RunnerSession::time_copies(std::uint64_t bytes, std::uint64_t chunk, int copies, double& us) {
  const std::uint64_t place = (bytes + 511) / 512 * 512, fits = arena_bytes_ / (2 * place);
  us = 0;
  if (fits < 1)
    return {}; // no room to measure it: unknown
  const double guessed_us = std::max(1.0, static_cast<double>(bytes) / 2e6);
  const double to_exceed_l2 = static_cast<double>(device_.l2_bytes()) / static_cast<double>(bytes) + 1;
  const double most = std::min(static_cast<double>(fits), 64.0);
  const auto pairs = static_cast<std::uint64_t>(std::clamp(to_exceed_l2, std::min(4.0, most), most));
  if (copies == 0)
    copies = static_cast<int>(
        std::clamp(std::ceil(REPLAY_US / guessed_us / static_cast<double>(pairs)), 1.0, 8.0) *
        static_cast<double>(pairs));
  std::uint64_t next = 0;
  const auto copy = [&](std::size_t) -> DeviceStatus {
    const CUdeviceptr from = arena_.address() + 2 * place * (next++ % pairs);
    for (std::uint64_t at = 0; at < bytes; at += chunk)
      LATHE_DEVICE(device_.cuda().cuMemcpyDtoDAsync(from + place + at, from + at, std::min(chunk, bytes - at),
                                                    device_.stream()),
                   "copying failed");
    return {};
  };
  Replay replay;
  LATHE_STEP(capture(copies, copy, replay));
  Timing timing;
  RunnerTiming wanted = request_.timing;
  wanted.incumbent_us = 0;
  const DeviceStatus status = time(replay, wanted, timing);
  release(replay);
  us = timing.median_us;
  return status;
}

DeviceStatus RunnerSession::measure_copies(SetupReply& reply) {
  // Memory that was never written may be mapped and read differently.
  LATHE_DEVICE(device_.cuda().cuMemsetD8Async(arena_.address(), 0x5b, arena_bytes_, device_.stream()),
               "clearing failed");
  LATHE_STEP(device_.wait(60));
  const std::uint64_t large = std::min<std::uint64_t>(192ull << 20, arena_bytes_ / 8 * 4 / 512 * 512);
  double us = 0;
  LATHE_STEP(time_copies(large, large, 0, us));
  reply.copy_bytes_per_second = us > 0 ? 2e6 * static_cast<double>(large) / us : 0;

  const double moved = request_.bytes > 0 ? request_.bytes : static_cast<double>(moved_bytes_);
  const auto bytes = static_cast<std::uint64_t>(std::max(1.0, moved / 2));
  std::uint64_t chunk = bytes;
  double floor_us = 0;
  LATHE_STEP(time_copies(bytes, chunk, 0, floor_us));
  if (bytes > large) {
    LATHE_STEP(time_copies(bytes, large, 0, us));
    if (us > 0 && us < floor_us) {
      floor_us = us;
      chunk = large;
    }
  }
  if (floor_us > 0 && bytes > 2 * device_.l2_bytes())
    reply.copy_bytes_per_second =
        std::max(reply.copy_bytes_per_second, 2e6 * static_cast<double>(bytes) / floor_us);
  // Kernels that are about as fast as the copy share a sample's own cost among so many launches: a floor to
  // hold them against shares it among as many.
  if (floor_us > 0)
    LATHE_STEP(time_copies(bytes, chunk, replay_of(floor_us), reply.copy_floor_us));
  return {};
}

double RunnerSession::physics_floor_us(double bytes_per_second, double raw_us) const {
  double floor = 0;
  if (request_.bytes > 0 && bytes_per_second > 0) {
    // What the last launches of a replay wrote may still be in the L2 when the clock stops.
    const double nodes = std::max(1, launches_for(raw_us));
    const double bytes = request_.bytes - static_cast<double>(device_.l2_bytes()) / nodes;
    floor = std::max(floor, 1e6 * bytes / (FLOOR_MARGIN * bytes_per_second));
  }
  if (request_.operations > 0 && device_.clock_hz() > 0)
    floor = std::max(floor, 1e6 * request_.operations /
                                (MOST_OPERATIONS * device_.multiprocessors() * device_.clock_hz()));
  // A cost model that the raw kernel itself beats is wrong, and no evidence against anyone.
  return floor < raw_us ? floor : 0;
}

} // namespace lathe
