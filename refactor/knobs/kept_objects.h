// Objects that a method fills from memory in one loop, and again in a later one.
#pragma once

#include "refactor/knobs/buffer_accesses.h"
#include "refactor/knobs/strided_loop.h"

namespace lathe::refactor {

struct NotKept {
  std::string reason;
};

// The type of the objects as it is written, or why a later loop cannot take over what the first one filled.
// `accesses`, for each loop: calls `x.load(p)` that read unchanging memory at the same place in all loops.
// Then x is the same after all of them when
//  - x is declared in the loop, without a value, by the same type, and what happens to it before the call is
//    spelled alike and depends on nothing else;
//  - the calls name the same method, take no further argument, and do nothing else: no threads meet in them.
std::variant<NotKept, std::string> kept_object_type(const KernelView& view,
                                                    const std::vector<StridedLoop>& loops,
                                                    const std::vector<std::vector<BufferAccess>>& accesses);

} // namespace lathe::refactor
