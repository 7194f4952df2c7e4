// Tiles: constants by which blocks or loops cover the work in equal pieces. Internal to this folder.
#pragma once

#include "refactor/rewrite/constant_knob.h"

namespace lathe::refactor {

// What a constant's becoming a knob takes when it is a tile, or the reason why it is none. The obligation:
//  - every index that multiplies it by a block's number is followed by that axis of the grid, which divides
//  by it;
//    without such an index, a loop over a size of the problem or over another tile steps by it;
//  - the block's sizes that equal it follow it; no bare number and no other named constant of the kernel has
//  its
//    value, so that nothing that means the same is left behind;
//  - no warp-level primitive, whose lanes would be others.
// Conditions keep pieces equal: loops that step by it end at a multiple, divisions by it leave no rest,
// halving reductions see powers of two, shared arrays fit. They may mention other constants of the kernel by
// name. The analysis is of the text; the guard's runs at other values stand behind it.
std::variant<std::string, Proposal> study_tile(ParsedSource& source, const KernelInfo& kernel,
                                               const Candidate& candidate,
                                               const ConstantUnderStudy& constant);

// What the named constants are that the kernel declares or reads, by name.
std::map<std::string, std::string> values_of_constants(const KernelView& view);

// Names in conditions and in the launch that did not become knobs are replaced by their values.
void settle_names(const Candidate& candidate, const std::map<std::string, std::string>& values,
                  Proposal& proposal);

} // namespace lathe::refactor
