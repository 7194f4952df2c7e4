#include "tuner/profile/range_profiler.h"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <dlfcn.h>

namespace lathe {
namespace {

constexpr const char* LIBRARY = "libcupti.so.13";
constexpr int MOST_PASSES = 200; // a profiler that never says that it has all it needs

// clang-format off: it indents each line of such a list deeper than the one before
#define LATHE_CUPTI_FUNCTIONS(X) \
  X(cuptiGetResultString) \
  X(cuptiProfilerInitialize) \
  X(cuptiProfilerGetCounterAvailability) \
  X(cuptiDeviceGetChipName) \
  X(cuptiProfilerHostInitialize) \
  X(cuptiProfilerHostDeinitialize) \
  X(cuptiProfilerHostConfigAddMetrics) \
  X(cuptiProfilerHostGetConfigImageSize) \
  X(cuptiProfilerHostGetConfigImage) \
  X(cuptiProfilerHostGetNumOfPasses) \
  X(cuptiProfilerHostEvaluateToGpuValues) \
  X(cuptiRangeProfilerEnable) \
  X(cuptiRangeProfilerDisable) \
  X(cuptiRangeProfilerSetConfig) \
  X(cuptiRangeProfilerStart) \
  X(cuptiRangeProfilerStop) \
  X(cuptiRangeProfilerDecodeData) \
  X(cuptiRangeProfilerGetCounterDataSize) \
  X(cuptiRangeProfilerCounterDataImageInitialize)
// clang-format on

// A parameter block as every function of CUPTI wants it: zeroed, with its size.
#define LATHE_PARAMETERS(type, name)                                                                         \
  type name{};                                                                                               \
  (name).structSize = type##_STRUCT_SIZE

// Return from a function of Status or Result when a call failed.
#define LATHE_CUPTI(call, action)                                                                            \
  do {                                                                                                       \
    if (const CUptiResult code = (call); code != CUPTI_SUCCESS)                                              \
      return api_.failure(code, action);                                                                     \
  } while (false)

struct Cupti {
#define LATHE_DECLARE(name) decltype(&::name) name = nullptr;
  LATHE_CUPTI_FUNCTIONS(LATHE_DECLARE)
#undef LATHE_DECLARE

  static Result<Cupti> open(const std::vector<std::filesystem::path>& libraries) {
    void* library = nullptr;
    for (const std::filesystem::path& path : libraries) {
      library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library)
        break;
    }
    if (!library)
      return Error{"cannot read the GPU's counters", std::string(LIBRARY) + " was not found",
                   "install CUPTI of the CUDA 13 toolkit"};
    Cupti api;
    const char* missing = nullptr;
#define LATHE_BIND(name)                                                                                     \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, #name));                                  \
  if (!api.name && !missing)                                                                                 \
    missing = #name;
    LATHE_CUPTI_FUNCTIONS(LATHE_BIND)
#undef LATHE_BIND
    if (missing)
      return Error{"cannot read the GPU's counters", std::string("CUPTI lacks the function ") + missing,
                   "install CUPTI of the CUDA 13 toolkit"};
    return api;
  }

  Error failure(CUptiResult code, const char* action) const {
    if (code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
      return {"cannot read the GPU's counters", "the driver allows them to administrators alone",
              "have the driver's option NVreg_RestrictProfilingToAdminUsers=0 set, or run as root"};
    const char* text = nullptr;
    cuptiGetResultString(code, &text);
    return {"cannot read the GPU's counters",
            std::string(action) + ": " + (text ? text : "CUPTI error " + std::to_string(code)), ""};
  }
};

// The host side for one chip: which counters metrics need, and what metrics the counters give.
class Evaluator {
public:
  explicit Evaluator(const Cupti& api) : api_(api) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  ~Evaluator() {
    if (!host_)
      return;
    LATHE_PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params, parameters);
    parameters.pHostObject = host_;
    api_.cuptiProfilerHostDeinitialize(&parameters);
  }

  Status open(const std::string& chip, const std::vector<std::uint8_t>& availability) {
    LATHE_PARAMETERS(CUpti_Profiler_Host_Initialize_Params, parameters);
    parameters.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    parameters.pChipName = chip.c_str();
    parameters.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    LATHE_CUPTI(api_.cuptiProfilerHostInitialize(&parameters), "asking for the chip's metrics failed");
    host_ = parameters.pHostObject;
    return Done{};
  }

  Status add(std::vector<const char*> metrics) {
    LATHE_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params, parameters);
    parameters.pHostObject = host_;
    parameters.ppMetricNames = metrics.data();
    parameters.numMetrics = metrics.size();
    LATHE_CUPTI(api_.cuptiProfilerHostConfigAddMetrics(&parameters), "choosing metrics failed");
    return Done{};
  }

