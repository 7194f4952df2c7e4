#include "tuner/app/tuning_session.h"

#include "tuner/app/finalists.h"
#include "tuner/app/transfer.h"
#include "tuner/base/timestamp.h"
#include "tuner/compile/compile.h"
#include "tuner/measure/host_executor/host_executor.h"
#include "tuner/search/pace.h"
#include "tuner/search/under_way.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <iterator>
#include <optional>
#include <utility>

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

// What takes longer than so many times a copy of the same bytes wants an explanation: reports explain what
// takes 1.35 times, and copies differ by some percent from one run to the next.
constexpr double FAR_FROM_COPY = 1.3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// To the millisecond: how long a search took to find something is read off these.
std::string present() {
  return utc_now(TimestampPrecision::milliseconds);
}

// The state of one search that survives from batch to batch.
class Session {
public:
  Session(const Workload& workload, const Space& space, Backend& backend, Store& store,
          const SessionOptions& options)
      : workload_(workload), backend_(backend), store_(store), options_(options),
        key_(store_key(workload, backend.device())), names_(workload.spec->knob_names()),
        under_way_(space.parameters()),
        pace_(options.technique == "random" ? Pace::blind(options.batch) : Pace(options.batch)) {}

  Status start(Search& search, const Space& space);
  // Asks for as many configurations as may be under way; those that were not before.
  std::vector<KnobValues> ask(Search& search, const Space& space);
  // Evaluates the first `count` of what is under way, tells and records what comes of it. Where `more` are
  // wanted, they are asked for meanwhile: what is told now does not count for them, whatever takes longer.
  Status evaluate(Search& search, const Space& space, std::size_t count, std::size_t more);
  // Asks, evaluates and tells until the budget is spent, the space exhausted or `stop` set.
  Status search(Search& search, const Space& space, const std::atomic<bool>& stop,
                const ProgressCallback& progress);
  Status finish(const KnobValues& defaults, bool with_defaults);
  // Whether an evaluation of this session is within reach of the best of all.
  bool found_contenders() const {
    return best_fresh_us_ > 0 && best_fresh_us_ <= WITHIN_REACH * result.progress.best_us;
  }
  Status keep(const StandingResult& standing);
  Status profile();
  Status read_counters(const Space& space, const std::atomic<bool>& stop);

  SessionResult result;
  std::vector<Ranked> ranked;
  std::vector<Observation> observations; // in order

  void tell(Search& search, Observation observation);
  void observe(const Measurement& measurement, const KnobValues& knobs);
  void update_clock() { result.progress.seconds = seconds_since(start_); }

private:
  // How many configurations to ask for now.
  std::size_t wanted() const;
  std::vector<Point> choose(Search& search, std::size_t count);
  Status record(Search& search, const std::vector<Point>& points,
                const std::vector<KnobValues>& configurations, const std::vector<Measurement>& measured);

  const Workload& workload_;
  Backend& backend_;
  Store& store_;
  const SessionOptions& options_;
  StoreKey key_;
  std::vector<std::string> names_;
  UnderWay under_way_; // their compilation may have begun
  Pace pace_;
  double best_fresh_us_ = 0; // of what this session measured to the end
  Clock::time_point start_ = Clock::now();
};

void Session::observe(const Measurement& measurement, const KnobValues& knobs) {
  SessionProgress& progress = result.progress;
  ++progress.evaluated;
  if (measurement.outcome != Outcome::ok) {
    ++progress.failed;
    ++result.failures[measurement.outcome];
    result.failure_example.try_emplace(measurement.outcome, measurement.reason);
    return;
  }
  if (!measurement.timing.stopped_early)
    ranked.push_back({knobs, measurement.timing.median_us});
  if (progress.best_us == 0 || measurement.timing.median_us < progress.best_us)
    progress.best_us = measurement.timing.median_us;
}

void Session::tell(Search& search, Observation observation) {
  search.tell(observation);
  under_way_.tell(observation.point, observation.seconds);
  observations.push_back(std::move(observation));
}

