// Closures that a kernel is handed: objects whose class has no name, which no text of the kernel alone can
// say.
#pragma once

#include "refactor/frontend/frontend.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// The texts of the source's files in which closures that `kernel` is launched with
//   run(n, [=] __device__(int i) { out[i] = in[i] * by; });
// are objects of a structure in front of the function that they stand in:
//   struct run_closure { float *out; const float *in; float by;
//     __device__ void operator()(int i) const { out[i] = in[i] * by; } };
//   run(n, run_closure{out, in, by});
// What they capture are its members, in the order of their first use. Empty where there is none that can be
// said so: they capture by value (not the object whose member function they stand in, nor arrays), take no
// parameters of type auto, and are written in the user's own files. `told` gets a sentence for each.
std::map<std::filesystem::path, std::string>
with_named_closures(ParsedSource& source, const KernelInfo& kernel, std::vector<std::string>& told);

} // namespace lathe::refactor
