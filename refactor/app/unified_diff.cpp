#include "refactor/app/unified_diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <vector>

namespace lathe::refactor {
namespace {

constexpr std::size_t CONTEXT = 3;

// With their line ends; the last one may lack its own.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

struct Line {
  char sign; // ' ', '-' or '+'
  std::string_view text;
};

// A shortest edit script, by Myers's greedy algorithm: furthest[k] is how far into `before` a path on the
// diagonal k = (place in before) - (place in after) gets with a given number of changed lines.
std::vector<Line> shortest_script(const std::vector<std::string_view>& before,
                                  const std::vector<std::string_view>& after) {
  using Index = std::ptrdiff_t;
  const auto before_size = static_cast<Index>(before.size()), after_size = static_cast<Index>(after.size());
  const auto at = [](const std::vector<std::string_view>& lines, Index i) {
    return lines[static_cast<std::size_t>(i)];
  };
  std::vector<std::map<Index, Index>> steps;
  std::map<Index, Index> furthest{{1, 0}};
  const auto comes_from_after = [](const std::map<Index, Index>& reached, Index k, Index changes) {
    return k == -changes || (k != changes && reached.at(k - 1) < reached.at(k + 1));
  };
  bool done = false;
  for (Index changes = 0; !done; ++changes) {
    steps.push_back(furthest);
    for (Index k = -changes; k <= changes && !done; k += 2) {
      Index x = comes_from_after(furthest, k, changes) ? furthest[k + 1] : furthest[k - 1] + 1;
      while (x < before_size && x - k < after_size && at(before, x) == at(after, x - k))
        ++x;
      furthest[k] = x;
      done = x >= before_size && x - k >= after_size;
    }
  }
  std::vector<Line> script;
  Index x = before_size, y = after_size;
  for (auto changes = static_cast<Index>(steps.size()) - 1; changes >= 0; --changes) {
    const std::map<Index, Index>& reached = steps[static_cast<std::size_t>(changes)];
    const Index k = x - y;
    const bool added = comes_from_after(reached, k, changes);
    const Index from_x = changes == 0 ? 0 : reached.at(added ? k + 1 : k - 1);
    const Index from_y = changes == 0 ? 0 : from_x - (added ? k + 1 : k - 1);
    while (x > from_x && y > from_y) {
      --x, --y;
      script.push_back({' ', at(before, x)});
    }
    if (changes > 0 && added)
      script.push_back({'+', at(after, --y)});
    else if (changes > 0)
      script.push_back({'-', at(before, --x)});
  }
  std::ranges::reverse(script);
  return script;
}

// "12,7" as a hunk's head has it: where it begins, counted from 1, and how many lines it has.
std::string range(std::size_t first, std::size_t count) {
  const std::size_t begin = count == 0 ? first : first + 1;
  return count == 1 ? fmt::format("{}", begin) : fmt::format("{},{}", begin, count);
}

} // namespace

std::string unified_diff(const std::string& path, const std::string& before, const std::string& after) {
  if (before == after)
    return "";
  const std::vector<std::string_view> old_lines = lines_of(before), new_lines = lines_of(after);
  const std::vector<Line> script = shortest_script(old_lines, new_lines);
  std::string text = fmt::format("--- a/{0}\n+++ b/{0}\n", path);
  std::size_t begin = 0, old_line = 0, new_line = 0;
  while (begin < script.size()) {
    if (script[begin].sign == ' ') { // lines before the first change's context
      std::size_t change = begin;
      while (change < script.size() && script[change].sign == ' ')
        ++change;
      if (change == script.size())
        break;
      const std::size_t skipped = change - begin > CONTEXT ? change - begin - CONTEXT : 0;
      begin += skipped, old_line += skipped, new_line += skipped;
    }
    // Up to where more unchanged lines follow than two contexts have.
    std::size_t end = begin, last_change = begin;
    while (end < script.size() && (script[end].sign != ' ' || end - last_change <= 2 * CONTEXT)) {
      if (script[end].sign != ' ')
        last_change = end;
      ++end;
    }
    end = std::min(script.size(), last_change + 1 + CONTEXT);
    std::size_t old_count = 0, new_count = 0;
    std::string body;
    for (std::size_t i = begin; i < end; ++i) {
      old_count += script[i].sign != '+';
      new_count += script[i].sign != '-';
      body += script[i].sign;
      body += script[i].text;
      if (!script[i].text.ends_with('\n'))
        body += "\n\\ No newline at end of file\n";
    }
    text += fmt::format("@@ -{} +{} @@\n", range(old_line, old_count), range(new_line, new_count)) + body;
    begin = end, old_line += old_count, new_line += new_count;
  }
  return text;
}

} // namespace lathe::refactor
