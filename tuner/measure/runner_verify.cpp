#include "tuner/measure/runner_session.h"
#include "tuner/measure/verify.h"

#include <algorithm>

namespace lathe {

DeviceStatus RunnerSession::judge(std::size_t set, double& error) {
  const std::size_t buffers = request_.buffers.size();
  const auto finding_at = [&](std::size_t i) { return findings_.address() + i * sizeof(Finding); };
  std::uint64_t key = sets_[set].key;
  LATHE_STEP(clear_findings());
  for (std::size_t i = 0; i < buffers; ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    CUdeviceptr finding = finding_at(i), data = sets_[set].data[i];
    if (buffer.direction == Direction::in) {
      CUdeviceptr entry = refresh_table_.address() + (set * buffers + i) * sizeof(RefreshEntry);
      LATHE_STEP(utility("lathe_check_input", buffer.count, {&entry, &key, &finding}));
    } else {
      LATHE_DEVICE(
          device_.cuda().cuMemcpyDtoDAsync(spares_[i].address(), data, bytes_of(i), device_.stream()),
          "copying failed");
    }
  }
  CUdeviceptr bands = bands_.address(), finding = finding_at(buffers);
  unsigned band_bytes = GUARD_BYTES;
  LATHE_STEP(utility("lathe_check_guards", band_count_ * GUARD_BYTES,
                     {&bands, &band_count_, &band_bytes, &finding}));

  CUfunction reference = nullptr;
  LATHE_STEP(device_.load(request_.reference, reference));
  LATHE_STEP(reset(set, key, sets_[set].poison));
  LATHE_STEP(launch(reference, request_.reference.launch, set));
  for (std::size_t i = 0; i < buffers; ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    if (buffer.direction == Direction::in)
      continue;
    element::ErrorRule rule{buffer.dtype, buffer.relative,
                            buffer.absolute + buffer.reordering * magnitudes_[i], magnitudes_[i]};
    CUdeviceptr out = spares_[i].address(), wanted = sets_[set].data[i], place = finding_at(i);
    std::uint64_t count = buffer.count, salt = secret_();
    if (buffer.is_unordered) // what a kernel knows of the sum beforehand it could aim at
      LATHE_STEP(utility("lathe_compare_sets", count, {&rule, &out, &wanted, &count, &salt, &place}));
    else
      LATHE_STEP(utility("lathe_compare", count, {&rule, &out, &wanted, &count, &place}));
  }
  LATHE_STEP(read_findings(buffers + 1));
  return describe_findings(set, error);
}

DeviceStatus RunnerSession::describe_findings(std::size_t set, double& error) {
  const std::size_t buffers = request_.buffers.size();
  DeviceStatus status;
  if (found_[buffers].failures > 0) {
    const std::uint64_t band = found_[buffers].first / GUARD_BYTES,
                        offset = found_[buffers].first % GUARD_BYTES;
    const std::uint64_t buffer = band / 2 % buffers;
    status.reason = "the kernel wrote outside " + request_.buffers[buffer].name + ", " +
                    (band % 2 ? std::to_string(offset) + " bytes past its end"
                              : std::to_string(GUARD_BYTES - offset) + " bytes before its start");
    // The bands are mended for the next configuration.
    CUdeviceptr bands = bands_.address();
    unsigned band_bytes = GUARD_BYTES;
    LATHE_STEP(utility("lathe_set_guards", band_count_ * GUARD_BYTES, {&bands, &band_count_, &band_bytes}));
  }
  // A changed input explains wrong outputs, so it is named first.
  for (std::size_t i = 0; i < buffers; ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    if (buffer.direction == Direction::in && found_[i].failures > 0 && status.reason.empty())
      status.reason = "the kernel changed its input " + buffer.name + " (element " +
                      std::to_string(found_[i].first) + ")";
  }
  for (std::size_t i = 0; i < buffers; ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    if (buffer.direction == Direction::in)
      continue;
    error = std::max(error, std::bit_cast<double>(found_[i].worst));
    if (found_[i].failures == 0 || !status.reason.empty())
      continue;
    if (buffer.is_unordered) {
      status.reason = describe_other_set(buffer.name);
      status.differs = true;
      continue;
    }
    const auto size = static_cast<std::size_t>(element::size_of(buffer.dtype));
    const std::uint64_t offset = found_[i].first * size;
    std::uint64_t out = 0, reference = 0;
    LATHE_DEVICE(device_.cuda().cuMemcpyDtoH(&out, spares_[i].address() + offset, size), "copying failed");
    LATHE_DEVICE(device_.cuda().cuMemcpyDtoH(&reference, sets_[set].data[i] + offset, size),
                 "copying failed");
    const auto dtype = static_cast<element::DType>(buffer.dtype);
    const BufferDifference difference{std::bit_cast<double>(found_[i].worst), found_[i].failures,
                                      found_[i].first};
    status.reason =
        describe_difference(buffer.name, dtype, difference, out, reference, buffer.count, sets_[set].poison) +
        reordering_hint(dtype, difference, buffer.count, buffer.reordering);
    status.differs = true;
  }
  if (!status.reason.empty())
    status.outcome = Outcome::wrong_result;
  return status;
}

DeviceStatus RunnerSession::verify(CUfunction function, const Launch& geometry, double limit_s, double& error,
                                   double& first_us) {
  for (const std::byte poison : POISONS) {
    const std::size_t set = secret_() % sets_.size();
    LATHE_STEP(reset(set, new_key(), poison));
    LATHE_DEVICE(device_.cuda().cuEventRecord(begin_, device_.stream()), "recording an event failed");
    LATHE_STEP(launch(function, geometry, set));
    LATHE_DEVICE(device_.cuda().cuEventRecord(end_, device_.stream()), "recording an event failed");
    LATHE_STEP(device_.wait(limit_s));
    float milliseconds = 0;
    LATHE_DEVICE(device_.cuda().cuEventElapsedTime(&milliseconds, begin_, end_), "reading a time failed");
    first_us = 1e3 * static_cast<double>(milliseconds);
    LATHE_STEP(judge(set, error));
  }
  return {};
}

DeviceStatus RunnerSession::judge_replay(const Replay& replay, double& error) {
  DeviceStatus status = judge(secret_() % static_cast<unsigned>(replay.nodes), error);
  if (status.outcome == Outcome::wrong_result)
    status.reason += ", in a timed call though not when verified before";
  return status;
}

DeviceStatus RunnerSession::verify_replay(const Replay& replay, CUfunction function, const Launch& geometry,
                                          double limit_s, double& error) {
  // A kernel that works in every n-th call alone meets checks in calls of other numbers, too.
  for (const std::size_t shift : {std::size_t{1}, 2 + secret_() % 7}) {
    for (std::size_t i = 0; i < shift; ++i) {
      // What the last launch counted in a buffer may be a place behind the end of another one by now.
      LATHE_STEP(reset(0, new_key(), new_poison()));
      LATHE_STEP(launch(function, geometry, 0));
    }
    double us = 0;
    LATHE_STEP(sample(replay, limit_s, us));
    LATHE_STEP(judge_replay(replay, error));
  }
  return {};
}

EvaluateReply RunnerSession::evaluate(const EvaluateRequest& request) {
  const RunnerDevice::Clock::time_point start = RunnerDevice::Clock::now();
  EvaluateReply reply;
  Replay replay;
  const auto run = [&]() -> DeviceStatus {
    CUfunction function = nullptr;
    LATHE_STEP(device_.load(request.kernel, function));
    const double limit_s = request.timing.time_limit_s;
    double first_us = 0;
    LATHE_STEP(verify(function, request.kernel.launch, limit_s, reply.error, first_us));
    if (request.verify_only)
      return {};
    LATHE_STEP(capture(
        launches_for(first_us), [&](std::size_t set) { return launch(function, request.kernel.launch, set); },
        replay));
    LATHE_STEP(time(replay, request.timing, reply.timing, &reply.error));
    if (!reply.timing.stopped_early) // what is clearly beaten is never shipped
      LATHE_STEP(verify_replay(replay, function, request.kernel.launch, limit_s, reply.error));
    if (request.floor_us > 0 && reply.timing.median_us < request.floor_us) {
      DeviceStatus status;
      status.outcome = Outcome::under_floor;
      char text[160];
      std::snprintf(
          text, sizeof text,
          "%.3f us is less than the %.3f us that moving or computing the cost model's amounts takes here",
          reply.timing.median_us, request.floor_us);
      status.reason = text;
      return status;
    }
    return {};
  };
  const DeviceStatus status = run();
  reply.outcome = status.outcome;
  reply.reason = status.reason;
  reply.last_words = status.context_lost;
  if (!reply.last_words)
    release(replay);
  reply.run_seconds = std::chrono::duration<double>(RunnerDevice::Clock::now() - start).count();
  return reply;
}

} // namespace lathe
