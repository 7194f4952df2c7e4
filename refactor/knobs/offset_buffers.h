// Which integers that a kernel reads say where ranges begin and end: row pointers, cumulative lengths, starts
// of segments.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// What the elements of a range are read from or written to.
struct RangedBuffer {
  std::string name; // a pointer parameter of the kernel
  // Elements for each step of an offset, an expression over the kernel's parameters: "1" for values[j], "d"
  // for x[j * d + c]. Empty where it cannot be read.
  std::string step;
};

struct OffsetBuffer {
  std::string name; // a pointer parameter of the kernel
  std::vector<RangedBuffer> ranged;
};

// A parameter counts whose elements i and i + 1 are both read, and either compared with one another (a loop
// that runs from the one to the other, a length that something is compared with), or both with the same
// number (which range holds it); nothing writes it. In helpers that are handed it, too, and where two
// threads of a warp load the elements into an array for the others. Types are not looked at.
std::vector<OffsetBuffer> offset_buffers(const KernelView& view);

} // namespace lathe::refactor
