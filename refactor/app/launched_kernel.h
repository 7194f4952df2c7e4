// A kernel with the places that launch it.
#pragma once

#include "refactor/app/subject.h"

namespace lathe::refactor {

// The request's kernel; where its own file does not launch it, with the launches of another one, which
// `notes` then says. Fails where there is no such kernel or its body is not whole.
Result<KernelInfo> launched_kernel(const SubjectRequest& request, ParsedSource& source,
                                   std::vector<std::string>& notes);

} // namespace lathe::refactor