  Result<std::vector<std::uint8_t>> configuration() const {
    LATHE_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = host_;
    LATHE_CUPTI(api_.cuptiProfilerHostGetConfigImageSize(&size), "choosing counters failed");
    std::vector<std::uint8_t> image(size.configImageSize);
    LATHE_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params, parameters);
    parameters.pHostObject = host_;
    parameters.configImageSize = image.size();
    parameters.pConfigImage = image.data();
    LATHE_CUPTI(api_.cuptiProfilerHostGetConfigImage(&parameters), "choosing counters failed");
    return image;
  }

  Result<std::size_t> passes(std::vector<std::uint8_t>& image) const {
    LATHE_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params, parameters);
    parameters.configImageSize = image.size();
    parameters.pConfigImage = image.data();
    LATHE_CUPTI(api_.cuptiProfilerHostGetNumOfPasses(&parameters), "counting the passes failed");
    return parameters.numOfPasses;
  }

  Result<std::vector<double>> evaluate(const std::vector<std::uint8_t>& counters,
                                       std::vector<const char*> metrics) const {
    std::vector<double> values(metrics.size());
    LATHE_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, parameters);
    parameters.pHostObject = host_;
    parameters.pCounterDataImage = counters.data();
    parameters.counterDataImageSize = counters.size();
    parameters.ppMetricNames = metrics.data();
    parameters.numMetrics = metrics.size();
    parameters.pMetricValues = values.data();
    LATHE_CUPTI(api_.cuptiProfilerHostEvaluateToGpuValues(&parameters), "reading the metrics failed");
    return values;
  }

private:
  const Cupti& api_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

std::vector<const char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts)
    all.push_back(text.c_str());
  return all;
}

Result<std::vector<std::string>> supported_by(const Cupti& api, const std::string& chip,
                                              const std::vector<std::uint8_t>& availability,
                                              const std::vector<std::string>& names) {
  auto trial = std::make_unique<Evaluator>(api);
  LATHE_CHECK(trial->open(chip, availability));
  std::vector<std::string> supported;
  for (const std::string& name : names) {
    if (trial->add({name.c_str()}).ok()) {
      supported.push_back(name);
      continue;
    }
    // After a metric that it refused, it refuses all.
    trial = std::make_unique<Evaluator>(api);
    LATHE_CHECK(trial->open(chip, availability));
  }
  if (supported.empty())
    return Error{"cannot read the GPU's counters", "CUPTI knows none of the metrics on " + chip, ""};
  return supported;
}

class CuptiRangeProfiler final : public RangeProfiler {
public:
  CuptiRangeProfiler(Cupti api, CUcontext context) : api_(api), context_(context), evaluator_(api_) {}
  ~CuptiRangeProfiler() override { disable(); }

  Status start(int index, const std::vector<std::string>& wanted) {
    LATHE_PARAMETERS(CUpti_Profiler_Initialize_Params, initialize);
    LATHE_CUPTI(api_.cuptiProfilerInitialize(&initialize), "starting CUPTI failed");
    LATHE_PARAMETERS(CUpti_Device_GetChipName_Params, chip);
    chip.deviceIndex = static_cast<std::size_t>(index);
    LATHE_CUPTI(api_.cuptiDeviceGetChipName(&chip), "asking for the chip's name failed");
    LATHE_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params, available);
    available.ctx = context_;
    LATHE_CUPTI(api_.cuptiProfilerGetCounterAvailability(&available), "asking for the counters failed");
    std::vector<std::uint8_t> availability(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = availability.data();
    LATHE_CUPTI(api_.cuptiProfilerGetCounterAvailability(&available), "asking for the counters failed");
    LATHE_TRY(metrics_, supported_by(api_, chip.pChipName, availability, wanted));
    LATHE_CHECK(evaluator_.open(chip.pChipName, availability));
    LATHE_CHECK(evaluator_.add(c_strings(metrics_)));
    LATHE_TRY(configuration_, evaluator_.configuration());
    LATHE_TRY(passes_, evaluator_.passes(configuration_));
    return Done{};
  }

  const std::vector<std::string>& metrics() const override { return metrics_; }
  std::size_t passes() const override { return passes_; }

