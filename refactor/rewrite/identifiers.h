// The identifiers of a piece of C++ text, without comments, strings and what stands behind a dot.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

struct Identifier {
  std::size_t offset = 0;
  std::string name;
};

// Members (`a.x`, `p->x`, `A::x`) are left out: which name they are is not the scope's to say.
std::vector<Identifier> identifiers(const std::string& text);
std::set<std::string> identifier_names(const std::string& text);
// The text with identifiers called otherwise, by name.
std::string rename_identifiers(const std::string& text, const std::map<std::string, std::string>& names);

} // namespace lathe::refactor