Status Session::start(Search& search, const Space& space) {
  LATHE_TRY(const std::vector<StoredEvaluation> stored, store_.evaluations(key_));
  for (const StoredEvaluation& evaluation : stored) {
    const auto knobs = knobs_in_order(evaluation, names_);
    const auto point = knobs ? space.point_of(*knobs) : std::nullopt;
    if (!point || !space.contains(*point))
      continue;
    tell(search,
         {*point, evaluation.measurement.outcome == Outcome::ok, evaluation.measurement.timing.median_us,
          evaluation.measurement.compile_seconds + evaluation.measurement.run_seconds});
    observe(evaluation.measurement, *knobs);
  }
  return tell_stored_counters(search, space, store_, key_, names_);
}

std::size_t Session::wanted() const {
  const SessionProgress& now = result.progress;
  const std::size_t most = backend_.device().is_host
                               ? options_.batch
                               : pace_.under_way(observations.size()); // nothing overlaps there
  const std::size_t wanted =
      std::min(most, static_cast<std::size_t>(std::max(0, now.planned - now.evaluated)));
  return wanted - std::min(wanted, under_way_.size());
}

std::vector<Point> Session::choose(Search& search, std::size_t count) {
  const Clock::time_point start = Clock::now();
  std::vector<Point> points = count > 0 ? search.ask(count) : std::vector<Point>{};
  result.load.choose_s += seconds_since(start);
  return points;
}

std::vector<KnobValues> Session::ask(Search& search, const Space& space) {
  const Clock::time_point start = Clock::now();
  std::vector<KnobValues> fresh;
  for (Point& point : choose(search, wanted())) {
    fresh.push_back(space.values(point));
    under_way_.add(std::move(point));
  }
  result.load.choose_alone_s += seconds_since(start);
  return fresh;
}

Status Session::evaluate(Search& search, const Space& space, std::size_t count, std::size_t more) {
  const std::vector<Point> points = under_way_.take(count);
  std::vector<KnobValues> configurations;
  for (const Point& point : points)
    configurations.push_back(space.values(point));
  std::future<std::vector<Point>> coming;
  if (more > 0)
    coming = std::async(std::launch::async, [&] {
      std::vector<Point> chosen = choose(search, more);
      std::vector<KnobValues> announced;
      for (const Point& point : chosen)
        announced.push_back(space.values(point));
      backend_.announce(announced);
      return chosen;
    });
  const Result<std::vector<Measurement>> measured =
      backend_.evaluate(configurations, result.progress.best_us);
  if (coming.valid()) {
    const Clock::time_point start = Clock::now();
    for (Point& point : coming.get())
      under_way_.add(std::move(point));
    result.load.choose_alone_s += seconds_since(start);
  }
  if (!measured.ok())
    return measured.error();
  return record(search, points, configurations, *measured);
}

Status Session::record(Search& search, const std::vector<Point>& points,
                       const std::vector<KnobValues>& configurations,
                       const std::vector<Measurement>& measured) {
  const Clock::time_point start = Clock::now();
  std::vector<StoredEvaluation> evaluations;
  for (std::size_t i = 0; i < measured.size(); ++i)
    evaluations.push_back(
        {configurations[i], measured[i], std::string(search.author(points[i])), present(), names_});
  LATHE_CHECK(store_.record_all(key_, names_, evaluations));
  for (std::size_t i = 0; i < measured.size(); ++i) {
    tell(search, {points[i], measured[i].outcome == Outcome::ok, measured[i].timing.median_us,
                  measured[i].compile_seconds + measured[i].run_seconds});
    observe(measured[i], configurations[i]);
    const Timing& timing = measured[i].timing;
    if (measured[i].outcome == Outcome::ok && !timing.stopped_early &&
        (best_fresh_us_ == 0 || timing.median_us < best_fresh_us_))
      best_fresh_us_ = timing.median_us;
    ++result.progress.fresh;
  }
  result.load.record_s += seconds_since(start);
  update_clock();
  return Done{};
}

