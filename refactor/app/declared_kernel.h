// Kernels that a source only declares: another file near it defines them.
#pragma once

#include "refactor/app/subject.h"

#include <optional>

namespace lathe::refactor {

// The request with the file near its source whose text defines the request's kernel as its source, and as its
// workload the one beside the source that was given, if any. Nothing where `source` defines the kernel
// itself, or has none of the name, or no such file is found.
std::optional<SubjectRequest> request_where_defined(const SubjectRequest& request, ParsedSource& source);

// Whether both are kernels of one qualified name that take parameters of the same types.
bool is_same_kernel(const KernelInfo& declared, const KernelInfo& defined);

} // namespace lathe::refactor
