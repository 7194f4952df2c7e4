#include "tuner/measure/runner_session.h"

#include <algorithm>

namespace lathe {
namespace {

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
    LATHE_STEP(session->fill());
    LATHE_STEP(session->run_reference(wanted.return_outputs ? &reply.outputs : nullptr));
    session->launches_ = std::min(wanted.launches, static_cast<int>(session->sets_.size()));
    if (!wanted.verify_reference)
      return {};
    CUfunction function = nullptr;
    LATHE_STEP(device.load(wanted.reference, function));
    double error = 0, first_us = 0;
    LATHE_STEP(
        session->verify(function, wanted.reference.launch, wanted.timing.time_limit_s, error, first_us));
    if (!wanted.measure)
      return {};
    Replay replay;
    LATHE_STEP(session->decide_launches(function, first_us, reply.copy_floor_us));
    reply.launches = session->launches_;
    LATHE_STEP(session->capture(
        session->launches_for(first_us),
        [&](std::size_t set) { return session->launch(function, wanted.reference.launch, set); }, replay));
    const DeviceStatus timed = session->time(replay, wanted.timing, reply.raw, &error);
    session->release(replay);
    LATHE_STEP(timed);
    reply.floor_us = session->physics_floor_us(reply.copy_bytes_per_second, reply.raw.median_us);
    return {};
  };
  const DeviceStatus status = prepare();
  reply.reference_differs = status.differs;
  if (status.differs) // here from itself
    return Error{"the raw kernel gives other results from run to run", status.reason,
                 "it may race or add up in no fixed order at these sizes: leave them out, or choose others"};
  if (status.context_lost) // to free anything would wait for a kernel that may not end: the process ends
      [[maybe_unused]]
    const RunnerSession* const kept = session.release();
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

DeviceStatus RunnerSession::run_reference(std::vector<std::string>* outputs) {
  CUfunction function = nullptr;
  LATHE_STEP(device_.load(request_.reference, function));
  magnitudes_.assign(request_.buffers.size(), 0);
  const auto run = [&](std::size_t set, std::uint64_t key) -> DeviceStatus {
    LATHE_STEP(reset(set, key, POISONS[0]));
    LATHE_STEP(launch(function, request_.reference.launch, set));
    LATHE_STEP(device_.wait(request_.timing.time_limit_s));
    return add_magnitudes(set);
  };
  LATHE_STEP(run(0, 0));
  if (outputs) {
    outputs->assign(request_.buffers.size(), {});
    for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
      if (request_.buffers[i].direction == Direction::in)
        continue;
      std::string& output = (*outputs)[i];
      output.resize(bytes_of(i));
      LATHE_DEVICE(device_.cuda().cuMemcpyDtoH(output.data(), sets_[0].data[i], output.size()),
                   "copying failed");
    }
  }
  return run(sets_.size() - 1, new_key());
}

DeviceStatus RunnerSession::add_magnitudes(std::size_t set) {
  for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    if (buffer.direction == Direction::in)
      continue;
    DeviceStatus status;
    const double size = magnitude([&](double limit) {
      Sizes sizes;
      if (status.ok())
        status = sizes_below(set, i, limit, sizes);
      return sizes;
    });
    LATHE_STEP(status);
    magnitudes_[i] = std::max(magnitudes_[i], size);
  }
  return {};
}

DeviceStatus RunnerSession::sizes_below(std::size_t set, std::size_t buffer, double limit, Sizes& sizes) {
  int dtype = request_.buffers[buffer].dtype;
  std::uint64_t poison = poison_of(dtype, sets_[set].poison), count = request_.buffers[buffer].count;
  CUdeviceptr data = sets_[set].data[buffer], finding = findings_.address();
  LATHE_STEP(clear_findings());
  LATHE_STEP(utility("lathe_magnitude", count, {&dtype, &data, &poison, &count, &limit, &finding}));
  LATHE_STEP(read_findings(1));
  sizes.squares = found_[0].sum;
  sizes.count = found_[0].used;
  sizes.largest = std::bit_cast<double>(found_[0].worst);
  return {};
}

} // namespace lathe
