// Annotations of lambda expressions, which nvcc takes with an option that NVRTC has not.
#pragma once

#include <string>

namespace lathe::refactor {

// The text with `[...] __device__ (...)` as `[...] (...)`: in device code, which the text is, the expression
// is the device's without being told.
std::string without_lambda_annotations(const std::string& text);

} // namespace lathe::refactor
