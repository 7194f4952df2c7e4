// `lathe replay`: runs a search on recorded spaces and says how good it is. Needs no device.
#include "tuner/search/replay.h"

#include "tuner/app/options.h"
#include "tuner/base/files.h"
#include "tuner/search/replay_plot.h"
#include "tuner/search/replay_prior.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

namespace lathe {
namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

constexpr std::array<std::size_t, 5> marks = {25, 50, 100, 200, 400};
constexpr double near_optimum = 0.95;

struct Replayed {
  std::string file;
  RecordedSpace space;
  ReplayResult result;
  std::size_t prior_observations = 0;
};

std::string title(const Replayed& item) {
  if (item.space.kernel.empty() && item.space.device.empty())
    return std::filesystem::path(item.file).filename().string();
  return item.space.kernel + " on " + item.space.device;
}

std::vector<std::size_t> marks_within(std::size_t budget) {
  std::vector<std::size_t> within;
  for (std::size_t mark : marks)
    if (mark <= budget)
      within.push_back(mark);
  if (within.empty() || within.back() != std::min(budget, marks.back()))
    within.push_back(budget);
  return within;
}

// Median over the runs of the evaluations to 95 % of the optimum; nothing when most runs do not get there.
std::optional<std::size_t> median_to_near_optimum(const ReplayResult& result) {
  std::vector<std::size_t> counts;
  for (const ReplayRun& run : result.runs)
    if (auto count = result.evaluations_to(run, near_optimum))
      counts.push_back(*count);
  const std::size_t middle = (result.runs.size() - 1) / 2;
  std::ranges::sort(counts);
  return middle < counts.size() ? std::optional(counts[middle]) : std::nullopt;
}

// Mean over the runs of what `reached` gives; a run that does not get there counts as `otherwise` of it.
template <class Reached, class Otherwise>
double mean_to_near_optimum(const ReplayResult& result, Reached reached, Otherwise otherwise) {
  double sum = 0;
  for (const ReplayRun& run : result.runs) {
    const auto value = reached(run);
    sum += value ? static_cast<double>(*value) : otherwise(run);
  }
  return sum / static_cast<double>(result.runs.size());
}

double mean_evaluations_to_near_optimum(const ReplayResult& result) {
  return mean_to_near_optimum(
      result, [&](const ReplayRun& run) { return result.evaluations_to(run, near_optimum); },
      [](const ReplayRun& run) { return static_cast<double>(run.best.size()); });
}

double mean_seconds_to_near_optimum(const ReplayResult& result) {
  return mean_to_near_optimum(
      result, [&](const ReplayRun& run) { return result.seconds_to(run, near_optimum); },
      [](const ReplayRun& run) { return run.clock.empty() ? 0 : run.clock.back(); });
}

std::size_t runs_near_optimum(const ReplayResult& result) {
  return static_cast<std::size_t>(std::ranges::count_if(result.runs, [&](const ReplayRun& run) {
    return result.evaluations_to(run, near_optimum).has_value();
  }));
}

// How the estimate of the remaining gap did after `evaluations`: the true gap of the runs, what was
// estimated, and the share of the runs in which the true one was not larger.
struct GapEstimates {
  double actual = 0, estimated = 0, held = 0;
};

GapEstimates gap_estimates(const Replayed& item, std::size_t evaluations) {
  GapEstimates mean;
  const double share = 1 / static_cast<double>(item.result.runs.size());
  const auto configurations = static_cast<double>(item.space.records.size());
  for (const ReplayRun& run : item.result.runs) {
    const std::span<const Observation> seen(run.observations.data(),
                                            std::min(evaluations, run.observations.size()));
    const double actual = 1 - item.result.fraction(run, evaluations);
    const double estimated = estimate_remaining_gap(seen, configurations).fraction;
    mean.actual += share * actual;
    mean.estimated += share * estimated;
    mean.held += actual <= estimated ? share : 0;
  }
  return mean;
}

std::string table(const std::vector<Replayed>& all, const ReplayOptions& options) {
  const auto columns = marks_within(options.budget);
  std::string text =
      fmt::format("technique {}, {} seeds; optimum / best so far after this many evaluations\n{:<42}",
                  options.technique, options.seeds, "space");
  for (std::size_t mark : columns)
    text += fmt::format(" {:>7}", mark);
  text += "   to 95 %    score\n";
  std::vector<double> mean(columns.size()), random(columns.size());
  double score_mean = 0;
  const double share = 1 / static_cast<double>(all.size());
  for (const Replayed& item : all) {
    text += fmt::format("{:<42}", title(item));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double fraction = item.result.mean_fraction(columns[i]);
      mean[i] += share * fraction;
      random[i] += share * random_fraction(item.space, columns[i]);
      text += fmt::format(" {:>7.3f}", fraction);
    }
    const auto near = median_to_near_optimum(item.result);
    const double score = performance_score(item.space, item.result);
    score_mean += share * score;
    text += fmt::format(" {:>9} {:>8.3f}\n", near ? std::to_string(*near) : "-", score);
  }
  text += fmt::format("{:<42}", "mean");
  for (double value : mean)
    text += fmt::format(" {:>7.3f}", value);
  text += fmt::format(" {:>9} {:>8.3f}\n{:<42}", "", score_mean, "random search (exact expectation)");
  for (double value : random)
    text += fmt::format(" {:>7.3f}", value);
  return text + "\n";
}

