// A kernel with the places that launch it.
#pragma once

#include "refactor/app/subject.h"

namespace lathe::refactor {

// The request's kernel; where its own file does not launch it, with the launches of another one, which
// `notes` then says. Fails where there is no such kernel or its body is not whole.
Result<KernelInfo> launched_kernel(const SubjectRequest& request, ParsedSource& source,
                                   std::vector<std::string>& notes);

// Fails, with the error, where nothing launches the kernel and the request says nothing of it, but a part of
// the source that has an error may.
Status expect_launch(const SubjectRequest& request, const ParsedSource& source, const KernelInfo& kernel);

} // namespace lathe::refactor
