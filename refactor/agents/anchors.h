// Grounded instructions (STARK): a planner marks the spans that may change, a coder fills them in, and every
// byte outside them is checked.
//
// A marker stands alone on its line, behind a `//` where it likes:
//   // <<<IMPROVE BEGINS name>>>
//   // <<<IMPROVE ENDS name>>>
// `name` is a word; it may be left out where there is one span only.
#pragma once

#include "tuner/base/result.h"

#include <string>
#include <vector>

namespace lathe::refactor::agents {

inline constexpr std::size_t most_anchors = 3;

struct Anchor {
  std::string name;
  std::size_t begin = 0, end = 0; // bytes of the text without markers, whole lines
  int first_line = 0, last_line = 0;
};

// The anchors of a planner's text. Fails unless the text without its marker lines is `base` byte for byte,
// and unless there are one to three spans, balanced, of different names, one after another.
Result<std::vector<Anchor>> read_anchors(const std::string& base, const std::string& marked);

// `base` with markers around the anchors: what a coder is shown.
std::string mark(const std::string& base, const std::vector<Anchor>& anchors);
// One anchor around lines [first, last] of `base`. Fails where there are no such lines.
Result<std::vector<Anchor>> anchor_lines(const std::string& base, int first, int last);

// Succeeds where `changed` is `base` with nothing but the anchored spans replaced. Fails, naming the line, on
// any byte changed outside them, and on a marker that is left.
Status check_grounded(const std::string& base, const std::vector<Anchor>& anchors,
                      const std::string& changed);

} // namespace lathe::refactor::agents
