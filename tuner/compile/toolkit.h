// The toolkit as the compiler needs it, and the options given to it.
#pragma once

#include "tuner/compile/compile.h"

namespace lathe {

// What NVRTC is given for a request: translated options, include folders, the fixed set.
struct ProgramOptions {
  std::vector<std::string> options;
  std::vector<std::filesystem::path>
      search; // folders outside the toolkit whose headers belong to the cache key
};
Result<ProgramOptions> program_options(const CompileRequest& request, const CudaToolkit& toolkit);

// The text of every header outside the toolkit that the source reaches by a literal #include, in order of
// discovery. Nothing when an #include's name comes from a macro: then it cannot be known without compiling.
std::optional<std::string> included_text(const std::string& source,
                                         const std::vector<std::filesystem::path>& search);

// The executable `name` beside the running one.
Result<std::filesystem::path> sibling_executable(const std::string& name);

} // namespace lathe
