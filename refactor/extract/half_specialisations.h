// Traits that a framework's half types have and CUDA's lack.
#pragma once

#include <string>

namespace lathe::refactor {

// The text, in which each full specialisation of a class template for PyTorch's c10::Half or c10::BFloat16
// is followed by the same for __half or __nv_bfloat16, which derives from it, unless the text has that. A
// template is instantiated with CUDA's types where its program has PyTorch's, which have the same bits:
// without its traits (vLLM's _typeConvert) it would be another kernel, or none.
std::string with_half_specialisations(const std::string& text);

} // namespace lathe::refactor
