// `lathe export`: writes what a build includes.
#include "tuner/app/options.h"
#include "tuner/app/tables.h"
#include "tuner/base/files.h"
#include "tuner/emit/emit.h"
#include "tuner/spec/spec.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace lathe {
namespace {

namespace po = boost::program_options;

Result<std::string> render(const TuningSpec& spec, Store& store, const std::vector<StoredWinner>& winners,
                           const std::string& format, const HeaderOptions& options) {
  if (format == "header")
    return emit_header(spec, winners, options);
  if (format == "json")
    return emit_json(spec, winners);
  // T4 holds one device and problem a file: the first winner's.
  LATHE_TRY(const std::vector<StoredEvaluation> evaluations, store.evaluations(winners.front().key));
  return emit_t4(spec, winners.front().key, evaluations);
}

} // namespace

int export_command(const Arguments& arguments) {
  CommandLine line(
      "lathe export SPEC [options]",
      "Writes the winners of the results store as one dependency-free header (or JSON, or T4).",
      "lathe export search_spaces/silu_and_mul.json --format header -o include/tuned/silu_and_mul.h");
  line.options().add_options()("format", po::value<std::string>()->default_value("header"),
                               "header, json or t4")("output,o", po::value<std::string>(),
                                                     "file to write (default: standard output)")(
      "results", po::value<std::string>(),
      "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
      "allow-host", "also write results of the host executor, labelled as such");
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.size() != 1)
    return fail(usage_error("lathe export", "expected one specification",
                            "name one, such as search_spaces/silu_and_mul.json"));
  const std::string format = line.get<std::string>("format");
  if (format != "header" && format != "json" && format != "t4")
    return fail(usage_error("lathe export", "no format '" + format + "'", "use header, json or t4"));
  auto spec = read_spec(line.positionals.front());
  if (!spec.ok())
    return fail(spec.error());
  const std::string path =
      line.has("results") ? line.get<std::string>("results") : default_store_path().string();
  if (!std::filesystem::exists(path))
    return fail(
        {"cannot export", "there is no results store at " + path, "run lathe tune first, or give --results"});
  auto store = Store::open(path);
  if (!store.ok())
    return fail(store.error());
  auto winners = (*store)->winners(spec->name);
  if (!winners.ok())
    return fail(winners.error());
  const std::size_t found = winners->size();
  std::erase_if(*winners,
                [&](const StoredWinner& winner) { return winner.key.template_hash != spec->template_hash; });
  if (winners->empty())
    return fail({"cannot export " + spec->name,
                 found > 0 ? "its results belong to another version of the template"
                           : "the store " + path + " holds no winner for it",
                 "run lathe tune " + line.positionals.front()});
  HeaderOptions options;
  options.allow_host = line.has("allow-host");
  options.command = "lathe export " + line.positionals.front() + " --format header" +
                    (line.has("output") ? " -o " + line.get<std::string>("output") : "");
  auto text = render(*spec, **store, *winners, format, options);
  if (!text.ok())
    return fail(text.error());
  if (!line.has("output")) {
    std::cout << *text;
    return 0;
  }
  const Status written = write_file(line.get<std::string>("output"), *text);
  return written.ok() ? 0 : fail(written.error());
}

} // namespace lathe
