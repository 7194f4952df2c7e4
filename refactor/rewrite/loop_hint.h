// The unroll pragma of a loop, as text. Internal to this folder.
#pragma once

#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

struct LoopHint {
  bool present = false, unreadable = false;
  std::string owner;                  // the knobs that it names
  std::optional<std::int64_t> factor; // nothing: "unroll fully"
  TextRange line;                     // the pragma without its indentation
};
LoopHint loop_hint_of(const KernelView& view, const clang::Stmt* loop);

// The edit that gives the loop the pragma, in place of its own where it has one.
Edit set_loop_hint(const KernelView& view, const clang::Stmt* loop, const LoopHint& hint,
                   const std::string& pragma);

} // namespace lathe::refactor
