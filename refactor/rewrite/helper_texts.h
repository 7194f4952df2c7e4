// Code that rules add to templates as it stands here, and that is tested by itself.
#pragma once

#include <string_view>
#include <vector>

namespace lathe::refactor {

// lathe_packed and lathe_store_packed, of pack-stores: elements to consecutive places, in wide stores where
// the address allows it and one by one elsewhere. A kernel whose addresses are always aligned never takes
// the second way.
extern const char* const PACKED_STORE_HELPERS;

// Those whose every branch does what it says whatever the kernel around them is.
std::vector<std::string_view> helper_texts();

} // namespace lathe::refactor
