#include "tuner/compile/compile.h"
#include "tuner/measure/runner_session.h"
#include "tuner/profile/profile.h"

namespace lathe {

ProfileReply RunnerSession::profile(const ProfileRequest& request) {
  const RunnerDevice::Clock::time_point start = RunnerDevice::Clock::now();
  ProfileReply reply;
  const auto fail = [&](const Error& error) {
    reply.error = error.sentence();
    return reply;
  };
  if (!profiler_) {
    const auto toolkit = find_cuda_toolkit();
    auto opened = RangeProfiler::open(
        device_.context(), device_.index(),
        RangeProfiler::library_candidates(toolkit.ok() ? toolkit->nvrtc : std::filesystem::path()),
        profile_metrics());
    reply.denied = !opened.ok();
    if (!opened.ok())
      return fail(opened.error());
    profiler_ = std::move(*opened);
  }

  DeviceStatus fault; // of the kernel or the device, as opposed to the profiler's
  const auto guarded = [&](DeviceStatus status) -> Status {
    if (status.ok())
      return Done{};
    fault = std::move(status);
    return Error{"the kernel cannot be profiled", fault.reason, ""};
  };
  CUfunction function = nullptr;
  std::size_t pass = 0, set = 0;
  const auto prepare = [&]() -> Status {
    return guarded([&]() -> DeviceStatus {
      set = pass++ % sets_.size();
      LATHE_STEP(reset(set, new_key(), new_poison()));
      LATHE_STEP(flush());
      return device_.wait(request.time_limit_s);
    }());
  };
  const auto run = [&]() -> Status {
    return guarded([&]() -> DeviceStatus {
      LATHE_STEP(launch(function, request.kernel.launch, set));
      return device_.wait(request.time_limit_s);
    }());
  };
  const auto collect = [&]() -> Result<std::vector<double>> {
    LATHE_CHECK(guarded(device_.load(request.kernel, function)));
    // Once without the profiler: loading and first-touch costs are no part of a pass.
    LATHE_CHECK(prepare());
    LATHE_CHECK(run());
    return profiler_->collect(prepare, run);
  };
  Result<std::vector<double>> values = collect();
  reply.last_words = fault.context_lost;
  reply.run_seconds = std::chrono::duration<double>(RunnerDevice::Clock::now() - start).count();
  if (!values.ok()) {
    reply.denied = fault.ok(); // the profiler's own failure
    return fail(values.error());
  }
  reply.ok = true;
  reply.metrics = profiler_->metrics();
  reply.values = std::move(*values);
  return reply;
}

} // namespace lathe
