// Content hashes: keys of the cubin cache and the store, and the template hash that a header carries.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

// 128-bit XXH3 of `content` as 32 lower-case hexadecimal digits. Not cryptographic: it detects change, not malice.
std::string content_hash(std::string_view content);

} // namespace lathe
