// The parts of a kernel's text that a header must treat apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct HeaderSource {
  std::vector<std::string> includes; // whole "#include <...>" lines: hoisted out of the namespace
  std::string body;                  // the rest, `#pragma once` left out
  std::vector<std::string> macros;   // names that it defines: saved before and restored after
};

// Splits a self-contained text. Lines inside block comments are left alone.
HeaderSource split_source(std::string_view text);

} // namespace lathe