Json to_json(const std::vector<Replayed>& all, const ReplayOptions& options) {
  Json spaces = Json::array();
  for (const Replayed& item : all) {
    Json fractions = Json::array();
    for (std::size_t mark : marks_within(options.budget)) {
      const GapEstimates gap = gap_estimates(item, mark);
      fractions.push_back({{"evaluations", mark},
                           {"fraction_of_optimum", item.result.mean_fraction(mark)},
                           {"standard_error", item.result.standard_error(mark)},
                           {"random", random_fraction(item.space, mark)},
                           {"remaining_gap", gap.actual},
                           {"estimated_remaining_gap", gap.estimated},
                           {"gap_estimates_that_held", gap.held}});
    }
    const auto near = median_to_near_optimum(item.result);
    spaces.push_back(
        {{"file", item.file},
         {"kernel", item.space.kernel},
         {"device", item.space.device},
         {"configurations", item.space.records.size()},
         {"prior_observations", item.prior_observations},
         {"optimum", item.result.optimum},
         {"results", fractions},
         {"median_evaluations_to_95_percent", near ? Json(*near) : Json()},
         {"mean_evaluations_to_95_percent", mean_evaluations_to_near_optimum(item.result)},
         {"mean_simulated_seconds_to_95_percent", mean_seconds_to_near_optimum(item.result)},
         {"runs_within_5_percent", runs_near_optimum(item.result)},
         {"performance_score", performance_score(item.space, item.result)},
         {"performance_horizon_evaluations", performance_horizon(item.space)},
         {"engine_milliseconds_per_evaluation", 1e3 * item.result.engine_seconds_per_evaluation()}});
  }
  return {{"schema", "lathe-replay-1"}, {"technique", options.technique}, {"seeds", options.seeds},
          {"budget", options.budget},   {"batch", options.batch},         {"in_flight", options.in_flight},
          {"workers", options.workers}, {"patience", options.patience},   {"spaces", spaces}};
}

std::string to_csv(const std::vector<Replayed>& all) {
  std::string text = "file,kernel,device,seed,evaluations,cost,fraction_of_optimum,recorded_seconds\n";
  for (const Replayed& item : all)
    for (const ReplayRun& run : item.result.runs)
      for (std::size_t i = 0; i < run.best.size(); ++i) {
        const Observation& seen = run.observations[i];
        text += fmt::format("\"{}\",\"{}\",\"{}\",{},{},{},{:.6f},{:.3f}\n", item.file, item.space.kernel,
                            item.space.device, run.seed, i + 1,
                            seen.succeeded ? fmt::format("{}", seen.cost) : "", // empty: it failed
                            item.result.fraction(run, i + 1), run.seconds[i]);
      }
  return text;
}

