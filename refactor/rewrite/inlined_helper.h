// The text of a helper in place of its call.
#pragma once

#include "refactor/rewrite/helper_call.h"
#include "refactor/rewrite/rewrite.h"

#include <string>
#include <variant>

namespace lathe::refactor {

// Adds the edits that put the helper's statements in front of where its value is wanted, or in place of the
// call: parameters and template parameters become declarations, unless the call passes what has the same name
// and type; names that the kernel has are changed. Takes the helper's definition away where nothing else in
// the text names it. `taken`: names that earlier edits brought in; the new ones are added. Returns a reason,
// with nothing added, where a name would mean something else in the kernel or an argument cannot be named.
std::optional<std::string> inline_helper(const KernelView& view, const HelperCall& call,
                                         std::set<std::string>& taken, std::vector<Edit>& edits);

} // namespace lathe::refactor
