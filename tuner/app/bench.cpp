// `lathe bench`: the stored winners measured again beside the raw kernel, on the device at hand.
#include "tuner/app/bench_winners.h"
#include "tuner/app/certificate.h"
#include "tuner/app/options.h"
#include "tuner/app/selection.h"
#include "tuner/app/tables.h"
#include "tuner/base/files.h"

#include <fmt/format.h>
#include <iostream>

namespace lathe {
namespace {

namespace po = boost::program_options;

// What `bench` says beside the times: whose winners these are, and which do not run here.
void tell(const BenchedWinners& bench, const std::string& kernel, const std::string& device) {
  if (!bench.tuned_on.empty())
    fmt::print(stderr,
               "lathe: {} was not tuned on {}: these are the winners of {}, of which an exported header uses "
               "there what gained a fifth or more\n",
               kernel, device, bench.tuned_on);
  for (const std::string& failure : bench.failures)
    fmt::print(stderr, "lathe: {}\n", failure);
}

} // namespace

int bench_command(const Arguments& arguments) {
  CommandLine line(
      "lathe bench SPEC... [options]",
      "Measures the stored winners again, interleaved with the raw kernel in one run, with an A/A noise\n"
      "band. On a GPU without winners of its own: those of one of the same architecture, of which an\n"
      "exported header uses what gained a fifth or more. Exit code 1 where a winner does not run.",
      "lathe bench search_spaces/silu_and_mul.json");
  line.options().add_options()("results", po::value<std::string>()->value_name("FILE"),
                               "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
      "device", po::value<std::string>()->default_value("auto"), "auto, host, or the index of a GPU")(
      "record", "keep what was measured as this device's winners, for lathe export")(
      "json", "print the results as JSON");
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.empty())
    return fail(usage_error("lathe bench", "no specification given",
                            "name one, such as search_spaces/silu_and_mul.json"));
  const std::string path =
      line.has("results") ? line.get<std::string>("results") : default_store_path().string();
  if (!path_exists(path))
    return fail(
        {"cannot bench", "there is no results store at " + path, "run lathe tune first, or give --results"});
  auto store = Store::open(path);
  if (!store.ok())
    return fail(store.error());
  auto backend = open_backend(line.get<std::string>("device"));
  if (!backend.ok())
    return fail(backend.error());
  std::vector<StoredWinner> all;
  bool failed = false;
  for (const std::string& file : line.positionals) {
    auto spec = read_spec(file);
    if (!spec.ok())
      return fail(spec.error());
    auto winners = (*store)->winners(spec->name);
    if (!winners.ok())
      return fail(winners.error());
    const auto facts = require_certificate(*spec, file);
    if (!facts.ok())
      return fail(facts.error());
    MeasureOptions options;
    options.raw_wants_alignment = facts->raw_wants_alignment;
    options.unordered = facts->unordered;
    auto bench = bench_winners(*spec, *winners, **backend, options);
    if (!bench.ok())
      return fail(bench.error());
    const DeviceInfo& device = (*backend)->device();
    if (bench->measured.empty() && bench->failures.empty()) {
      fail(
          {"cannot bench " + spec->name,
           fmt::format("the store holds no winner of this template for {} or another GPU of its architecture",
                       device.name),
           "run lathe tune " + file + " first"});
      failed = true;
      continue;
    }
    tell(*bench, spec->name, device.name);
    failed |= !bench->failures.empty();
    if (line.has("record"))
      for (const StoredWinner& winner : bench->measured)
        if (const Status recorded = (*store)->record_winner(winner); !recorded.ok())
          return fail(recorded.error());
    all.insert(all.end(), bench->measured.begin(), bench->measured.end());
  }
  if (all.empty() && failed && !line.has("json"))
    return 1;
  std::cout << (line.has("json") ? winners_json(all) + "\n" : winners_markdown(all));
  if ((*backend)->device().is_host && !line.has("json"))
    std::cout << "\nThese are host-executor times, not GPU times.\n";
  return failed ? 1 : 0;
}

} // namespace lathe
