// Elements of shared memory that lie one behind the other for a while.
#pragma once

#include "refactor/knobs/element_work.h"

namespace lathe::refactor {

// What the work reads as `p[(i / n) * row + i % n]` of shared memory, for the element's number i and every
// element, where it stores nothing there: neighbours while i / n stays. Their `run` is n.
std::vector<ElementAccess> runs_on_chip(const KernelView& view, const ElementWork& work);

} // namespace lathe::refactor