// The recorded configuration that the text names.
Result<Point> recorded_point(const RecordedSpace& space, const std::string& text) {
  const std::string what = "configuration " + text;
  LATHE_TRY(const auto assignments, parse_assignments(text));
  Point point;
  for (const Parameter& parameter : space.parameters) {
    const auto named =
        std::ranges::find(assignments, parameter.name, &std::pair<std::string, std::string>::first);
    if (named == assignments.end())
      return usage_error(what, "it has no value for \"" + parameter.name + "\"", "name every parameter");
    const auto value = std::ranges::find_if(
        parameter.values, [&](const Value& one) { return to_string(one) == named->second; });
    if (value == parameter.values.end())
      return usage_error(what, "\"" + parameter.name + "\" has no value " + named->second,
                         "name a recorded configuration");
    point.push_back(static_cast<std::uint16_t>(value - parameter.values.begin()));
  }
  if (std::ranges::find(space.records, point, &RecordedSpace::Record::point) == space.records.end())
    return usage_error(what, "it was not recorded", "name a recorded configuration");
  return point;
}

Result<std::vector<Replayed>> replay_all(const std::vector<std::string>& files, ReplayOptions options,
                                         const std::string& prior_file, const PriorChoice& choice,
                                         const std::string& start) {
  std::optional<RecordedSpace> earlier;
  if (!prior_file.empty()) {
    LATHE_TRY(earlier, read_recorded_space(prior_file));
  }
  std::vector<Replayed> all;
  for (const std::string& file : files) {
    LATHE_TRY(RecordedSpace space, read_recorded_space(file));
    if (earlier) {
      LATHE_TRY(options.priors, choose_priors(*earlier, space.parameters, choice, options.seeds));
    }
    if (!start.empty()) {
      LATHE_TRY(const Point point, recorded_point(space, start));
      options.start = {point};
    }
    LATHE_TRY(ReplayResult result, replay(space, options));
    all.push_back({file, std::move(space), std::move(result),
                   options.priors.empty() ? 0 : options.priors.front().size()});
  }
  return all;
}

std::string plot(const std::vector<Replayed>& all, const ReplayOptions& options) {
  std::vector<PlotCurve> curves;
  for (const Replayed& item : all) {
    PlotCurve curve{title(item), {}, {}};
    for (std::size_t i = 1; i <= options.budget; ++i) {
      curve.found.push_back(item.result.mean_fraction(i));
      curve.random.push_back(random_fraction(item.space, i));
    }
    curves.push_back(std::move(curve));
  }
  return plot_replay(
      curves, fmt::format("{}: optimum / best so far, mean of {} seeds", options.technique, options.seeds));
}

} // namespace

