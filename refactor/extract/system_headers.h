// Which header NVRTC needs for a declaration that Clang found in a system header.
#pragma once

#include <string>

namespace lathe::refactor {

// `path` is the file of the declaration as Clang names it. Returns "<cuda_bf16.h>", "<cstdint>", ...; "" for
// what NVRTC builds in (vector types, intrinsics, mathematics).
std::string nvrtc_header(const std::string& path);

// True for the headers of the CUDA toolkit and of Clang's wrapper for it.
bool is_toolkit_file(const std::string& path);

// A header of one of the toolkit's libraries of host functions (cuFFT, cuBLAS, ...), which NVRTC does not
// know: the types that kernels use of it are names for others.
bool is_host_library(const std::string& path);

} // namespace lathe::refactor
