// Closes over what a kernel needs and writes it as one file that NVRTC compiles alone.
#pragma once

#include "refactor/frontend/frontend.h"

namespace lathe::refactor {

struct ExtractedKernel {
  std::string text;                  // self-contained device code, the author's formatting kept
  std::string kernel;                // qualified name inside `text`
  std::vector<std::string> includes; // system headers kept (<cuda_bf16.h>, ...)
  std::vector<std::string>
      stand_ins; // Lathe's own stand-ins that the text relies on: part of the trusted base
};

// `mentioned`: texts (template arguments that a user gives) whose names are to be there too, as the kernel's
// own scope has them.
Result<ExtractedKernel> extract_kernel(ParsedSource& source, const KernelInfo& kernel,
                                       const std::vector<std::string>& mentioned = {});

} // namespace lathe::refactor
