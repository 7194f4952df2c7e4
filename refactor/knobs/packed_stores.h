// Loops that store one element a round to consecutive places of a buffer.
#pragma once

#include "refactor/knobs/strided_loop.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::refactor {

struct PackedStore {
  StridedLoop loop;
  const clang::ArraySubscriptExpr* place = nullptr; // p[index], of which the rounds store ascending elements
  clang::QualType element;
};

// The proof obligation, for loops `for (j = 0; j < N; ++j)` with N known when the kernel is compiled:
//  - a statement of the body, under no condition, stores to p[j + rest], where `rest` and p stay the same;
//  nothing else
//    in the body stores to global memory, jumps away or orders memory;
//  - the body does not read what it stores: p is __restrict__ and named nowhere else in it, or it names no
//  pointer.
// Then the N elements may all be stored behind the loop, in one go. Otherwise why there is none, in a
// sentence.
std::variant<std::string, std::vector<PackedStore>> find_packed_stores(KernelView& view);

} // namespace lathe::refactor
