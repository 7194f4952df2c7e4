// Rows of dynamic shared memory that the text makes longer than what is in them.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::refactor {

struct PaddedRows {
  const clang::ParmVarDecl* length = nullptr; // what a row holds: a parameter of the kernel
  std::int64_t padding = 0;                   // elements behind it
  std::vector<const clang::VarDecl*> arrays;
  std::vector<TextRange> places; // of the padding's number in the text
};

// The proof obligation, for `length + padding` in the kernel's text:
//  - it stands wherever rows of `arrays` are counted, and nowhere else: in `p[row * (length + padding) +
//  column]`, in `p + rows * (length + padding)` where another array begins, or in a variable of which the
//  same is true;
//  - every access of these arrays is of that form, with a column that is less than `length`: a loop's counter
//  that ends there, or a remainder by it;
//  - an array of the same dynamic shared memory that begins in no such way lies in front of them.
// Then rows may have any padding, where the launch has room for it. Otherwise why there are no such rows.
std::variant<std::string, PaddedRows> find_padded_rows(const KernelView& view);

} // namespace lathe::refactor
