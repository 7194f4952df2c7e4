#include "refactor/agents/anchors.h"

#include <algorithm>
#include <optional>
#include <regex>

namespace lathe::refactor::agents {
namespace {

struct Marker {
  bool begins = false;
  std::string name;
};

std::optional<Marker> marker_of(const std::string& line) {
  static const std::regex pattern(R"(^\s*(//)?\s*<<<IMPROVE (BEGINS|ENDS)( ([A-Za-z0-9_-]+))?>>>\s*$)");
  std::smatch parts;
  if (!std::regex_match(line, parts, pattern))
    return std::nullopt;
  return Marker{parts[2] == "BEGINS", parts[4]};
}

// Lines with their line ends.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::size_t next = end == std::string::npos ? text.size() : end + 1;
    lines.push_back(text.substr(begin, next - begin));
    begin = next;
  }
  return lines;
}

Error malformed(const std::string& why) {
  return {"anchors", why, "mark one to three spans, each between BEGINS and ENDS of its own name"};
}

int line_at(const std::string& text, std::size_t offset) {
  return 1 +
         static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

} // namespace

Result<std::vector<Anchor>> read_anchors(const std::string& base, const std::string& marked) {
  std::vector<Anchor> anchors;
  std::string plain;
  std::optional<Anchor> open;
  for (const std::string& line : lines_of(marked)) {
    const auto marker = marker_of(line);
    if (!marker) {
      if (line.find("<<<IMPROVE") != std::string::npos)
        return malformed("a marker does not stand alone on its line");
      plain += line;
      continue;
    }
    if (marker->begins) {
      if (open)
        return malformed("span '" + marker->name + "' begins inside another");
      if (std::any_of(anchors.begin(), anchors.end(),
                      [&](const Anchor& anchor) { return anchor.name == marker->name; }))
        return malformed("two spans are named '" + marker->name + "'");
      open = Anchor{marker->name, plain.size(), 0, line_at(plain, plain.size()), 0};
    } else {
      if (!open || open->name != marker->name)
        return malformed("span '" + marker->name + "' ends without having begun");
      open->end = plain.size();
      open->last_line = line_at(plain, plain.size()) - 1;
      if (open->end == open->begin)
        return malformed("span '" + marker->name + "' holds no line");
      anchors.push_back(*open);
      open.reset();
    }
  }
  if (open)
    return malformed("span '" + open->name + "' does not end");
  if (anchors.empty() || anchors.size() > most_anchors)
    return malformed(anchors.empty() ? "there is none" : "there are more than three");
  if (plain != base) {
    const auto differs = std::mismatch(plain.begin(), plain.end(), base.begin(), base.end()).second;
    return Error{"anchors",
                 "the text without its markers is not the kernel's: it differs at line " +
                     std::to_string(line_at(base, static_cast<std::size_t>(differs - base.begin()))),
                 "repeat the kernel byte for byte and add marker lines only"};
  }
  return anchors;
}

std::string mark(const std::string& base, const std::vector<Anchor>& anchors) {
  std::string text;
  std::size_t at = 0;
  for (const Anchor& anchor : anchors) {
    const std::string name = anchor.name.empty() ? "" : " " + anchor.name;
    text.append(base, at, anchor.begin - at);
    text += "// <<<IMPROVE BEGINS" + name + ">>>\n";
    text.append(base, anchor.begin, anchor.end - anchor.begin);
    text += "// <<<IMPROVE ENDS" + name + ">>>\n";
    at = anchor.end;
  }
  return text + base.substr(at);
}

Result<std::vector<Anchor>> anchor_lines(const std::string& base, int first, int last) {
  const std::vector<std::string> lines = lines_of(base);
  if (first < 1 || last < first || static_cast<std::size_t>(last) > lines.size())
    return malformed("the kernel has no lines " + std::to_string(first) + " to " + std::to_string(last));
  Anchor anchor{"", 0, 0, first, last};
  for (int i = 0; i < last; ++i) {
    if (i < first - 1)
      anchor.begin += lines[static_cast<std::size_t>(i)].size();
    anchor.end += lines[static_cast<std::size_t>(i)].size();
  }
  return std::vector<Anchor>{anchor};
}

Status check_grounded(const std::string& base, const std::vector<Anchor>& anchors,
                      const std::string& changed) {
  if (changed.find("<<<IMPROVE") != std::string::npos)
    return Error{"grounded edit", "a marker is left in the text", "answer without the marker lines"};
  const auto refuse = [&](std::size_t offset) {
    return Error{"grounded edit",
                 "the text differs outside the marked spans, from line " +
                     std::to_string(line_at(base, offset)) + " of the kernel on",
                 "change nothing but what stands between the markers"};
  };
  // What must stay, in order: before the first span, between the spans, behind the last.
  std::vector<std::pair<std::size_t, std::size_t>> fixed;
  std::size_t at = 0;
  for (const Anchor& anchor : anchors) {
    fixed.emplace_back(at, anchor.begin - at);
    at = anchor.end;
  }
  fixed.emplace_back(at, base.size() - at);
  const auto [head_at, head] = fixed.front();
  const auto [tail_at, tail] = fixed.back();
  if (changed.compare(0, head, base, head_at, head) != 0)
    return refuse(
        static_cast<std::size_t>(std::mismatch(base.begin(), base.begin() + static_cast<std::ptrdiff_t>(head),
                                               changed.begin(), changed.end())
                                     .first -
                                 base.begin()));
  if (changed.size() < head + tail || changed.compare(changed.size() - tail, tail, base, tail_at, tail) != 0)
    return refuse(tail_at);
  // The pieces between spans, leftmost first: where any placement exists, this one does.
  std::size_t from = head;
  const std::size_t until = changed.size() - tail;
  for (std::size_t i = 1; i + 1 < fixed.size(); ++i) {
    const std::string piece = base.substr(fixed[i].first, fixed[i].second);
    const std::size_t found = changed.find(piece, from);
    if (found == std::string::npos || found + piece.size() > until)
      return refuse(fixed[i].first);
    from = found + piece.size();
  }
  return Done{};
}

} // namespace lathe::refactor::agents
