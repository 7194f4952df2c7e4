// A text's device code as LLVM wrote it before any optimisation.
#pragma once

#include "tuner/base/result.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace lathe::refactor {

// `text` compiled with clang for the device (`arguments`: the flags that parsed it). The last texts are
// remembered: one raw kernel is wanted again for every candidate that is judged against it. Fails when the
// text does not compile. Safe to call from several threads.
Result<std::shared_ptr<const std::string>> device_bitcode(const std::string& text,
                                                          const std::filesystem::path& file,
                                                          const std::vector<std::string>& arguments);

} // namespace lathe::refactor
