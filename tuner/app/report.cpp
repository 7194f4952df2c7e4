// `lathe report`: what the store holds, for people and for machines.
#include "tuner/report/report.h"
#include "tuner/app/options.h"
#include "tuner/base/files.h"

#include <iostream>

namespace lathe {
namespace {

namespace po = boost::program_options;

CommandLine make_command_line() {
  CommandLine line(
      "lathe report [KERNEL|SPEC...] [options]",
      "Shows what the results store holds: an HTML page to look at, or tables of the winners. A kernel is\n"
      "named, or given by its specification, which adds the roofline. Without one: every kernel of the "
      "store.",
      "lathe report search_spaces/silu_and_mul.json --html silu_and_mul.html");
  line.options().add_options()("html", po::value<std::string>()->value_name("FILE"),
                               "write one self-contained page to this file")(
      "md", "print the winners as Markdown (what is done when nothing else is asked for)")(
      "json", "print the winners and the searches as JSON")("csv", "print the winners as CSV")(
      "output,o", po::value<std::string>()->value_name("FILE"),
      "write Markdown, JSON or CSV to this file instead")(
      "results", po::value<std::string>()->value_name("FILE"),
      "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite; with --history the run's "
      "own)")("history", po::value<std::string>()->value_name("FOLDER"),
              "show what lathe optimize tried in this folder, why, and what it gave");
  return line;
}

Result<std::vector<ReportSubject>> subjects_of(const std::vector<std::string>& names, Store& store) {
  std::vector<ReportSubject> subjects;
  if (names.empty()) {
    LATHE_TRY(const std::vector<std::string> kernels, store.kernels());
    for (const std::string& kernel : kernels)
      subjects.push_back({kernel, {}});
    if (subjects.empty())
      return Error{"cannot report", "the store is empty", "run lathe tune first"};
  }
  for (const std::string& name : names) {
    if (!name.ends_with(".json")) {
      subjects.push_back({name, {}});
      continue;
    }
    // What was measured can be shown also after the template has changed.
    LATHE_TRY(TuningSpec spec, read_spec(name, ReadOptions{.check_template = false}));
    std::string kernel = spec.name;
    subjects.push_back({std::move(kernel), std::move(spec)});
  }
  return subjects;
}

Status write(const CommandLine& line, const Report& report) {
  const int tables = static_cast<int>(line.has("md")) + static_cast<int>(line.has("json")) +
                     static_cast<int>(line.has("csv"));
  if (tables > 1)
    return usage_error("lathe report", "more than one of --md, --json and --csv", "run it once for each");
  if (line.has("html"))
    LATHE_CHECK(write_file(line.get<std::string>("html"), report_html(report)));
  if (tables == 0 && line.has("html") && !line.has("output"))
    return Done{};
  std::string text;
  if (line.has("json"))
    text = report_json(report) + "\n";
  else if (line.has("csv"))
    text = winners_csv(winners_of(report));
  else
    text = (report.attempts ? attempts_markdown(*report.attempts) + "\n" : "") +
           (report.attempts && report.kernels.empty() ? "" : winners_markdown(winners_of(report)));
  if (line.has("output"))
    return write_file(line.get<std::string>("output"), text);
  std::cout << text;
  return Done{};
}

// What the store holds of the subjects; with a history nothing where its run has no store yet.
Result<Report> gather(const CommandLine& line) {
  Report report;
  std::filesystem::path path =
      line.has("results") ? std::filesystem::path(line.get<std::string>("results")) : default_store_path();
  if (line.has("history")) {
    const std::filesystem::path folder = line.get<std::string>("history");
    LATHE_TRY(report.attempts, read_attempts(folder));
    if (!line.has("results"))
      path = folder / "results.sqlite";
  }
  if (!path_exists(path)) {
    if (report.attempts && !line.has("results"))
      return report;
    return Error{"cannot report", "there is no results store at " + path.string(),
                 "run lathe tune first, or give --results"};
  }
  LATHE_TRY(const auto store, Store::open(path));
  LATHE_TRY(const std::vector<ReportSubject> subjects, subjects_of(line.positionals, *store));
  LATHE_TRY(Report gathered, gather_report(*store, subjects));
  gathered.attempts = std::move(report.attempts);
  return gathered;
}

} // namespace

int report_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(arguments))
    return *code;
  const auto report = gather(line);
  if (!report.ok())
    return fail(report.error());
  if (const Status written = write(line, *report); !written.ok())
    return fail(written.error());
  for (const Error& missing : report->missing)
    fail(missing);
  return report->missing.empty() ? 0 : 1;
}

} // namespace lathe
