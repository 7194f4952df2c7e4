// The kernels of one side: several where the raw side's launcher chooses between them.
#pragma once

#include "refactor/guard/subject.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// The name of the kernel in an instance: "ns::scale" of "ns::scale<float, 8>".
std::string kernel_name(const std::string& instance);

// Every kernel that the source's instance may be of, in its order. Fails where one is not in the file.
Result<std::vector<KernelInfo>> kernels_of(const ParsedSide& side, const KernelSource& source);

} // namespace lathe::refactor
