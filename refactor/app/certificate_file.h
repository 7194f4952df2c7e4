// A certificate for people: the table of checks that templatize and check print.
#pragma once

#include "refactor/guard/guard.h"

#include <string>

namespace lathe::refactor {

// One line a check, "identity         proved     L0: ...", and the overall verdict last.
std::string certificate_table(const Certificate& certificate);

} // namespace lathe::refactor
