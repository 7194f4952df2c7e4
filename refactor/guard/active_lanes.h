// Templates that ask which lanes of a warp are there together (`__activemask()`, coalesced groups), where the
// raw kernel does not. A device may name any of the lanes that are: what is right for each such answer is
// right, which runs ask that are given parts of them.
#pragma once

#include "refactor/guard/subject.h"

namespace lathe::refactor {

// Among CodeFacts::calls.
inline constexpr const char* ACTIVE_MASK = "llvm.nvvm.activemask";

// Whether it does so in some instance that is compared.
bool asks_for_active_lanes(const JudgedPair& subject);

} // namespace lathe::refactor
