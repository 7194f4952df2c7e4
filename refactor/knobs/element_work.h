// What a thread does with one element, and whether it could do the same with several neighbours at once.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::refactor {

// Accesses a[i + ...] of one element, all spelled alike, that are made for every element.
struct ElementAccess {
  std::string text; // in terms of the element's number, as it can be written before the work
  std::string name; // of the array or pointer
  const clang::VarDecl* buffer = nullptr; // the parameter, or the array on the chip, that it is of
  bool on_chip = false;
  // Of shared memory alone: its elements are neighbours while the element's number over this stays, as those
  // of p[(i / n) * row + i % n] are, of which this is n. Empty: always.
  std::string run;
  clang::QualType element;
  Polynomial index; // from the buffer's start, with what the view keeps
  bool reads = false, writes = false;
  std::vector<TextRange> places;
};

struct ElementWork {
  const clang::VarDecl* number = nullptr; // of the element; kept as `loop_atom` in the view
  std::vector<const clang::Stmt*> parts;  // of the kernel's own body, done once an element
  const clang::Stmt* statement = nullptr; // where they stand, for messages
  bool in_rounds = false; // of a loop that deals the block's elements out; otherwise one element a thread
  const clang::VarDecl* row = nullptr; // counter of a loop around the work: neighbours have one value of it
};

// The accesses that can be moved several elements at a time, or the reason why none can. The obligations: the
// work depends on its element alone (of one element a thread: not on the thread's or the block's number along
// x otherwise), except for floating-point sums over a loop's rounds; threads do not communicate in it; what
// it writes is not used elsewhere in the kernel. An access that a condition selects, or whose address depends
// on more than the element, stays as it is.
std::variant<std::string, std::vector<ElementAccess>> read_element_work(const KernelView& view,
                                                                        const ElementWork& work);

// The same accesses where the caller has shown that the work of neighbouring elements may be done in any
// order, and holds stores against loads of other buffers himself. A buffer whose accesses in the work cannot
// all be moved while it is written is left out. Shared memory counts as buffers, by the pointers into it.
std::vector<ElementAccess> movable_accesses(const KernelView& view, const ElementWork& work);

} // namespace lathe::refactor
