// Small questions about text that many parts ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// Letters, digits and the underscore: what a name of C++ may go on with.
bool is_word(char letter);

// Without white space at either end.
std::string trimmed(std::string_view text);

// The names in a text of C++, in order, as often as they are there: runs of word letters that no digit
// begins.
std::vector<std::string> identifiers(std::string_view text);

} // namespace lathe
