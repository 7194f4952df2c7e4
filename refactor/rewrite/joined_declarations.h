// Variables that are declared first and get a thread's number later. Internal to this folder.
#pragma once

#include "refactor/knobs/kernel_view.h"
#include "refactor/rewrite/rewrite.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Edits that declare a local number where it gets its only value (`int i; ... i = threadIdx.x;` as
// `int i = threadIdx.x;`), in the bodies of the kernel and of what it calls, where that value reads
// threadIdx, blockIdx, blockDim or gridDim: the rules look at what a variable is declared with, and the
// compiler sees the same. Both stand in one block of statements, the variable has a plain type and is not
// named in between, and the function has no labels, cases or jumps to them. The variables' names are appended
// to `joined`.
std::vector<Edit> join_declarations(const KernelView& view, std::vector<std::string>& joined);

} // namespace lathe::refactor
