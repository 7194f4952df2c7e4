// Index arithmetic that wraps around at sizes which nobody runs on a machine without a GPU.
#pragma once

#include <compare>
#include <set>
#include <string>

namespace lathe::refactor {

// A value of fewer than 64 bits on the way to an address.
struct NarrowIndex {
  std::set<std::string>
      factors; // the sizes and block indices that it is made of: "parameter 3", "blockIdx.x"
  unsigned bits = 0;
  bool is_cut = false; // from more bits, not computed in so few
  auto operator<=>(const NarrowIndex&) const = default;
};

} // namespace lathe::refactor
