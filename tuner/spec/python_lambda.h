// Lambdas among T1's conditions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::spec {

// A lambda is called with the knobs that the condition's "Parameters" lists, in that order: the text with its
// parameters, and members such as v[0] of its only one, renamed to these. Texts that are no lambda, whose
// parameters are named like knobs, or that do not fit the list stay as they are.
std::string with_knob_names(std::string_view text, const std::vector<std::string>& listed,
                            const std::vector<std::string>& knobs);

} // namespace lathe::spec
