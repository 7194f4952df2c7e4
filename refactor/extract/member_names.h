// Members of structures that were taken apart, by the names of the parameters that they are passed as.
#pragma once

#include "refactor/extract/extract.h"

#include <map>
#include <string>

namespace lathe::refactor {

// flatten_structures() has the structure made again in the kernel's body. Where the body only reads members
// that have a parameter each, these are named instead, so that a size or a buffer is one for whoever reads
// the kernel; a structure that nothing else uses then is not made. `member_paths`: of these parameters, as
// flatten_structures() has them. The body stays as it is where the structure, or a member, may be changed,
// and where a macro or a list of captures names it.
Status name_members(ExtractedKernel& extracted, KernelInfo& kernel, const ParseOptions& options,
                    const std::map<std::string, std::string>& member_paths);

} // namespace lathe::refactor
