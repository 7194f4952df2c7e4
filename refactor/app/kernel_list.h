// `lathe templatize FILE --list`: the kernels of a file.
#pragma once

#include "refactor/frontend/frontend.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Each of the kernels with its template parameters, its launches (template arguments, geometry, conditions,
// instances in use, what is unreadable and which flag supplies it) and the knobs that the rules would expose;
// then the headers that are missing and Lathe's stand-ins for them. Several lines, one kernel a paragraph.
std::string describe_kernels(ParsedSource& source, const std::vector<KernelInfo>& kernels,
                             const std::string& architecture);
// The same as JSON; its version is in "Schema".
std::string kernels_json(ParsedSource& source, const std::vector<KernelInfo>& kernels,
                         const std::string& architecture);

} // namespace lathe::refactor
