// Which lanes a warp primitive is for.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace llvm {
class CallBase;
}

namespace lathe::refactor {

// Of a warp primitive in blocks of `block` threads, how many lanes its mask names: 32 where it names all, 16
// to 1 where each lane names those of its own tile (0xff << (lane & 24)), 0 of every other mask.
unsigned lanes_of_mask(const llvm::CallBase& call, const std::array<std::uint32_t, 3>& block);

// "mask=0xff" where it is a constant; "tiles of 8" of an exchange that reaches no lane outside a tile, where
// each lane names its own (cooperative groups do); "computed mask".
std::string warp_mask(const llvm::CallBase& call, const std::array<std::uint32_t, 3>& block);

} // namespace lathe::refactor
