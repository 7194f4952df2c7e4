#include "refactor/guard/unordered_results.h"

#include "tuner/measure/fill.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace lathe::refactor {
namespace {

// Of each place what the buffers hold there, sorted.
std::vector<std::vector<std::uint64_t>> rows_of(const Workload& workload, const TrialResult& result,
                                                const std::set<std::size_t>& buffers, std::uint64_t count) {
  std::vector<std::vector<std::uint64_t>> rows(count);
  for (const std::size_t i : buffers) {
    const element::DType dtype = *element_type(workload.buffers[i].dtype);
    for (std::uint64_t k = 0; k < count; ++k)
      rows[k].push_back(element::load(dtype, result.contents[i].data(), k));
  }
  std::ranges::sort(rows);
  return rows;
}

} // namespace

bool belong_together(const Workload& workload, const TrialResult& one, const TrialResult& other,
                     const std::vector<bool>& unordered) {
  std::map<std::uint64_t, std::set<std::size_t>> by_length;
  for (std::size_t i = 0; i < unordered.size(); ++i)
    if (unordered[i] && element_type(workload.buffers[i].dtype))
      by_length[workload.buffers[i].count].insert(i);
  for (const auto& [count, buffers] : by_length) {
    const auto is_same_set = [&](std::size_t i) {
      return rows_of(workload, one, {i}, count) == rows_of(workload, other, {i}, count);
    };
    if (buffers.size() > 1 && std::ranges::all_of(buffers, is_same_set) &&
        rows_of(workload, one, buffers, count) != rows_of(workload, other, buffers, count))
      return false;
  }
  return true;
}

} // namespace lathe::refactor
