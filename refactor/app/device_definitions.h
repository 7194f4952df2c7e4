// Functions for the device that a kernel calls and another file defines, which the linker of device code
// would bring together.
#pragma once

#include "refactor/app/subject.h"

#include <memory>

namespace lathe::refactor {

// The source of the request behind the files near it that define what its kernel lacks of functions for the
// device, as the request then says; null where it lacks none, or no file has them so that the kernel is
// whole.
std::unique_ptr<ParsedSource> behind_device_definitions(SubjectRequest& request, ParsedSource& source);

} // namespace lathe::refactor
