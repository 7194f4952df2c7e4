// Work on a text that nobody vouches for, in a process of its own: a compiler that hangs or crashes over it
// costs the text, not the command.
#pragma once

#include "tuner/base/result.h"

#include <functional>
#include <string>

namespace lathe::refactor::llm {

// What `work` returns, made in a forked child. Fails where the child and its own children take longer, need
// more than `memory_limit` bytes of address space beyond this process's (0: no limit), or die. To be called
// while no other thread runs.
Result<std::string> run_apart(const std::function<std::string()>& work, double time_limit_s,
                              std::size_t memory_limit = 0);

} // namespace lathe::refactor::llm
