// Every access of one shared array or of one buffer: which elements, as what, and under which conditions.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <variant>

namespace lathe::refactor {

struct BufferAccess {
  const clang::Expr* expression = nullptr; // the element, or the address that goes to a helper
  bool is_address = false;
  bool writes = false, reads = false;
  // A load by __ldg, of which `expression` is the call.
  bool by_call = false;
  // The method that takes the address reads behind it, how far and what it makes of that is not known.
  bool is_opaque = false;
  Polynomial index;                        // from where it was cast, or the start, in elements of `carrier`
  Polynomial before_cast;                  // in the array's own elements
  std::vector<const clang::Expr*> indices; // its summands as written
  clang::QualType carrier;                 // what the pointer was cast to; null: the array's own elements
  const clang::Expr* object = nullptr;     // whose method takes the address: it moves the object itself
  const clang::CallExpr* call = nullptr;   // of that method
  const clang::Stmt* statement = nullptr;  // the call as a statement of a block
};

// The accesses of `array` (an array, or a pointer parameter of the kernel) in the kernel's functions, through
// pointers derived from it too, or the reason why they are not all known. `known_only`: those that are known,
// without asking for the others. `loads_by_call`: loads by __ldg are accesses; they are not known otherwise.
// Evaluated with what `view` keeps.
std::variant<std::string, std::vector<BufferAccess>> accesses_of(const KernelView& view,
                                                                 const clang::VarDecl* array,
                                                                 bool known_only = false,
                                                                 bool loads_by_call = false);

// The conditions that select an access between it and `around`, as canonical text, jumps out of the way
// included. Nothing when an inner loop or a jump of another form stands in between.
std::optional<std::set<std::string>> conditions_of(const KernelView& view, const clang::Stmt* access,
                                                   const clang::Stmt* around);

// True when the index is less than `limit` wherever the access is reached.
bool stays_below(const KernelView& view, const BufferAccess& access, const Polynomial& limit);

} // namespace lathe::refactor
