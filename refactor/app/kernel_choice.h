// Two kernels of one operator, between which a launcher chooses by the problem's size.
#pragma once

#include "refactor/frontend/frontend.h"

#include <array>
#include <string>

namespace lathe::refactor {

struct KernelChoice {
  std::array<int, 2> sites{}; // of the two kernels' launches, counted from 1 as templatize --list does
  std::string condition;      // the launcher's, under which the first is taken; in its own names
  std::string location;       // "file:line" of the first kernel's launch
};

// The condition of a launcher that holds where it takes the first kernel and does not where it takes the
// second, with nothing else that decides between them. Fails, saying what stands in the way, where the
// parameter lists or what is passed differ, where no condition that can be read decides, and where more than
// one does (a third kernel, a loop around one of the launches).
Result<KernelChoice> find_choice(const KernelInfo& first, const KernelInfo& second);

} // namespace lathe::refactor
