// Decides whether threads that take elements one by one could take several neighbours at once.
#pragma once

#include "refactor/knobs/element_work.h"
#include "refactor/knobs/strided_loop.h"

namespace lathe::refactor {

struct ElementLoop {
  StridedLoop loop;
  std::vector<ElementAccess> accesses;
};

// The loop with what can be moved several elements at a time, or the reason why nothing can. The obligations:
// the threads of a block, or of all blocks, take the elements 0, 1, ... in turn, each one once; a round's
// work depends on its element alone, except for floating-point sums; what is read and what is written in the
// loop is not written, or used, elsewhere in the kernel, and threads do not communicate in it. An access that
// a condition selects, or whose address depends on more than the element, stays as it is.
std::variant<std::string, ElementLoop> read_element_loop(KernelView& view, const StridedLoop& loop,
                                                         const LaunchFacts& facts);

} // namespace lathe::refactor
