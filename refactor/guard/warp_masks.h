// Which lanes a warp primitive is for.
#pragma once

#include <string>

namespace llvm {
class CallBase;
}

namespace lathe::refactor {

// "mask=0xff" where it is a constant; "tiles of 8" of an exchange that reaches no lane outside a tile, where
// each lane names its own (cooperative groups do); "computed mask".
std::string warp_mask(const llvm::CallBase& call);

} // namespace lathe::refactor
