#include "tuner/measure/runner_session.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

constexpr std::uint64_t ALIGNMENT = 512;
constexpr std::uint64_t MOST_SETS = 64;
constexpr std::uint64_t LEAST_ARENA = 1ull << 30;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t poison_of(int dtype, std::byte poison) {
  std::uint64_t bits = 0;
  for (int i = 0; i < element::size_of(dtype); ++i)
    bits = bits << 8 | std::to_integer<std::uint64_t>(poison);
  return bits;
}

} // namespace

Result<std::unique_ptr<RunnerSession>> RunnerSession::create(RunnerDevice& device, SetupRequest request,
                                                             SetupReply& reply) {
  std::unique_ptr<RunnerSession> session(new RunnerSession(device));
  session->request_ = std::move(request);
  const auto prepare = [&]() -> DeviceStatus {
    LATHE_STEP(session->load_utilities());
    LATHE_STEP(session->allocate());
    const SetupRequest& wanted = session->request_;
    if (wanted.measure)
      LATHE_STEP(session->measure_copies(reply));
    LATHE_STEP(session->fill_sets());
    LATHE_STEP(session->run_reference());
    if (wanted.return_outputs)
      LATHE_STEP(session->read_outputs(reply.outputs));
    if (!wanted.measure)
      return {};
    CUfunction function = nullptr;
    LATHE_STEP(device.load(wanted.reference, function));
    Replay replay;
    double error = 0, first_us = 0;
    LATHE_STEP(
        session->verify(function, wanted.reference.launch, wanted.timing.time_limit_s, error, first_us));
    LATHE_STEP(session->capture(
        session->nodes_for(first_us),
        [&](std::size_t set) { return session->launch(function, wanted.reference.launch, set); }, replay));
    const DeviceStatus timed = session->time(replay, wanted.timing, reply.raw, &error);
    session->release(replay);
    LATHE_STEP(timed);
    reply.floor_us = session->physics_floor_us(reply.copy_bytes_per_second, reply.raw.median_us);
    return {};
  };
  const DeviceStatus status = prepare();
  if (!status.ok())
    return Error{"the raw kernel cannot be run on this device", status.reason, ""};
  return session;
}

RunnerSession::~RunnerSession() {
  for (CUevent event : {begin_, end_})
    if (event)
      device_.cuda().cuEventDestroy(event);
  if (utilities_)
    device_.cuda().cuModuleUnload(utilities_);
}

std::uint64_t RunnerSession::bytes_of(std::size_t buffer) const {
  const RunnerBuffer& wanted = request_.buffers[buffer];
  return wanted.count * static_cast<std::uint64_t>(element::size_of(wanted.dtype));
}

element::FillPlan RunnerSession::plan(std::size_t set, std::size_t buffer) const {
  element::FillPlan result = request_.buffers[buffer].fill;
  // The first set of version 0 holds what the host executor would.
  if (const std::uint64_t other = set + MOST_SETS * static_cast<std::uint64_t>(version_); other > 0)
    result.key = element::mix(result.key ^ element::mix(other));
  return result;
}

DeviceStatus RunnerSession::load_utilities() {
  LATHE_DEVICE(device_.cuda().cuModuleLoadData(&utilities_, request_.utilities.data()),
               "loading Lathe's kernels failed");
  LATHE_DEVICE(device_.cuda().cuEventCreate(&begin_, CU_EVENT_DEFAULT), "creating an event failed");
  LATHE_DEVICE(device_.cuda().cuEventCreate(&end_, CU_EVENT_DEFAULT), "creating an event failed");
  return {};
}

DeviceStatus RunnerSession::utility(const char* name, std::uint64_t elements, std::vector<void*> arguments) {
  CUfunction function = nullptr;
  LATHE_DEVICE(device_.cuda().cuModuleGetFunction(&function, utilities_, name),
               "loading Lathe's kernels failed");
  Launch geometry;
  geometry.block[0] = 256;
  geometry.grid[0] = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      (elements + 255) / 256, 1, static_cast<std::uint64_t>(device_.multiprocessors()) * 16));
  return device_.launch(function, geometry, arguments);
}

DeviceStatus RunnerSession::fill(std::size_t set, std::size_t buffer) {
  element::FillPlan wanted = plan(set, buffer);
  CUdeviceptr data = sets_[set].data[buffer];
  return utility("lathe_fill", wanted.count, {&wanted, &data});
}

