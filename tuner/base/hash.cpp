#include "tuner/base/hash.h"

#include <boost/uuid/detail/sha1.hpp>

namespace lathe {

std::string content_hash(std::string_view content) {
  boost::uuids::detail::sha1 hasher;
  hasher.process_bytes(content.data(), content.size());
  boost::uuids::detail::sha1::digest_type digest; // five 32-bit words, most significant digit first
  hasher.get_digest(digest);
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(40);
  for (const unsigned int word : digest)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += digits[(word >> shift) & 15];
  return text;
}

} // namespace lathe
