// Host code that spreads over several files: a launcher that asks a function of another file for its grid, or
// that a function of another file hands its grid to.
#pragma once

#include "refactor/frontend/frontend.h"

namespace lathe::refactor {

// Where functions are looked for that host code calls and its own file only declares.
class OtherDefinitions {
public:
  virtual ~OtherDefinitions() = default;
  // Files that may define a function of that name, the likeliest first; they live as long as this object.
  virtual std::vector<ParsedSource*> defining(const std::string& function) = 0;
};

// The launches of a kernel that host code of `caller` gets to, through functions that `others` finds where
// `caller` only declares them. The kernel is of one of these files, or of `caller` itself. Only functions
// whose text has one of the `names` are read, the kernel's or those of functions that launch it.
std::vector<LaunchSite> launches_through(ParsedSource& caller, const KernelInfo& kernel,
                                         OtherDefinitions& others, const std::vector<std::string>& names);

// Whether a size of a launch's grid or block is what a function says that the file only declares.
bool asks_elsewhere(ParsedSource& source, const KernelInfo& kernel, const LaunchSite& launch);

} // namespace lathe::refactor