// Results are told in an order that depends on what was told before alone, and in portions that depend on
// their number alone: the same results lead to the same search, however many compile or measure at a time,
// and however long choosing takes.
Status Session::search(Search& search, const Space& space, const std::atomic<bool>& stop,
                       const ProgressCallback& progress) {
  SessionProgress& now = result.progress;
  const bool overlaps = !backend_.device().is_host;
  CounterReading guiding; // counters that the techniques asked for
  while (now.evaluated < now.planned && now.seconds < options_.seconds && !stop) {
    if (options_.plateau_confidence > 0 && has_plateaued(observations, options_.plateau_confidence)) {
      result.plateaued = true;
      break;
    }
    const std::size_t together = overlaps ? pace_.together(observations.size()) : options_.batch;
    std::size_t more = wanted();
    if (!overlaps || under_way_.size() < together) { // what is evaluated now has to be asked for first
      backend_.announce(ask(search, space));
      more = 0;
    }
    if (under_way_.empty()) {
      result.exhausted = true;
      break;
    }
    LATHE_CHECK(evaluate(search, space, std::min(under_way_.size(), together), more));
    LATHE_CHECK(tell_wanted_counters(search, space, backend_, store_, key_, names_, guiding, stop));
    if (progress)
      progress(now);
  }
  result.profile_problem = guiding.problem;
  return Done{};
}

Status Session::keep(const StandingResult& standing) {
  result.winner = standing.winner;
  result.default_kept = standing.default_kept;
  update_clock();
  result.winner.evaluations = result.progress.evaluated;
  return store_.record_winner(result.winner);
}

Status Session::finish(const KnobValues& defaults, bool with_defaults) {
  std::optional<Comparison> of_defaults;
  if (with_defaults) {
    auto compared = backend_.compare(defaults);
    if (compared.ok())
      of_defaults = *compared;
    else
      result.default_problem = compared.error().sentence();
  }
  const double code_band =
      of_defaults && options_.default_is_raw_code ? std::abs(of_defaults->ratio - 1) : 0.0;
  StoredWinner& winner = result.winner;
  bool found = false;
  FinalResult last = compare_finalists(backend_, ranked, names_, {options_.finalists, code_band});
  std::ranges::move(last.rejected, std::back_inserter(result.rejected));
  if (last.winner) {
    winner.knobs = std::move(last.winner->knobs);
    winner.comparison = last.winner->comparison;
    found = true;
  } else if (of_defaults) {
    winner.comparison = *of_defaults;
    winner.comparison.noise_band = std::max(winner.comparison.noise_band, code_band);
    winner.knobs = defaults;
    result.default_kept = true;
    found = true;
  }
  update_clock();
  if (!found)
    return Done{};
  winner.key = key_;
  winner.knob_names = names_;
  winner.copy_floor_us = backend_.copy_floor_us();
  winner.evaluations = result.progress.evaluated;
  winner.seconds = result.progress.seconds;
  winner.protocol = std::string(backend_.protocol());
  winner.timestamp = present();
  winner.lathe_version = LATHE_VERSION;
  winner.is_host = backend_.device().is_host;
  winner.architecture = backend_.device().architecture();
  winner.problem = workload_.problem;
  winner.types = workload_.types;
  return store_.record_winner(winner);
}

// Counters of the raw kernel and of what beat it. Where the device denies them, tuning is none the worse.
// What was read before is not read again: the raw kernel's in this run, and a template's, whose hash its key
// has.
Status Session::profile() {
  LATHE_TRY(const std::vector<StoredProfile> stored, store_.profiles(key_));
  const auto take = [&](const std::optional<KnobValues>& knobs, std::optional<Profile>& place) -> Status {
    const Clock::time_point start = Clock::now();
    const Result<Profile> seen = backend_.profile(knobs);
    result.profile_seconds += seconds_since(start);
    if (!seen.ok()) {
      result.profile_problem = seen.error().sentence();
      return Done{};
    }
    place = *seen;
    return store_.record_profile(key_, {knobs, names_, *seen, present()});
  };
  result.raw_profile = options_.raw_profile;
  if (!result.raw_profile)
    LATHE_CHECK(take(std::nullopt, result.raw_profile));
  if (!result.raw_profile || result.winner.knobs.empty() || result.default_kept)
    return Done{};
  const auto known = std::ranges::find_if(stored, [&](const StoredProfile& profile) {
    return profile.knobs == result.winner.knobs && profile.knob_names == names_;
  });
  if (known == stored.end())
    return take(result.winner.knobs, result.winner_profile);
  result.winner_profile = known->profile;
  return Done{};
}

