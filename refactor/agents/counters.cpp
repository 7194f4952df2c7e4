#include "refactor/agents/counters.h"

#include <array>
#include <utility>

namespace lathe::refactor::agents {
namespace {

// What decides between the directions: which unit is near its peak, whether multiprocessors have blocks and
// warps, and what the warps wait for.
constexpr std::array<std::pair<const char*, const char*>, 7> CHOSEN{
    {{"dram_share", "Dram"},
     {"l2_share", "L2"},
     {"l1_share", "L1"},
     {"issue_share", "Issue"},
     {"active_share", "MultiprocessorsActive"},
     {"occupancy", "Occupancy"},
     {"memory_wait", "Stall.long_scoreboard"}}};

} // namespace

Features counter_features(const std::map<std::string, double>& counters) {
  Features features;
  if (counters.empty())
    return features;
  for (const auto& [name, counter] : CHOSEN) {
    const auto found = counters.find(counter);
    features.emplace_back(name, found == counters.end() ? 0.0 : found->second);
  }
  return features;
}

Features mean_of(const std::vector<Features>& lists) {
  Features mean;
  int count = 0;
  for (const Features& list : lists) {
    if (list.empty())
      continue;
    ++count;
    if (mean.empty())
      mean = list;
    else
      for (std::size_t i = 0; i < mean.size() && i < list.size(); ++i)
        mean[i].second += list[i].second;
  }
  for (auto& [name, value] : mean)
    value /= count;
  return mean;
}

} // namespace lathe::refactor::agents
