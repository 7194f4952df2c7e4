// Inline PTX assembly as C++ statements, for the instructions that make sense on a CPU.
#pragma once

#include "tuner/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace lathe::host {

struct AsmOperand {
  std::string name;       // of "[name]", or empty
  std::string constraint; // "=r", "+f", "l", "n", ...
  std::string expression;
};

// A C++ statement (without the final semicolon) that does what the assembly text does. `outputs` come first
// in the numbering of %0, %1, ... Fails with a sentence that names the instruction that it does not know.
Result<std::string> translate_ptx(std::string_view text, const std::vector<AsmOperand>& outputs,
                                  const std::vector<AsmOperand>& inputs);

} // namespace lathe::host
