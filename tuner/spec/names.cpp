#include "tuner/spec/names.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace lathe::spec {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Levenshtein's distance with exchanged neighbours as one step, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string enumerate(const std::vector<std::string>& names, std::string_view conjunction) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      text += i + 1 == names.size() ? conjunction : std::string_view(", ");
    text += names[i];
  }
  return text;
}

} // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > 200 || (text[0] >= '0' && text[0] <= '9'))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 200, most = 3;
  if (name.size() > longest)
    return {};
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest)
      continue;
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t length = std::max(name.size(), candidate.size());
    const bool part = (name.size() >= 3 && candidate.find(name) != std::string::npos) ||
                      (candidate.size() >= 3 && name.find(candidate) != std::string_view::npos);
    if (distance <= std::max<std::size_t>(1, length / 3) || part)
      ranked.emplace_back(distance, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (auto& entry : ranked)
    if (nearest.size() < most && std::find(nearest.begin(), nearest.end(), entry.second) == nearest.end())
      nearest.push_back(std::move(entry.second));
  return nearest;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  if (const auto nearest = nearest_names(name, candidates); !nearest.empty())
    return "did you mean " + enumerate(nearest, " or ") + "?";
  if (candidates.empty())
    return "no name is known there, define it first";
  constexpr std::size_t shown = 12;
  std::vector<std::string> first(candidates.begin(),
                                 candidates.begin() +
                                     static_cast<std::ptrdiff_t>(std::min(shown, candidates.size())));
  return "the known names are " + enumerate(first, " and ") + (candidates.size() > shown ? ", ..." : "");
}

} // namespace lathe::spec
