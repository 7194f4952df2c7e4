// Small questions about text that many parts ask.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

// Letters, digits and the underscore: what a name of C++ may go on with.
bool is_word(char letter);

// Without white space at either end.
std::string trimmed(std::string_view text);

} // namespace lathe
