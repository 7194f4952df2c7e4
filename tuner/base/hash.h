// Content hashes: keys of the cubin cache and the store, and the template hash that a header carries.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

// SHA-1 of `content` as 40 lower-case hexadecimal digits: what `sha1sum`, git and CMake's file(SHA1) can
// check without Lathe. It detects change, not malice.
std::string content_hash(std::string_view content);

} // namespace lathe
