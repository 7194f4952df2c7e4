#include "refactor/guard/missing_barriers.h"

#include "refactor/guard/checks.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

constexpr std::uint64_t WARP = 32;
constexpr std::uint64_t MOST_WATCHED = std::uint64_t{8}
                                       << 20; // bytes of a buffer that races are looked for in

std::uint64_t threads_of(const Launch& launch) {
  return std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
}

// What a barrier may order beyond the block's own accesses, which runs of one block after the other cannot
// show, and barriers that order fewer threads than the executor takes them to order.
std::string obstacle_in(const CodeFacts& code, const SourceFacts& source) {
  if (code.partial_barriers > 0)
    return "has barriers for a part of the block";
  if (!code.fences.empty() || source.fences.count > 0)
    return "has memory fences";
  if (!source.globals.empty())
    return "has variables that outlive a launch";
  const bool updates = std::ranges::any_of(
      code.memory, [](const auto& entry) { return entry.second.atomic && entry.first != "shared"; });
  return updates ? "updates global memory by atomic operations" : "";
}

// The configuration whatever the size: an instance with a fixed size is another one at each.
std::string key_of(const Configuration& configuration) {
  std::string key;
  for (const Value& value : configuration.knobs)
    key += lathe::to_string(value) + " ";
  for (const auto& [name, dtype] : configuration.workload->types)
    key += name + "=" + dtype + " ";
  return key;
}

} // namespace

std::string counted_barriers(int count) {
  return std::to_string(count) + (count == 1 ? " barrier" : " barriers");
}

MissingBarriers missing_barriers(const JudgedPair& subject) {
  MissingBarriers found;
  for (const FactPair& pair : fact_pairs(subject)) {
    if (!pair.raw || !pair.raw_at_size || !pair.templated)
      continue;
    // At a size a loop may be unrolled, or not be there.
    const int needed = std::min(pair.raw->barriers, pair.raw_at_size->barriers);
    if (pair.templated->barriers >= needed ||
        (!pair.configuration->is_default && pair.templated->barriers > 0))
      continue;
    if (found.where.empty())
      found.where = counted_barriers(pair.templated->barriers) + " where the raw kernel has " +
                    std::to_string(needed) + " at " + pair.configuration->text();
    for (const auto& [code, source, whose] : {std::tuple(pair.raw, pair.raw_source, "the raw kernel "),
                                              std::tuple(pair.templated, pair.template_source, "it ")})
      if (const std::string obstacle = obstacle_in(*code, *source);
          found.obstacle.empty() && !obstacle.empty())
        found.obstacle = whose + obstacle;
  }
  return found;
}

void BarrierRuns::note(const Configuration& configuration, const Workload& workload,
                       const TrialResult& result) {
  if (std::ranges::any_of(workload.buffers, [](const Workload::Buffer& buffer) {
        return buffer.count * static_cast<std::uint64_t>(dtype_size(buffer.dtype)) > MOST_WATCHED;
      }))
    return;
  const std::uint64_t threads = threads_of(configuration.template_launch);
  const std::lock_guard lock(mutex_);
  std::uint64_t& most = threads_[key_of(configuration)];
  most = std::max(most, threads);
  if (threads <= WARP)
    return;
  for (const HostLoop& loop : result.loops)
    loops_[{loop.line, loop.column}] |= loop.went_on;
}

std::string BarrierRuns::gap(const std::vector<const Configuration*>& configurations) const {
  const std::lock_guard lock(mutex_);
  for (const Configuration* configuration : configurations) {
    const auto found = threads_.find(key_of(*configuration));
    if (found == threads_.end() ||
        (found->second <= WARP && threads_of(configuration->template_launch) > WARP))
      return "no run of several warps at " + configuration->text();
  }
  for (const auto& [place, went_on] : loops_)
    if (!went_on)
      return "no run of several warps went three times round the loop in line " + std::to_string(place.first);
  return "";
}

} // namespace lathe::refactor
