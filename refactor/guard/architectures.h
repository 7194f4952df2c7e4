// Code that only other architectures compile: `#if __CUDA_ARCH__ >= 900 ... #else ... #endif`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor {

// What __CUDA_ARCH__ is where kernels run on the host executor, unless it is told otherwise.
inline constexpr int HOST_ARCHITECTURE = 900;

// Values of __CUDA_ARCH__ at which conditions of the texts come out otherwise than at HOST_ARCHITECTURE, one
// for each way; none where what the template has under such conditions the raw kernel has to the letter.
std::vector<int> other_architectures(std::string_view raw, std::string_view templated);

} // namespace lathe::refactor
