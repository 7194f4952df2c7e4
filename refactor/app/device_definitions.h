// Functions for the device that a kernel calls, and variables in its memory that it reads, which another file
// defines: the linker of device code would bring them together.
#pragma once

#include "refactor/app/subject.h"

#include <memory>

namespace lathe::refactor {

// The source of the request behind the files near it that define what its kernel lacks of functions and
// variables of the device, as the request then says; null where it lacks none, or no file has them so that
// the kernel is whole.
std::unique_ptr<ParsedSource> behind_device_definitions(SubjectRequest& request, ParsedSource& source);

} // namespace lathe::refactor
