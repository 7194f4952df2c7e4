// `lathe doctor`: is everything here that tuning needs, and what to do where it is not.
#include "tuner/app/health.h"
#include "tuner/app/options.h"
#include "tuner/device/device.h"
#include "tuner/store/store.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

namespace po = boost::program_options;

constexpr int json_schema_version = 1;

CommandLine make_command_line() {
  CommandLine line(
      "lathe doctor [options]",
      "Looks at what tuning needs: driver, GPUs, toolkit, compilers, permissions, clocks, other processes,\n"
      "disks. Each line is ok, warn or fail, with what to do. Changes nothing.\n"
      "Exit code 0: no line fails; 1: one does; 3: none fails, but there is no GPU.",
      "lathe doctor");
  line.options().add_options()("results", po::value<std::string>()->value_name("FILE"),
                               "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
      "json", "print the lines as JSON");
  return line;
}

const char* colour_of(Health health) {
  return health == Health::ok ? "\033[32m" : health == Health::warn ? "\033[33m" : "\033[31m";
}

void print(const std::vector<HealthLine>& lines) {
  const bool colour = use_colour();
  std::size_t width = 0;
  for (const HealthLine& line : lines)
    width = std::max(width, line.name.size());
  for (const HealthLine& line : lines) {
    const std::string verdict = fmt::format("{:<4}", to_string(line.health));
    std::cout << fmt::format("{}  {:<{}}  {}\n",
                             colour ? colour_of(line.health) + verdict + "\033[0m" : verdict, line.name,
                             width, line.finding);
    if (!line.remedy.empty())
      std::cout << fmt::format("      {:<{}}  -> {}\n", "", width, line.remedy);
  }
}

} // namespace

int doctor_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(arguments))
    return *code;
  if (!line.positionals.empty())
    return fail(usage_error("lathe doctor", "unexpected argument " + line.positionals.front(),
                            "see lathe doctor --help"));
  std::vector<HealthLine> lines = gpu_health();
  const std::filesystem::path results =
      line.has("results") ? std::filesystem::path(line.get<std::string>("results")) : default_store_path();
  for (HealthLine& more : host_health(results))
    lines.push_back(std::move(more));
  const bool failed =
      std::ranges::any_of(lines, [](const HealthLine& one) { return one.health == Health::fail; });
  const bool has_gpu = list_cuda_devices().ok();
  if (line.has("json")) {
    nlohmann::ordered_json checks = nlohmann::ordered_json::array();
    for (const HealthLine& one : lines)
      checks.push_back({{"Name", one.name},
                        {"Verdict", to_string(one.health)},
                        {"Finding", one.finding},
                        {"Remedy", one.remedy}});
    std::cout << nlohmann::ordered_json{{"Schema", json_schema_version},
                                        {"Failed", failed},
                                        {"HasGpu", has_gpu},
                                        {"Checks", checks}}
                     .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << "\n";
  } else {
    print(lines);
  }
  if (failed)
    return static_cast<int>(Failure::work);
  return has_gpu ? 0 : static_cast<int>(Failure::no_device);
}

} // namespace lathe
