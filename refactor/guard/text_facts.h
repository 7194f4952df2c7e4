// What a file's text says to the preprocessor and to one compiler alone, read without either: NVRTC, clang
// and the host executor must read the same program, or what is run is not what is shipped.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace lathe::refactor {

struct TextFacts {
  std::set<std::string> predefined; // names that compilers define: "__CUDACC_RTC__", "__LINE__"
  std::set<std::string> conditions; // names that #if and its like ask for, and that the file does not define
  std::set<std::string> forks;      // whole conditions that ask for what compilers define
  std::set<std::string> pragmas;    // by their first words: "unroll", "nv_diag_suppress", "clang fp"
  std::set<std::string> attributes; // names within __attribute__(()) and [[ ]]
  std::set<std::string> builtins;   // "__builtin_constant_p"
  std::set<std::string> constructions; // "##", "_Pragma", "#line", a spliced name, ...
};
TextFacts text_facts(std::string_view text);

// Sentences on what the template's text has and the raw kernel's does not, where that may mean something else
// to another compiler. `knobs`: macros that the specification defines.
std::set<std::string> foreign_text(const TextFacts& templated, const TextFacts& raw,
                                   const std::set<std::string>& knobs);

} // namespace lathe::refactor
