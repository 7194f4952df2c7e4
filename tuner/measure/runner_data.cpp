#include "tuner/measure/runner_session.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

constexpr std::uint64_t ALIGNMENT = 512;
constexpr std::uint64_t MOST_SETS = 64;
// Of sets that the L2 holds together: samples of the fastest kernels are as long as others' with as many.
constexpr std::uint64_t MOST_WARM_SETS = 256;
constexpr std::uint64_t LEAST_ARENA = 1ull << 30;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

} // namespace

DeviceStatus RunnerSession::allocate() {
  const std::uint64_t l2 = std::max<std::uint64_t>(device_.l2_bytes(), 1 << 20);
  std::vector<std::uint64_t> offsets;
  std::uint64_t kept_bytes = 0;
  for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    set_bytes_ += GUARD_BYTES; // a multiple of the alignment; the band behind follows the last byte at once
    set_bytes_ += request_.shifted_elements * static_cast<std::uint64_t>(element::size_of(buffer.dtype));
    offsets.push_back(set_bytes_);
    set_bytes_ = round_up(set_bytes_ + bytes_of(i) + GUARD_BYTES, ALIGNMENT);
    moved_bytes_ += bytes_of(i) * (buffer.direction == Direction::inout ? 2 : 1);
    if (buffer.direction == Direction::inout)
      kept_bytes += bytes_of(i);
    kept_bytes += bytes_of(i); // a master or a spare
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
  if (MOST_SETS * set_bytes_ <= l2)
    wanted = std::clamp<std::uint64_t>(l2 / 2 / set_bytes_, MOST_SETS, MOST_WARM_SETS);
  const std::uint64_t free = device_.free_bytes() / 10 * 8;
  if (free < set_bytes_ + kept_bytes) {
    DeviceStatus status;
    status.outcome = Outcome::resource_limit;
    status.reason = "its buffers need " + std::to_string((set_bytes_ + kept_bytes) >> 20) +
                    " MiB and the device has " + std::to_string(free >> 20) +
                    " MiB free: use a smaller problem";
    return status;
  }
  const std::uint64_t room = (free - kept_bytes) / set_bytes_;
  wanted = std::clamp<std::uint64_t>(std::min(wanted, room), room >= 2 ? 2 : 1, MOST_WARM_SETS);
  sets_exceed_l2_ = wanted * set_bytes_ > l2 && wanted >= 2;
  // One piece of memory: small sets share their pages, as the buffers of a real program do. It is large
  // enough to measure the device's bandwidth by copies in it, where the device has that much.
  arena_bytes_ = std::min(std::max(wanted * set_bytes_, LEAST_ARENA), free - kept_bytes);
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

DeviceStatus RunnerSession::fill() {
  CUdeviceptr address = bands_.address();
  unsigned band_bytes = GUARD_BYTES;
  LATHE_STEP(utility("lathe_set_guards", band_count_ * GUARD_BYTES, {&address, &band_count_, &band_bytes}));
  for (std::size_t i = 0; i < request_.buffers.size(); ++i) {
    const RunnerBuffer& buffer = request_.buffers[i];
    masters_.emplace_back();
    spares_.emplace_back();
    if (buffer.direction != Direction::in)
      LATHE_DEVICE(spares_[i].allocate(device_.cuda(), bytes_of(i)), "allocating memory failed");
    if (buffer.direction == Direction::out)
      continue;
    LATHE_DEVICE(masters_[i].allocate(device_.cuda(), bytes_of(i)), "allocating memory failed");
    element::FillPlan plan = buffer.fill;
    CUdeviceptr master = masters_[i].address();
    LATHE_STEP(utility("lathe_fill", plan.count, {&plan, &master}));
  }
  std::vector<RefreshEntry> entries;
  for (const Set& set : sets_)
    for (std::size_t i = 0; i < request_.buffers.size(); ++i)
      entries.push_back({masters_[i].address(), set.data[i], bytes_of(i),
                         static_cast<std::uint64_t>(element::size_of(request_.buffers[i].dtype)),
                         entries.size(), request_.buffers[i].fill.kind == element::offsets});
  const std::size_t bytes = entries.size() * sizeof entries[0];
  LATHE_DEVICE(refresh_table_.allocate(device_.cuda(), bytes), "allocating memory failed");
  LATHE_DEVICE(
      device_.cuda().cuMemcpyHtoDAsync(refresh_table_.address(), entries.data(), bytes, device_.stream()),
      "copying failed");
  LATHE_DEVICE(device_.cuda().cuModuleGetFunction(&refresh_function_, utilities_, "lathe_refresh"),
               "loading Lathe's kernels failed");
  LATHE_STEP(refresh());
  filled_ = true;
  return device_.wait(60); // `entries` goes
}

DeviceStatus RunnerSession::refresh() {
  const std::uint64_t key = new_key();
  const std::byte poison = new_poison();
  for (Set& set : sets_) {
    set.key = key;
    set.poison = poison;
  }
  return refresh_entries(0, sets_.size() * request_.buffers.size(), key, poison);
}

DeviceStatus RunnerSession::reset(std::size_t set, std::uint64_t key, std::byte poison) {
  sets_[set].key = key;
  sets_[set].poison = poison;
  return refresh_entries(set * request_.buffers.size(), request_.buffers.size(), key, poison);
}

DeviceStatus RunnerSession::refresh_entries(std::size_t first, std::size_t count, std::uint64_t key,
                                            std::byte poison) {
  if (count == 0)
    return {};
  CUdeviceptr table = refresh_table_.address() + first * sizeof(RefreshEntry);
  std::uint64_t pattern = std::to_integer<std::uint64_t>(poison) * 0x0101010101010101ull, longest = 0;
  for (std::size_t i = 0; i < request_.buffers.size(); ++i)
    longest = std::max(longest, bytes_of(i));
  Launch geometry;
  geometry.block[0] = 256;
  geometry.grid[1] = static_cast<std::uint32_t>(count);
  const std::uint64_t enough = static_cast<std::uint64_t>(device_.multiprocessors()) * 16 / count + 1;
  geometry.grid[0] =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>((longest / 16 + 255) / 256, 1, enough));
  std::vector<void*> arguments{&table, &key, &pattern};
  return device_.launch(refresh_function_, geometry, arguments);
}

} // namespace lathe
