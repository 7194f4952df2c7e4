// Names in a text that is searched before anything parses it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lathe::refactor {

// Where `word` begins, as a word of its own.
std::vector<std::size_t> uses_of_word(const std::string& text, const std::string& word);

// The name in front of the parameter or argument list that closes at `end`: "f" of "f(a, g(b))"; empty where
// there is none.
std::string called_before(const std::string& text, std::size_t end);

} // namespace lathe::refactor
