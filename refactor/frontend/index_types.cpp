#include "refactor/frontend/index_types.h"

#include <cctype>
#include <set>
#include <utility>

namespace lathe::refactor {
namespace {

// index and t of index_t, Idx and Type of IdxType; in small letters.
std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto letter = static_cast<unsigned char>(name[i]);
    const bool is_hump =
        i > 0 && std::isupper(letter) && std::islower(static_cast<unsigned char>(name[i - 1]));
    if (name[i] == '_' || is_hump)
      words.insert(std::exchange(word, {}));
    if (name[i] != '_')
      word += static_cast<char>(std::tolower(letter));
  }
  words.insert(word);
  return words;
}

} // namespace

bool is_index_type(const std::string& name, const std::string& default_argument) {
  static const std::set<std::string> integers{
      "int",       "unsigned int", "unsigned",           "long",         "unsigned long",
      "long long", "size_t",       "unsigned long long", "std::size_t",  "int32_t",
      "int64_t",   "uint32_t",     "std::int32_t",       "std::int64_t", "std::uint32_t"};
  if (!default_argument.empty())
    return integers.contains(default_argument);
  const std::set<std::string> words = words_of(name);
  for (const char* word : {"index", "idx", "offset", "ordinal", "vertex", "edge"})
    if (words.contains(word))
      return true;
  return false;
}

} // namespace lathe::refactor
