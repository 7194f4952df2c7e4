// CUPTI's range profiler, opened at run time, around single launches of one context. Used only inside a
// runner process that measures no times: a profiled context may run at other clocks.
#pragma once

#include "tuner/base/result.h"

#include <cuda.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathe {

class RangeProfiler {
public:
  // The library beside the toolkit's NVRTC, else by the loader's path.
  static std::vector<std::filesystem::path> library_candidates(const std::filesystem::path& nvrtc);

  // For the current context on device `index` of the driver. Fails where the library is missing, or where the
  // driver denies counters to this user: then with the setting that allows them.
  static Result<std::unique_ptr<RangeProfiler>> open(CUcontext context, int index,
                                                     const std::vector<std::filesystem::path>& libraries,
                                                     const std::vector<std::string>& metrics);
  virtual ~RangeProfiler() = default;

  // Those of the metrics that this chip has, and the launches that collecting them takes.
  virtual const std::vector<std::string>& metrics() const = 0;
  virtual std::size_t passes() const = 0;

  // Calls `prepare` and `launch` once a pass; `launch` enqueues one kernel and waits for it, and that kernel
  // alone is counted. One value a metric. An error of theirs ends the collection and is returned.
  using Step = std::function<Status()>;
  virtual Result<std::vector<double>> collect(const Step& prepare, const Step& launch) = 0;
};

// The metrics among `names` that a chip ("GH100") has, by the library alone: no device is needed.
Result<std::vector<std::string>> supported_metrics(const std::vector<std::filesystem::path>& libraries,
                                                   const std::string& chip,
                                                   const std::vector<std::string>& names);

} // namespace lathe
