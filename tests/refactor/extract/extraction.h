// Extracting in tests: of a source in a string, with failures of the test for errors.
#pragma once

#include "refactor/extract/extract.h"

#include <string>

namespace lathe::refactor {

// The text of the kernel; empty, and a failure, where it cannot be extracted. An absent source gives nothing.
std::string extract(ParsedSource* source, const std::string& name);

// The text compiles alone, and is a source without errors.
void expect_compiles(const std::string& text, const std::string& instance);

} // namespace lathe::refactor
