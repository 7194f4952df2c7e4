// Elements that a thread has had in its hands and that only it can have changed when it reads them again:
// they can stay in registers.
#pragma once

#include "refactor/knobs/buffer_accesses.h"
#include "refactor/knobs/strided_loop.h"

namespace lathe::refactor {

struct KeptElements {
  const clang::VarDecl* array = nullptr; // shared, or a pointer parameter
  // Of a parameter: the first loop loads or stores them as before and keeps a copy, later loops read the
  // copy.
  bool in_global_memory = false;
  // Of a parameter: methods fill objects of this type from it, as written; the objects are kept whole.
  std::string object_type;
  clang::QualType element;                         // of the array, or what its address is cast to
  std::string each;                                // elements of a thread in a round, as C++: "VEC_SIZE"
  std::string each_at_launch;                      // the same as a Lathe expression; "" where it is not known
  std::vector<StridedLoop> loops;                  // with the same header, in one block
  std::vector<std::vector<BufferAccess>> accesses; // of each loop
  bool guarded = false;  // the accesses' own conditions keep rounds out that the loop does not have
  std::string per_round; // what a round adds to the counter, as a Lathe expression
  std::string bound;     // of the counter
  // Elements of a dynamic array that stand before the kept ones; all other accesses stay within. Nothing for
  // other arrays, and where the number is not known at the launch.
  std::optional<std::string> before;
};

// The proof obligation, for loops that follow each other in one block of the kernel and have the same header:
//  - each access is of the element each * (thread + threads * round) + rest, the same in all of them;
//  - what is read was written in an earlier loop, or earlier in the same one, under no further condition;
//  - every other access of the array is of an element before `rest`, and every access is known.
// Then a thread reads back exactly its own values, and nobody else sees them.
// For a buffer, which others may see: the pointer is __restrict__; either nothing is stored through it and
// the index is the same in all loops, or all stores are known and of the element that the thread has to
// itself. For objects that methods fill from a buffer, see kept_objects.h. Otherwise the reason.
std::variant<std::string, KeptElements> find_kept_elements(KernelView& view, const LaunchFacts& facts);

} // namespace lathe::refactor