DeviceStatus RunnerSession::allocate() {
  const std::uint64_t l2 = std::max<std::uint64_t>(device_.l2_bytes(), 1 << 20);
  std::vector<std::uint64_t> offsets;
  std::uint64_t reference_bytes = 0;
  for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    set_bytes_ += GUARD_BYTES; // a multiple of the alignment; the band behind follows the last byte at once
    set_bytes_ += request_.shifted_elements * static_cast<std::uint64_t>(element::size_of(buffer.dtype));
    offsets.push_back(set_bytes_);
    set_bytes_ = round_up(set_bytes_ + bytes_of(i) + GUARD_BYTES, ALIGNMENT);
    moved_bytes_ += bytes_of(i) * (buffer.direction == Direction::inout ? 2 : 1);
    if (buffer.direction != Direction::in)
      reference_bytes += 4 * bytes_of(i);
  }
  flush_bytes_ = round_up(2 * l2, ALIGNMENT);
  LATHE_DEVICE(flush_.allocate(device_.cuda(), flush_bytes_), "allocating memory failed");
  LATHE_DEVICE(device_.cuda().cuMemsetD8Async(flush_.address(), 0, flush_bytes_, device_.stream()),
               "clearing failed");

  // Enough sets that a replay of one launch each lasts long enough, at a guess of the device's speed, and
  // that they exceed the L2 together. Sets so small that 64 of them do not are measured with a warm L2.
  const double guessed_us = std::max(2.0, static_cast<double>(moved_bytes_) / 4e6);
  std::uint64_t wanted = static_cast<std::uint64_t>(std::ceil(REPLAY_US / guessed_us));
  wanted = std::clamp<std::uint64_t>(2 * l2 / set_bytes_ + 1, std::min<std::uint64_t>(wanted, 4), MOST_SETS);
  const std::uint64_t free = device_.free_bytes() / 10 * 8;
  if (free < set_bytes_ + reference_bytes) {
    DeviceStatus status;
    status.outcome = Outcome::resource_limit;
    status.reason = "its buffers need " + std::to_string((set_bytes_ + reference_bytes) >> 20) +
                    " MiB and the device has " + std::to_string(free >> 20) +
                    " MiB free: use a smaller problem";
    return status;
  }
  const std::uint64_t room = (free - reference_bytes) / set_bytes_;
  wanted = std::clamp<std::uint64_t>(std::min(wanted, room), room >= 2 ? 2 : 1, MOST_SETS);
  sets_exceed_l2_ = wanted * set_bytes_ > l2 && wanted >= 2;
  // One piece of memory: small sets share their pages, as the buffers of a real program do. It is large
  // enough to measure the device's bandwidth by copies in it, where the device has that much.
  arena_bytes_ = std::min(std::max(wanted * set_bytes_, LEAST_ARENA), free - reference_bytes);
  LATHE_DEVICE(arena_.allocate(device_.cuda(), arena_bytes_), "allocating memory failed");

  std::vector<std::uint64_t> bands;
  for (std::uint64_t s = 0; s < wanted; ++s) {
    Set set;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      set.data.push_back(arena_.address() + s * set_bytes_ + offsets[i]);
      bands.push_back(set.data[i] - GUARD_BYTES);
      bands.push_back(set.data[i] + bytes_of(i));
    }
    sets_.push_back(std::move(set));
  }
  band_count_ = bands.size();
  LATHE_DEVICE(bands_.allocate(device_.cuda(), bands.size() * sizeof bands[0]), "allocating memory failed");
  LATHE_DEVICE(device_.cuda().cuMemcpyHtoDAsync(bands_.address(), bands.data(),
                                                bands.size() * sizeof bands[0], device_.stream()),
               "copying failed");
  found_.resize(2 * request_.buffers.size() + 2);
  LATHE_DEVICE(findings_.allocate(device_.cuda(), found_.size() * sizeof found_[0]),
               "allocating memory failed");
  return device_.wait(60);
}

DeviceStatus RunnerSession::fill_sets() {
  CUdeviceptr address = bands_.address();
  unsigned band_bytes = GUARD_BYTES;
  LATHE_STEP(utility("lathe_set_guards", band_count_ * GUARD_BYTES, {&address, &band_count_, &band_bytes}));
  LATHE_STEP(plan_refresh());
  LATHE_STEP(refresh());
  filled_ = true;
  return device_.wait(60);
}

DeviceStatus RunnerSession::plan_refresh() {
  LATHE_DEVICE(device_.cuda().cuModuleGetFunction(&refresh_function_, utilities_, "lathe_refresh"),
               "loading Lathe's kernels failed");
  for (const int version : {1, 0}) { // the sets hold version 0 first
    version_ = version;
    std::vector<RefreshEntry> entries;
    for (std::size_t set = 0; set < sets_.size(); ++set)
      for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
        const RunnerBuffer& buffer = request_.buffers[i];
        const std::byte pattern = poison_of_check(sets_.size() > 1 && set + 1 == sets_.size() ? 1 : 0);
        entries.push_back({plan(set, i), sets_[set].data[i], poison_of(buffer.dtype, pattern),
                           buffer.direction == Direction::out ? 1u : 0u});
      }
    const std::size_t bytes = entries.size() * sizeof entries[0];
    LATHE_DEVICE(refresh_tables_[version].allocate(device_.cuda(), bytes), "allocating memory failed");
    LATHE_DEVICE(device_.cuda().cuMemcpyHtoDAsync(refresh_tables_[version].address(), entries.data(), bytes,
                                                  device_.stream()),
                 "copying failed");
    LATHE_STEP(device_.wait(60)); // `entries` goes
  }
  return {};
}

