// What an extraction lacks that other files may have.
#pragma once

#include "refactor/extract/extract.h"

#include <string>

namespace lathe::refactor {

// The function for the device that the kernel needs and the source only declares, without its namespaces;
// empty where there is none, or the extraction fails before it is seen.
std::string device_function_elsewhere(ParsedSource& source, const KernelInfo& kernel);

} // namespace lathe::refactor