Status Session::read_counters(const Space& space, const std::atomic<bool>& stop) {
  std::vector<KnobValues> ran;
  for (const Observation& observation : observations)
    if (observation.succeeded)
      ran.push_back(space.values(observation.point));
  LATHE_TRY(result.counters, record_counters(backend_, store_, key_, names_, std::move(ran),
                                             options_.counters_seconds, options_.seed, stop));
  return Done{};
}

} // namespace

StoreKey store_key(const Workload& workload, const DeviceInfo& device) {
  std::string compiler;
  if (device.is_host) {
    const auto found = host_compiler();
    compiler = found.ok() ? *found : "unknown";
  } else {
    const auto toolkit = find_cuda_toolkit();
    compiler = toolkit.ok() ? "CUDA " + toolkit->version : "unknown";
  }
  return {workload.spec->name, workload.spec->template_hash, workload.key(),
          device.name,         device.driver_version,        compiler};
}

Result<Space> workload_space(const Workload& workload, const KnobValues& defaults) {
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < workload.spec->knobs.size(); ++i) {
    const Knob& knob = workload.spec->knobs[i];
    Parameter parameter{knob.name, knob.values};
    if (i < defaults.size() &&
        std::find(knob.values.begin(), knob.values.end(), defaults[i]) == knob.values.end())
      parameter.values.insert(std::upper_bound(parameter.values.begin(), parameter.values.end(), defaults[i]),
                              defaults[i]);
    parameters.push_back(std::move(parameter));
  }
  std::vector<Expression> conditions;
  for (const Condition& condition : workload.spec->conditions)
    conditions.push_back(condition.expression);
  return Space::build(std::move(parameters), conditions,
                      [&](std::string_view name) { return workload.lookup(name); });
}

Result<SessionResult> tune_workload(const Workload& workload, Backend& backend, Store& store,
                                    const SessionOptions& options, const std::atomic<bool>& stop,
                                    const ProgressCallback& progress) {
  LATHE_TRY(const KnobValues defaults, default_knobs(workload));
  LATHE_TRY(const Space space, workload_space(workload, defaults));
  SearchOptions search_options;
  search_options.technique = options.technique;
  search_options.seed = options.seed;
  search_options.threads = options.choosing_threads;
  const auto default_point = space.point_of(defaults);
  const bool default_valid = default_point && space.contains(*default_point);
  if (default_valid) // first, so that everything later is seen against it
    search_options.start = {*default_point};
  EarlierResults earlier;
  if (options.transfer) {
    LATHE_TRY(earlier, earlier_results(store, store_key(workload, backend.device()), space, defaults));
    search_options.prior = earlier.observations;
  }
  LATHE_TRY(const std::unique_ptr<Search> search, make_search(space, search_options));

  Session session(workload, space, backend, store, options);
  SessionProgress& now = session.result.progress;
  const double valid = space.valid_count().value;
  now.planned = static_cast<int>(
      std::min<double>(options.evaluations, std::ceil(std::min(1.0, options.space_fraction) * valid)));
  session.result.guided_by = earlier.source;
  LATHE_CHECK(session.start(*search, space));
  LATHE_CHECK(backend.prepare(workload, options.measure, session.ask(*search, space)));
  now.raw_us = backend.raw_timing().median_us;
  now.copy_floor_us = backend.copy_floor_us();

  if (!default_valid)
    session.result.default_problem =
        "the default configuration does not satisfy the conditions for this problem";
  LATHE_CHECK(session.search(*search, space, stop, progress));
  session.result.search_seconds = now.seconds;
  session.result.interrupted = stop;
  session.result.exhausted |= now.evaluated >= valid;
  session.result.remaining_gap = estimate_remaining_gap(session.observations, valid);
  session.result.reference_check = backend.reference_check();
  const bool stands =
      options.standing && !options.standing->winner.knobs.empty() && !session.found_contenders();
  if (!stop)
    LATHE_CHECK(stands ? session.keep(*options.standing) : session.finish(defaults, default_valid));
  if (!stop && options.profile && !backend.device().is_host &&
      (options.profile_near_copy || is_far_from_copy(session.result.winner)))
    LATHE_CHECK(session.profile());
  if (options.counters_seconds > 0 && !backend.device().is_host)
    LATHE_CHECK(session.read_counters(space, stop));
  return std::move(session.result);
}