  Result<std::vector<double>> collect(const Step& prepare, const Step& launch) override {
    LATHE_CHECK(enable());
    const Status collected = run_passes(prepare, launch);
    Result<std::vector<double>> values =
        collected.ok() ? decode() : Result<std::vector<double>>(collected.error());
    disable();
    return values;
  }

private:
  Status enable() {
    LATHE_PARAMETERS(CUpti_RangeProfiler_Enable_Params, parameters);
    parameters.ctx = context_;
    LATHE_CUPTI(api_.cuptiRangeProfilerEnable(&parameters), "enabling the profiler failed");
    profiler_ = parameters.pRangeProfilerObject;

    std::vector<const char*> names = c_strings(metrics_);
    LATHE_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    LATHE_CUPTI(api_.cuptiRangeProfilerGetCounterDataSize(&size), "sizing the counters failed");
    counters_.assign(size.counterDataSize, 0);
    LATHE_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
    image.pRangeProfilerObject = profiler_;
    image.counterDataSize = counters_.size();
    image.pCounterData = counters_.data();
    LATHE_CUPTI(api_.cuptiRangeProfilerCounterDataImageInitialize(&image), "preparing the counters failed");

    LATHE_PARAMETERS(CUpti_RangeProfiler_SetConfig_Params, configuration);
    configuration.pRangeProfilerObject = profiler_;
    configuration.configSize = configuration_.size();
    configuration.pConfig = configuration_.data();
    configuration.counterDataImageSize = counters_.size();
    configuration.pCounterDataImage = counters_.data();
    configuration.range = CUPTI_AutoRange;       // exactly the kernel, without what surrounds its launch
    configuration.replayMode = CUPTI_UserReplay; // every pass is preceded by `prepare`
    configuration.maxRangesPerPass = 1;
    configuration.numNestingLevels = 1;
    configuration.minNestingLevel = 1;
    LATHE_CUPTI(api_.cuptiRangeProfilerSetConfig(&configuration), "configuring the profiler failed");
    return Done{};
  }

  void disable() {
    if (!profiler_)
      return;
    LATHE_PARAMETERS(CUpti_RangeProfiler_Disable_Params, parameters);
    parameters.pRangeProfilerObject = profiler_;
    api_.cuptiRangeProfilerDisable(&parameters);
    profiler_ = nullptr;
  }

  Status run_passes(const Step& prepare, const Step& launch) {
    for (int pass = 0; pass < MOST_PASSES; ++pass) {
      LATHE_CHECK(prepare());
      LATHE_PARAMETERS(CUpti_RangeProfiler_Start_Params, start);
      start.pRangeProfilerObject = profiler_;
      LATHE_CUPTI(api_.cuptiRangeProfilerStart(&start), "starting a pass failed");
      LATHE_CHECK(launch());
      LATHE_PARAMETERS(CUpti_RangeProfiler_Stop_Params, stop);
      stop.pRangeProfilerObject = profiler_;
      LATHE_CUPTI(api_.cuptiRangeProfilerStop(&stop), "ending a pass failed");
      if (stop.isAllPassSubmitted)
        return Done{};
    }
    return Error{"cannot read the GPU's counters", "CUPTI asks for more passes without end", ""};
  }

  Result<std::vector<double>> decode() {
    LATHE_PARAMETERS(CUpti_RangeProfiler_DecodeData_Params, parameters);
    parameters.pRangeProfilerObject = profiler_;
    LATHE_CUPTI(api_.cuptiRangeProfilerDecodeData(&parameters), "decoding the counters failed");
    return evaluator_.evaluate(counters_, c_strings(metrics_));
  }

  Cupti api_;
  CUcontext context_;
  Evaluator evaluator_;
  std::vector<std::string> metrics_;
  std::vector<std::uint8_t> configuration_, counters_;
  std::size_t passes_ = 0;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

} // namespace

std::vector<std::filesystem::path> RangeProfiler::library_candidates(const std::filesystem::path& nvrtc) {
  const std::filesystem::path folder = nvrtc.parent_path(), home = folder.parent_path();
  return {folder / LIBRARY, home / "extras/CUPTI/lib64" / LIBRARY, LIBRARY};
}

Result<std::unique_ptr<RangeProfiler>>
RangeProfiler::open(CUcontext context, int index, const std::vector<std::filesystem::path>& libraries,
                    const std::vector<std::string>& metrics) {
  LATHE_TRY(const Cupti api, Cupti::open(libraries));
  auto profiler = std::make_unique<CuptiRangeProfiler>(api, context);
  LATHE_CHECK(profiler->start(index, metrics));
  return std::unique_ptr<RangeProfiler>(std::move(profiler));
}

Result<std::vector<std::string>> supported_metrics(const std::vector<std::filesystem::path>& libraries,
                                                   const std::string& chip,
                                                   const std::vector<std::string>& names) {
  LATHE_TRY(const Cupti api, Cupti::open(libraries));
  return supported_by(api, chip, {}, names);
}

} // namespace lathe