DeviceStatus RunnerSession::refresh() {
  CUdeviceptr table = refresh_tables_[version_].address();
  std::uint64_t longest = 1;
  for (const RunnerBuffer& buffer : request_.buffers)
    longest = std::max(longest, buffer.count);
  Launch geometry;
  geometry.block[0] = 256;
  geometry.grid[1] = static_cast<std::uint32_t>(sets_.size() * request_.buffers.size());
  const std::uint64_t enough =
      static_cast<std::uint64_t>(device_.multiprocessors()) * 16 / geometry.grid[1] + 1;
  geometry.grid[0] = static_cast<std::uint32_t>(std::clamp<std::uint64_t>((longest + 255) / 256, 1, enough));
  std::vector<void*> arguments{&table};
  return device_.launch(refresh_function_, geometry, arguments);
}

DeviceStatus RunnerSession::reset(std::size_t set, std::byte poison) {
  for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
    if (request_.buffers[i].direction != Direction::out)
      LATHE_STEP(fill(set, i));
    else
      LATHE_DEVICE(device_.cuda().cuMemsetD8Async(sets_[set].data[i], std::to_integer<unsigned char>(poison),
                                                  bytes_of(i), device_.stream()),
                   "poisoning an output failed");
  }
  return {};
}

DeviceStatus RunnerSession::launch(CUfunction function, const Launch& geometry, std::size_t set) {
  std::vector<void*> arguments;
  for (RunnerParameter& parameter : request_.parameters)
    arguments.push_back(parameter.is_buffer ? static_cast<void*>(&sets_[set].data[parameter.buffer])
                                            : static_cast<void*>(parameter.value.data()));
  return device_.launch(function, geometry, arguments);
}

DeviceStatus RunnerSession::clear_findings() {
  std::fill(found_.begin(), found_.end(), Finding{0, 0, ~0ull, 0, 0});
  LATHE_DEVICE(device_.cuda().cuMemcpyHtoDAsync(findings_.address(), found_.data(),
                                                found_.size() * sizeof found_[0], device_.stream()),
               "copying failed");
  return {};
}

DeviceStatus RunnerSession::read_findings(std::size_t count) {
  LATHE_STEP(device_.wait(60));
  LATHE_DEVICE(device_.cuda().cuMemcpyDtoH(found_.data(), findings_.address(), count * sizeof found_[0]),
               "copying failed");
  return {};
}

DeviceStatus RunnerSession::run_reference() {
  CUfunction function = nullptr;
  LATHE_STEP(device_.load(request_.reference, function));
  magnitudes_.assign(request_.buffers.size(), 0);
  for (const int version : {1, 0}) // the sets hold version 0 afterwards
    for (std::size_t check = 0; check < 2; ++check) {
      version_ = version;
      LATHE_STEP(run_reference_once(function, check));
    }
  return {};
}

DeviceStatus RunnerSession::run_reference_once(CUfunction function, std::size_t check) {
  const std::size_t set = check_set(check);
  const std::byte pattern = poison_of_check(check);
  LATHE_STEP(reset(set, pattern));
  LATHE_STEP(launch(function, request_.reference.launch, set));
  LATHE_STEP(device_.wait(request_.timing.time_limit_s));
  LATHE_STEP(clear_findings());
  std::vector<DeviceMemory>& reference = reference_[version_][check];
  reference.resize(request_.buffers.size());
  for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    if (buffer.direction == Direction::in)
      continue;
    LATHE_DEVICE(reference[i].allocate(device_.cuda(), bytes_of(i)), "allocating memory failed");
    CUdeviceptr kept = reference[i].address();
    LATHE_DEVICE(device_.cuda().cuMemcpyDtoDAsync(kept, sets_[set].data[i], bytes_of(i), device_.stream()),
                 "copying failed");
    int dtype = buffer.dtype;
    std::uint64_t poison = poison_of(dtype, pattern), count = buffer.count;
    CUdeviceptr finding = findings_.address() + i * sizeof(Finding);
    LATHE_STEP(utility("lathe_magnitude", count, {&dtype, &kept, &poison, &count, &finding}));
  }
  LATHE_STEP(read_findings(request_.buffers.size()));
  for (std::size_t i = 0; i < request_.buffers.size(); ++i)
    if (found_[i].used > 0)
      magnitudes_[i] =
          std::max(magnitudes_[i], std::sqrt(found_[i].sum / static_cast<double>(found_[i].used)));
  return {};
}

DeviceStatus RunnerSession::read_outputs(std::vector<std::string>& outputs) {
  outputs.assign(request_.buffers.size(), {});
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (const DeviceMemory& kept = reference_[0][0][i]; kept.address()) {
      outputs[i].resize(bytes_of(i));
      LATHE_DEVICE(device_.cuda().cuMemcpyDtoH(outputs[i].data(), kept.address(), outputs[i].size()),
                   "copying failed");
    }
  return {};
}

} // namespace lathe
