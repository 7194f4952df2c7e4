// One launch geometry for several that knobs choose between. Internal to this folder.
#pragma once

#include "refactor/rewrite/rule_support.h"

#include <string>
#include <vector>

namespace lathe::refactor {

struct LaunchCase {
  std::string when; // condition over knobs
  LaunchGeometry launch;
};

// `now`, with every size that differs between the cases as a choice between theirs: the first case's where no
// other one's condition holds.
LaunchGeometry choose_launch(const std::vector<LaunchCase>& cases, const LaunchGeometry& now);

} // namespace lathe::refactor
