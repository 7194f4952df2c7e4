// `lathe bench`: the stored winners measured again beside the raw kernel, on the device at hand.
#include "tuner/app/options.h"
#include "tuner/app/selection.h"
#include "tuner/app/tables.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>

namespace lathe {
namespace {

namespace po = boost::program_options;

// Each winner of this device and template again, interleaved with raw; the others are counted as skipped.
Result<std::vector<StoredWinner>> measure_again(const TuningSpec& spec, std::vector<StoredWinner> winners,
                                                Backend& backend, const MeasureOptions& options) {
  std::vector<StoredWinner> measured;
  for (StoredWinner& winner : winners) {
    if (winner.key.device != backend.device().name || winner.key.template_hash != spec.template_hash)
      continue;
    LATHE_TRY(const Workload workload,
              bind_workload(spec, winner.problem, winner.types, backend.device().limits()));
    LATHE_CHECK(backend.prepare(workload, options));
    LATHE_TRY(winner.comparison, backend.compare(winner.knobs));
    winner.copy_floor_us = backend.copy_floor_us();
    winner.protocol = std::string(backend.protocol());
    measured.push_back(std::move(winner));
  }
  return measured;
}

} // namespace

int bench_command(const Arguments& arguments) {
  CommandLine line("lathe bench SPEC... [options]",
                   "Measures the stored winners again, interleaved with the raw kernel in one run, with an "
                   "A/A noise band.",
                   "lathe bench search_spaces/silu_and_mul.json");
  line.options().add_options()("results", po::value<std::string>()->value_name("FILE"),
                               "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
      "device", po::value<std::string>()->default_value("auto"),
      "auto, host, or the index of a GPU")("json", "print the results as JSON");
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.empty())
    return fail(usage_error("lathe bench", "no specification given",
                            "name one, such as search_spaces/silu_and_mul.json"));
  const std::string path =
      line.has("results") ? line.get<std::string>("results") : default_store_path().string();
  if (!std::filesystem::exists(path))
    return fail(
        {"cannot bench", "there is no results store at " + path, "run lathe tune first, or give --results"});
  auto store = Store::open(path);
  if (!store.ok())
    return fail(store.error());
  auto backend = open_backend(line.get<std::string>("device"));
  if (!backend.ok())
    return fail(backend.error());
  std::vector<StoredWinner> all;
  for (const std::string& file : line.positionals) {
    auto spec = read_spec(file);
    if (!spec.ok())
      return fail(spec.error());
    auto winners = (*store)->winners(spec->name);
    if (!winners.ok())
      return fail(winners.error());
    auto measured = measure_again(*spec, *winners, **backend, {});
    if (!measured.ok())
      return fail(measured.error());
    if (measured->empty())
      return fail({"cannot bench " + spec->name,
                   "the store holds no winner of this template for " + (*backend)->device().name,
                   "run lathe tune " + file + " first"});
    all.insert(all.end(), measured->begin(), measured->end());
  }
  std::cout << (line.has("json") ? winners_json(all) + "\n" : winners_markdown(all));
  if ((*backend)->device().is_host && !line.has("json"))
    std::cout << "\nThese are host-executor times, not GPU times.\n";
  return 0;
}

} // namespace lathe
