// What an extraction lacks that other files may have.
#pragma once

#include "refactor/extract/extract.h"

#include <string>

namespace lathe::refactor {

// The function for the device, or the variable in its memory, that the kernel needs and the source only
// declares, without its namespaces; empty where there is none, or the extraction fails before it is seen.
std::string device_definition_elsewhere(ParsedSource& source, const KernelInfo& kernel);

} // namespace lathe::refactor
