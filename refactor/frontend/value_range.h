// What a launcher's condition comes to for whatever sizes there may be.
#pragma once

#include <optional>
#include <string>

namespace lathe::refactor {

// The truth of a Lathe expression where interval arithmetic decides it, every name being any number from 0
// to 2^31; nothing where it does not, or where the text is no expression.
std::optional<bool> decided_for_all_sizes(const std::string& expression);

} // namespace lathe::refactor
