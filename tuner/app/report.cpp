// `lathe report`: what the store holds, for people and for machines.
#include "tuner/app/options.h"
#include "tuner/app/tables.h"
#include "tuner/base/files.h"
#include "tuner/spec/spec.h"

#include <cstdio>
#include <fmt/format.h>
#include <iostream>

namespace lathe {

namespace po = boost::program_options;

int report_command(const Arguments& arguments) {
  CommandLine line("lathe report KERNEL... [options]",
                   "Prints the winners that the results store holds for each kernel: raw against tuned with "
                   "the noise band.",
                   "lathe report silu_and_mul --format md --output docs/results/silu_and_mul.md");
  line.options().add_options()("results", po::value<std::string>(),
                               "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
      "format", po::value<std::string>()->default_value("md"),
      "md, json or csv")("output,o", po::value<std::string>(), "file to write (default: standard output)");
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.empty())
    return fail(usage_error("lathe report", "no kernel given", "name one, such as silu_and_mul"));
  const std::string format = line.get<std::string>("format");
  if (format != "md" && format != "json" && format != "csv")
    return fail(usage_error("lathe report", "no format '" + format + "'", "use md, json or csv"));
  const std::string path =
      line.has("results") ? line.get<std::string>("results") : default_store_path().string();
  if (!std::filesystem::exists(path))
    return fail(
        {"cannot report", "there is no results store at " + path, "run lathe tune first, or give --results"});
  auto store = Store::open(path);
  if (!store.ok())
    return fail(store.error());
  std::vector<StoredWinner> winners;
  for (std::string kernel : line.positionals) {
    if (kernel.ends_with(".json")) { // a specification stands for its kernel
      const auto spec = read_spec(kernel);
      if (!spec.ok())
        return fail(spec.error());
      kernel = spec->name;
    }
    auto found = (*store)->winners(kernel);
    if (!found.ok())
      return fail(found.error());
    if (found->empty())
      return fail({"cannot report " + kernel, "the store " + path + " holds no winner for it",
                   "run lathe tune first"});
    winners.insert(winners.end(), found->begin(), found->end());
  }
  const std::string text = format == "json"  ? winners_json(winners) + "\n"
                           : format == "csv" ? winners_csv(winners)
                                             : winners_markdown(winners);
  if (!line.has("output")) {
    std::cout << text;
    return 0;
  }
  const Status written = write_file(line.get<std::string>("output"), text);
  return written.ok() ? 0 : fail(written.error());
}

} // namespace lathe
