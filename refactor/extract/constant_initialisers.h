// Constants of which other constants are computed.
#pragma once

#include "refactor/extract/inclusions.h"

#include <vector>

namespace lathe::refactor {

// `const float EIGHTH = 1.f / 8; const float BOUND = 2 * EIGHTH;` at namespace level: nvcc computes the
// second from the first; for NVRTC, to which both are variables of the device, only what is constexpr is a
// constant that another may be computed from. The word, where it is missing, as text in front of such of
// `units` and of those that they are computed from. Left alone: what comes out of a macro, calls functions,
// or has no value that Clang computes.
std::vector<Replacement> constant_initialisers(ParsedSourceImpl& source,
                                               const std::vector<const clang::Decl*>& units);

} // namespace lathe::refactor
