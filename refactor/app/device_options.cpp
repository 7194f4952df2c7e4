#include "refactor/app/device_options.h"

#include "refactor/app/subject_options.h"
#include "tuner/app/selection.h"
#include "tuner/device/device.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

namespace po = boost::program_options;

constexpr const char* ALL_TOOLS = "memcheck,racecheck,initcheck,synccheck";

Status read_device(const std::string& device, GuardOptions& guard) {
  if (device == "host")
    return Done{};
  guard.device_use = GuardOptions::DeviceUse::where_there_is_one;
  if (device == "auto")
    return Done{};
  guard.device_use = GuardOptions::DeviceUse::required;
  LATHE_TRY(guard.device, parse_device_index(device));
  return Done{};
}

Status read_tools(const std::string& text, GuardOptions& guard) {
  if (guard.device_use == GuardOptions::DeviceUse::none)
    return usage_error("--sanitizer with --device host", "compute-sanitizer watches a GPU",
                       "leave one of the two out: the host executor always runs with sanitizers of its own");
  guard.device_use = GuardOptions::DeviceUse::required; // what was asked for is not left out in silence
  guard.sanitizer_tools = split(text, ',');
  const std::vector<std::string> known = split(ALL_TOOLS, ',');
  for (const std::string& tool : guard.sanitizer_tools)
    if (std::ranges::find(known, tool) == known.end())
      return usage_error("no tool '" + tool + "'", std::string("expected some of ") + ALL_TOOLS);
  if (guard.sanitizer_tools.empty())
    return usage_error("--sanitizer without a tool", std::string("expected some of ") + ALL_TOOLS);
  return Done{};
}

} // namespace

void add_device_options(po::options_description& options) {
  options.add_options()("device", po::value<std::string>()->default_value("auto"),
                        "where an accepted template runs beside the raw kernel once more: auto (a GPU where "
                        "there is one), host (the host executor alone), or the index of a GPU")(
      "sanitizer", po::value<std::string>()->implicit_value(ALL_TOOLS)->value_name("TOOLS"),
      "watch the runs on the GPU with these tools of compute-sanitizer (without TOOLS: all four)");
}

Status read_device_options(const CommandLine& line, GuardOptions& guard) {
  LATHE_CHECK(read_device(line.get<std::string>("device"), guard));
  if (line.has("sanitizer"))
    LATHE_CHECK(read_tools(line.get<std::string>("sanitizer"), guard));
  if (guard.device_use != GuardOptions::DeviceUse::required)
    return Done{};
  // Before minutes were spent on the other checks.
  LATHE_TRY(const std::vector<DeviceInfo> devices, list_cuda_devices());
  if (static_cast<std::size_t>(guard.device) >= devices.size())
    return Error{"there is no device " + std::to_string(guard.device),
                 std::to_string(devices.size()) + " are visible, the first is 0", "see lathe devices",
                 Failure::no_device};
  return Done{};
}

} // namespace lathe::refactor
