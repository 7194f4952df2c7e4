// PTX of a kernel by nvcc and by NVRTC, in a form in which only the code counts.
#pragma once

#include "tuner/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::refactor {

// nvcc of the toolkit that NVRTC comes from; empty where there is none.
std::filesystem::path find_nvcc();

// The PTX of the whole file for sm_90.
Result<std::string> ptx_by_nvcc(const std::filesystem::path& nvcc, const std::filesystem::path& file,
                                const std::vector<std::string>& flags);

struct NvrtcPtx {
  std::string text, entry; // the instance's name in it
};
// With the options with which Lathe compiles extracted kernels.
Result<NvrtcPtx> ptx_by_nvrtc(const std::string& source, const std::string& instance);

// The function of that name and the variables that it names: comments, file and line marks, linkage and the
// numbers in labels left out, symbols numbered in the order in which they appear. Empty where there is no
// such entry; `long` and `long long` in its parameters are one.
std::string normal_ptx(const std::string& ptx, const std::string& wanted);

} // namespace lathe::refactor