bool is_far_from_copy(const StoredWinner& winner) {
  return winner.copy_floor_us > 0 && winner.comparison.tuned.median_us > FAR_FROM_COPY * winner.copy_floor_us;
}

Result<SessionResult> assess_workload(const Workload& workload, Backend& backend, Store& store,
                                      const Candidates& candidates, const SessionOptions& options,
                                      const std::atomic<bool>& stop) {
  LATHE_CHECK(backend.prepare(workload, options.measure));
  LATHE_TRY(const KnobValues defaults, default_knobs(workload));
  LATHE_TRY(const Space space, workload_space(workload, defaults));
  // What served this size best before is tried beside the winners of now.
  std::vector<KnobValues> served = candidates.winners;
  LATHE_TRY(const std::vector<StoredWinner> stored, store.winners(workload.spec->name));
  const StoreKey key = store_key(workload, backend.device());
  for (const StoredWinner& winner : stored)
    if (winner.key.template_hash == key.template_hash && winner.key.workload == key.workload &&
        winner.key.device == key.device && winner.knob_names == workload.spec->knob_names())
      served.push_back(winner.knobs);
  // What a winner is tied to may be its own problem's size: the nearest that this one admits is tried.
  std::vector<KnobValues> seen;
  Random random(options.seed);
  const auto admitted = [&](const std::vector<KnobValues>& wanted) {
    std::vector<KnobValues> valid;
    for (const KnobValues& knobs : wanted)
      if (const auto point = space.point_of(knobs)) {
        const Point near = space.repair(*point, random);
        KnobValues values = space.values(near);
        if (space.contains(near) && std::find(seen.begin(), seen.end(), values) == seen.end()) {
          seen.push_back(values);
          valid.push_back(std::move(values));
        }
      }
    return valid;
  };
  Session session(workload, space, backend, store, options);
  SessionProgress& now = session.result.progress;
  now.raw_us = backend.raw_timing().median_us;
  now.copy_floor_us = backend.copy_floor_us();
  const auto evaluate = [&](const std::vector<KnobValues>& portion, double best_us) -> Status {
    LATHE_TRY(const std::vector<Measurement> measured, backend.evaluate(portion, best_us));
    for (std::size_t i = 0; i < measured.size(); ++i)
      session.observe(measured[i], portion[i]);
    session.update_clock();
    return Done{};
  };
  LATHE_CHECK(evaluate(admitted(served), 0));
  const std::vector<KnobValues> further = admitted(candidates.further);
  for (std::size_t at = 0; at < further.size() && now.seconds < options.seconds && !stop;) {
    const std::size_t end = std::min(at + options.batch, further.size());
    LATHE_CHECK(evaluate({further.begin() + static_cast<std::ptrdiff_t>(at),
                          further.begin() + static_cast<std::ptrdiff_t>(end)},
                         now.best_us));
    at = end;
  }
  const auto default_point = space.point_of(defaults);
  LATHE_CHECK(session.finish(defaults, default_point && space.contains(*default_point)));
  if (options.profile && !backend.device().is_host && is_far_from_copy(session.result.winner))
    LATHE_CHECK(session.profile());
  return std::move(session.result);
}

} // namespace lathe
