// Launches of a raw kernel in somebody's source, changed into calls of the exported header.
#pragma once

#include "refactor/frontend/frontend.h"
#include "tuner/spec/spec.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// "kernel" of "lib::kernel<{T}, 4>".
std::string unqualified_kernel(const std::string& instance);

struct RawLaunch {
  std::string kernel; // its name without its namespaces
  LaunchSite site;
};

// The launches of the kernels that the specification's raw side is. Those that may be of another kernel as
// well are marked as not to be changed. A kernel that is defined in another file than `own` only has the same
// name; empty: any file may define it.
std::vector<RawLaunch> raw_launches(const TuningSpec& spec, const std::vector<KernelInfo>& kernels,
                                    const std::filesystem::path& own);

// The call that takes the launch's place, on one line and without a semicolon: the sizes as expressions that
// are in scope at the launch, its own stream and arguments. Fails, naming the launch, where it is not the
// specification's, where a size has no name there, or where its text cannot be changed.
Result<std::string> tuned_call(const TuningSpec& spec, const RawLaunch& launch);

struct LaunchPatch {
  std::map<std::filesystem::path, std::string> texts; // of the files that change, with the header included
  std::vector<std::string> changed;                   // "file:line" of the launches that now go to the header
  std::vector<std::string> kept;                      // why the others stay, a sentence each
};

// Changes every launch that can be changed. `include`: how a file writes the header's name, with its quotes.
// Fails where a file cannot be read.
Result<LaunchPatch>
patch_launches(const TuningSpec& spec, const std::vector<RawLaunch>& launches,
               const std::function<std::string(const std::filesystem::path& file)>& include);

// Where in the text another #include may go: behind the last one before any code, at the same level of
// conditionals; without one, behind the comments at the head. The beginning of a line.
std::size_t include_place(const std::string& text);

} // namespace lathe::refactor
