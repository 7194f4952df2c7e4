// By which standard of C++ a source is read and its kernel compiled, where nobody says.
#pragma once

#include <string>
#include <string_view>

namespace lathe::refactor {

// The line by which a self-contained text asks for C++20: who compiles it as an older one is told why it
// fails, and everything that reads it here goes by it.
inline constexpr std::string_view CXX20_DEMAND =
    "static_assert(__cplusplus >= 202002L, \"written in C++20: compile with -std=c++20\");\n";

// What an extracted kernel is read and compiled with: "-std=c++20" where its text asks for it, else
// "-std=c++17".
std::string standard_option(const std::string& text);

// Whether Clang's message, or an #error, may come of a source in C++20 that is read as C++17: of keywords,
// of what the standard library has not yet, of what the message itself calls newer.
bool is_of_newer_source(const std::string& message);

} // namespace lathe::refactor
