// What compute-sanitizer wrote: https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor {

// One record of a log.
struct SanitizerFinding {
  // What is wrong, without places and addresses: "Invalid __shared__ write of size 4 bytes", "Race reported
  // between Write access and Read access". Equal for the same mistake of another kernel.
  std::string kind;
  std::string kernel; // demangled; empty where the record names none
  std::string detail; // "by thread (28,0,0) in block (0,0,0), Access to 0x480 is out of bounds"

  std::string text() const; // all of it, one clause
};

// The records of a log that was written with --demangle no, or of a part of one that ends with a whole
// record. Messages about the program's own calls and the summary are left out, and so is what is said of
// kernels that check results (their names begin with "lathe_"), since it is neither side's.
std::vector<SanitizerFinding> parse_sanitizer_log(std::string_view log);

} // namespace lathe::refactor
