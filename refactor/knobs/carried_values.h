// Values that a thread takes along from one round of a loop to the next.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <optional>

namespace lathe::refactor {

struct CarriedValue {
  const clang::VarDecl* variable = nullptr;
  const clang::Stmt* store = nullptr; // to global memory, in the loop, of what it has become
};

// A variable from outside of the loop that a round computes from what the round before left in it, and that
// shows in what a round stores: a running sum that is written, a recurrence. Which elements a thread has is
// then part of the result. A sum that is read behind the loop alone is none, nor is a counter: a number that
// only steps of known size are added to. Of plain variables and assignments; what calls do is not looked at.
std::optional<CarriedValue> carried_into_memory(const KernelView& view, const clang::Stmt* loop);

} // namespace lathe::refactor
