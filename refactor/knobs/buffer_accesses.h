// Every access of one shared array: which elements, as what, and under which conditions.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <variant>

namespace lathe::refactor {

struct BufferAccess {
  const clang::Expr* expression = nullptr; // the element, or the address that goes to a helper
  bool is_address = false;
  bool writes = false, reads = false;
  Polynomial index;                        // from the start of the array, in elements of `carrier`
  std::vector<const clang::Expr*> indices; // its summands as written
  clang::QualType carrier;                 // what the pointer was cast to; null: the array's own elements
  const clang::Expr* object = nullptr;     // whose method takes the address: it moves the object itself
  const clang::Stmt* statement = nullptr;  // the call as a statement of a block
};

// The accesses of `array` in the kernel's functions, through pointers derived from it too, or the reason why
// they are not all known. Evaluated with what `view` keeps.
std::variant<std::string, std::vector<BufferAccess>> accesses_of(const KernelView& view,
                                                                 const clang::VarDecl* array);

// The conditions that select an access between it and `around`, as canonical text, jumps out of the way
// included. Nothing when an inner loop or a jump of another form stands in between.
std::optional<std::set<std::string>> conditions_of(const KernelView& view, const clang::Stmt* access,
                                                   const clang::Stmt* around);

// True when the index is less than `limit` wherever the access is reached.
bool stays_below(const KernelView& view, const BufferAccess& access, const Polynomial& limit);

} // namespace lathe::refactor