int replay_command(const Arguments& arguments) {
  CommandLine line(
      "lathe replay FILE... [options]",
      "Runs a search on recorded spaces (Kernel Tuner caches or T4 files, plain or gzip) in place of a "
      "device.",
      "lathe replay results.T4.json --technique ensemble --budget 100 --seeds 20");
  line.options().add_options()("technique", po::value<std::string>()->default_value("ensemble"),
                               "search technique")("budget", po::value<std::size_t>()->default_value(400),
                                                   "evaluations a run; failed ones count")(
      "seeds", po::value<std::size_t>()->default_value(20), "number of runs, with the seeds 1, 2, ...")(
      "batch", po::value<std::size_t>()->default_value(1), "configurations proposed at once")(
      "in-flight", po::value<std::size_t>()->default_value(0),
      "configurations without a result at a time; 0: each batch is finished before the next")(
      "paced", "as many at a time as lathe tune has on a GPU, in place of --batch and --in-flight")(
      "effort-weight", po::value<double>()->default_value(SearchOptions{}.effort_weight),
      "weigh expected gains against the seconds that evaluating takes: 1 is gain a second, 0 gain alone")(
      "counter-seconds", po::value<double>()->default_value(0),
      "what reading the counters of a configuration takes on the simulated clock")(
      "start", po::value<std::string>()->value_name("CONFIGURATION"),
      "proposed first, such as block_size_x=32,tile=1")("workers", po::value<std::size_t>()->default_value(1),
                                                        "compile workers of the simulated clock")(
      "patience", po::value<std::size_t>()->default_value(SearchOptions{}.patience),
      "evaluations without progress after which the first of several techniques shares them")(
      "threads", po::value<unsigned>()->default_value(0), "runs at a time; 0: one a core")(
      "prior", po::value<std::string>()->value_name("FILE")->default_value(""),
      "recorded results of the same kernel elsewhere")(
      "prior-history", po::value<std::size_t>()->default_value(0),
      "of the prior, what a search of so many configurations by the default finds, another one for each "
      "seed; "
      "0: everything")("prior-change", po::value<std::string>()->default_value("none"),
                       "spoil the prior: shuffled (among the configurations), inverted (the worst said to be "
                       "best), permuted (the values of each knob exchanged), or none")("json", "print JSON")(
      "csv", po::value<std::string>()->value_name("FILE"), "write every run's progress to this file")(
      "plot", po::value<std::string>()->value_name("FILE"), "write an SVG plot to this file");
  if (auto code = line.parse(arguments))
    return *code;
  if (line.positionals.empty())
    return fail(usage_error("lathe replay", "no file is given", "name a recorded space"));
  ReplayOptions options;
  options.technique = line.get<std::string>("technique");
  options.budget = line.get<std::size_t>("budget");
  options.seeds = line.get<std::size_t>("seeds");
  options.batch = line.get<std::size_t>("batch");
  options.in_flight = line.get<std::size_t>("in-flight");
  options.effort_weight = line.get<double>("effort-weight");
  options.counter_seconds = line.get<double>("counter-seconds");
  options.paced = line.has("paced");
  options.workers = line.get<std::size_t>("workers");
  options.patience = line.get<std::size_t>("patience");
  options.threads = line.get<unsigned>("threads");
  constexpr std::size_t most = 1'000'000;
  if (options.budget == 0 || options.seeds == 0 || options.batch == 0 || options.budget > most ||
      options.seeds > most)
    return fail(usage_error("lathe replay", "--budget, --seeds and --batch have to be between 1 and 1000000",
                            "give a positive number"));
  constexpr std::array<std::string_view, 4> changes = {"none", "shuffled", "inverted", "permuted"};
  const auto change = std::ranges::find(changes, line.get<std::string>("prior-change"));
  if (change == changes.end())
    return fail(usage_error("lathe replay", "--prior-change " + line.get<std::string>("prior-change"),
                            "choose one of none, shuffled, inverted, permuted"));
  const PriorChoice choice{line.get<std::size_t>("prior-history"),
                           static_cast<PriorChange>(change - changes.begin()), options.threads};
  const Result<std::vector<Replayed>> all =
      replay_all(line.positionals, options, line.get<std::string>("prior"), choice,
                 line.has("start") ? line.get<std::string>("start") : "");
  if (!all.ok())
    return fail(all.error());
  std::cout << (line.has("json") ? to_json(*all, options).dump(2) + "\n" : table(*all, options));
  if (line.has("csv"))
    if (Status status = write_file(line.get<std::string>("csv"), to_csv(*all)); !status.ok())
      return fail(status.error());
  if (line.has("plot"))
    if (Status status = write_file(line.get<std::string>("plot"), plot(*all, options)); !status.ok())
      return fail(status.error());
  return 0;
}

} // namespace lathe
