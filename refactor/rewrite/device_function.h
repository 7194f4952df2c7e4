// A kernel as a device function that a kernel of its own calls.
#pragma once

#include "refactor/frontend/frontend.h"

#include <string>
#include <vector>

namespace lathe::refactor {

struct DeviceFunction {
  std::string
      text; // of the whole file; the kernel is `__device__ __forceinline__` there, without launch bounds
  struct Parameter {
    std::string type, name; // as in the kernel's declaration
  };
  std::vector<Parameter> parameters;
  // The qualified name of a structure beside the function, with its template parameters and the members
  // `threads` and `blocks`: the launch bounds, 0 where one is not stated. Empty where the kernel has none.
  std::string bounds;
};

// `text` holds the kernel whole. Fails where the kernel has attributes that only a kernel can have, besides
// launch bounds, and where its declaration comes from a macro.
Result<DeviceFunction> as_device_function(const std::string& text, const std::string& kernel,
                                          const ParseOptions& options);

} // namespace lathe::refactor
