// `(1 << n) - 1`, the lanes below the n-th: for n = 31 the int overflows, and gives the 31 lanes on every
// device.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace lathe::host {

// Where its parts lie in a text: "(1" and "- 1".
struct LaneMask {
  std::size_t begin = 0, shift = 0; // [begin, shift): "(1", without the blanks behind it
  std::size_t minus = 0, end = 0;   // [minus, end): "- 1"
};

// Where one begins at `begin`, as an operand of its own: neither what is before it (`previous`, a token) nor
// what is behind it binds as closely as its minus does.
std::optional<LaneMask> lane_mask_at(std::string_view text, std::size_t begin, std::string_view previous);

} // namespace lathe::host
