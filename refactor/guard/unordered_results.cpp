#include "refactor/guard/unordered_results.h"

#include "tuner/measure/fill.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

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

bool is_integer(const std::string& dtype) {
  const auto type = element_type(dtype);
  return type && !element::is_real(*type);
}

// Elements with the places that they lie at, sorted.
using Placed = std::vector<std::pair<std::uint64_t, std::size_t>>;

Placed placed_elements(const Workload::Buffer& description, const TrialResult& result, std::size_t buffer) {
  const element::DType dtype = *element_type(description.dtype);
  Placed placed;
  for (std::uint64_t k = 0; k < description.count; ++k)
    placed.emplace_back(element::load(dtype, result.contents[buffer].data(), k), k);
  std::ranges::sort(placed);
  return placed;
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

bool point_to_the_same(const Workload& workload, const TrialResult& one, const TrialResult& other,
                       const PlacesIn& places) {
  const Workload::Buffer &from = workload.buffers[places.from], &to = workload.buffers[places.to];
  const element::DType integer = *element_type(from.dtype), dtype = *element_type(to.dtype);
  // Of a number that is no place the number itself.
  const auto pointed = [&](const TrialResult& result, std::uint64_t k) {
    std::uint64_t bits = element::load(integer, result.contents[places.from].data(), k);
    const bool is_place = bits < to.count;
    if (is_place)
      bits = element::load(dtype, result.contents[places.to].data(), bits);
    return std::pair(is_place, bits);
  };
  for (std::uint64_t k = 0; k < from.count; ++k)
    if (pointed(one, k) != pointed(other, k))
      return false;
  return true;
}

std::vector<PlacesIn> places_in_each_other(const Workload& workload, const TrialResult& one,
                                           const TrialResult& other, const std::vector<bool>& unordered) {
  std::vector<PlacesIn> found;
  for (std::size_t from = 0; from < unordered.size(); ++from)
    for (std::size_t to = 0; to < unordered.size(); ++to)
      if (from != to && unordered[from] && unordered[to] && is_integer(workload.buffers[from].dtype) &&
          element_type(workload.buffers[to].dtype) &&
          point_to_the_same(workload, one, other, PlacesIn{from, to}))
        found.push_back({from, to});
  return found;
}

ExchangedPlaces::ExchangedPlaces(const Workload& workload, const TrialResult& usual,
                                 const std::vector<bool>& unordered)
    : parents_(unordered.size()) {
  for (std::size_t i = 0; i < unordered.size(); ++i)
    if (unordered[i] && element_type(workload.buffers[i].dtype)) {
      parents_[i].resize(workload.buffers[i].count);
      std::iota(parents_[i].begin(), parents_[i].end(), std::size_t{0});
      // Of equal elements nobody sees which is which.
      const Placed placed = placed_elements(workload.buffers[i], usual, i);
      for (std::size_t k = 1; k < placed.size(); ++k)
        if (placed[k].first == placed[k - 1].first)
          parents_[i][placed[k].second] = root_of(i, placed[k - 1].second);
    }
}

std::size_t ExchangedPlaces::root_of(std::size_t buffer, std::size_t place) const {
  while (parents_[buffer][place] != place)
    place = parents_[buffer][place];
  return place;
}

void ExchangedPlaces::learn(const Workload& workload, const TrialResult& usual, const TrialResult& other) {
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    if (parents_[i].empty())
      continue;
    const Placed before = placed_elements(workload.buffers[i], usual, i),
                 after = placed_elements(workload.buffers[i], other, i);
    for (std::size_t k = 0; k < before.size(); ++k)
      if (before[k].first == after[k].first) {
        const std::size_t one = root_of(i, before[k].second), two = root_of(i, after[k].second);
        parents_[i][std::max(one, two)] = std::min(one, two);
      }
    for (std::size_t place = 0; place < parents_[i].size(); ++place) // short ways to the roots
      parents_[i][place] = root_of(i, place);
  }
}

std::string ExchangedPlaces::problem_of(const Workload& workload, const TrialResult& usual,
                                        const TrialResult& other) const {
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    if (parents_[i].empty())
      continue;
    const auto by_root = [&](const TrialResult& result) {
      Placed elements = placed_elements(workload.buffers[i], result, i);
      for (auto& [element, place] : elements)
        place = root_of(i, place);
      std::ranges::sort(elements);
      return elements;
    };
    const Placed expected = by_root(usual), found = by_root(other);
    const auto [wanted, is] = std::ranges::mismatch(expected, found);
    if (wanted != expected.end())
      return "puts elements of '" + workload.buffers[i].name +
             "' where the raw kernel puts others in every order of its threads, such as at element " +
             std::to_string(std::min(wanted->second, is->second));
  }
  return {};
}

} // namespace lathe::refactor
