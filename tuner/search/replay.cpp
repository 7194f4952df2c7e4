#include "tuner/search/replay.h"

#include "tuner/search/engine.h"
#include "tuner/search/under_way.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace lathe {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::size_t tune_batch = 16; // of `lathe tune` on a GPU

using Records = std::unordered_map<Point, const RecordedSpace::Record*, search::PointHash>;

// Processor time of this thread: the search runs in it alone, and other load on the machine does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The clock of a tuning that compiles on several workers and measures on one device.
class Pipeline {
public:
  explicit Pipeline(std::size_t workers) : workers_(std::max<std::size_t>(1, workers), 0.0) {}

  double now() const { return now_; }
  // Asked for now: when it is compiled.
  double compile(const RecordedSpace::Record& record) {
    const auto worker = std::ranges::min_element(workers_);
    return *worker = std::max(*worker, now_) + record.compile_seconds;
  }
  // The next on the device, compiled at that time: until its result is known.
  void measure(const RecordedSpace::Record& record, double compiled) {
    device_ = std::max(device_, compiled) + (record.seconds - record.compile_seconds);
    now_ = std::max(now_, device_);
  }
  // Something else runs on the device.
  void occupy_device(double seconds) {
    device_ = std::max(device_, now_) + seconds;
    now_ = std::max(now_, device_);
  }

private:
  std::vector<double> workers_; // when each is free
  double device_ = 0, now_ = 0;
};

ReplayRun run_once(Search& engine, const RecordedSpace& space, const Records& records,
                   const ReplayOptions& options, std::uint64_t seed) {
  ReplayRun run{seed, {}, {}, {}, {}, 0};
  Pipeline pipeline(options.workers);
  UnderWay outstanding(space.parameters);
  std::unordered_map<Point, double, search::PointHash> compiled; // of what is outstanding: when
  std::size_t asked = 0;
  double best = infinity, seconds = 0;
  const auto timed = [&](auto&& work) {
    const double start = thread_seconds();
    auto result = work();
    run.engine_seconds += thread_seconds() - start;
    return result;
  };
  const std::size_t batch = std::max<std::size_t>(1, options.batch);
  const Pace pace(tune_batch);
  bool is_exhausted = false;
  std::size_t untold = 0; // results to tell before the next are asked for
  while (run.best.size() < options.budget) {
    const std::size_t known = run.best.size();
    const std::size_t under_way = options.paced ? pace.under_way(known) : std::max(batch, options.in_flight);
    while (untold == 0 && !is_exhausted && asked < options.budget &&
           outstanding.size() + (options.paced ? 1 : batch) <= under_way) {
      const std::size_t room = options.paced ? under_way - outstanding.size() : batch;
      const std::size_t wanted = std::min(room, options.budget - asked);
      const std::vector<Point> points = timed([&] { return engine.ask(wanted); });
      for (const Point& point : points) {
        compiled[point] = pipeline.compile(*records.at(point));
        outstanding.add(point);
      }
      asked += points.size();
      is_exhausted = points.size() < wanted;
    }
    if (untold == 0)
      untold = std::min(outstanding.size(), options.paced ? pace.together(known) : 1);
    if (outstanding.empty())
      break;
    const Point next = outstanding.take(1).front();
    --untold;
    const RecordedSpace::Record& record = *records.at(next);
    if (record.succeeded)
      best = std::min(best, record.cost);
    seconds += record.seconds;
    pipeline.measure(record, compiled.extract(next).mapped());
    run.best.push_back(best);
    run.seconds.push_back(seconds);
    run.clock.push_back(pipeline.now());
    run.observations.push_back({next, record.succeeded, record.cost, record.seconds});
    if (options.paced)
      outstanding.tell(next, record.seconds);
    timed([&] {
      engine.tell(run.observations.back());
      return 0;
    });
    if (untold == 0)
      while (const std::optional<Point> wanted = timed([&] { return engine.wants_counters(); })) {
        const std::optional<Counters>& counters = records.at(*wanted)->counters;
        if (counters)
          pipeline.occupy_device(options.counter_seconds);
        engine.tell_counters(*wanted, counters);
      }
  }
  return run;
}

// The costs of all records in rising order, failures as infinity.
std::vector<double> sorted_costs(const RecordedSpace& space) {
  std::vector<double> costs;
  for (const auto& record : space.records)
    costs.push_back(record.succeeded ? record.cost : infinity);
  std::ranges::sort(costs);
  return costs;
}

// Expectation of f(best cost) after `draws` draws without replacement from the sorted costs.
template <class F> double expect_best(const std::vector<double>& costs, std::size_t draws, F f) {
  const double n = static_cast<double>(costs.size());
  if (draws >= costs.size())
    return f(costs.front());
  // none: the probability that none of the first i costs is drawn, by its ratio from i to i + 1.
  double none = 1, sum = 0;
  for (std::size_t i = 0; i < costs.size() && none > 1e-15; ++i) {
    const double left = n - static_cast<double>(i);
    const double next = std::max(0.0, none * (left - static_cast<double>(draws)) / left);
    sum += (none - next) * f(costs[i]);
    none = next;
  }
  return sum;
}

double median_of_sorted(const std::vector<double>& costs) {
  std::vector<double> finite;
  for (double cost : costs)
    if (std::isfinite(cost))
      finite.push_back(cost);
  const std::size_t middle = finite.size() / 2;
  return finite.size() % 2 ? finite[middle] : (finite[middle - 1] + finite[middle]) / 2;
}

// Expected best cost of the baseline; a draw in which everything failed counts as the worst cost.
double baseline_cost(const std::vector<double>& costs, std::size_t draws) {
  double worst = 0;
  for (double cost : costs)
    if (std::isfinite(cost))
      worst = cost;
  return expect_best(costs, draws, [&](double cost) { return std::isfinite(cost) ? cost : worst; });
}

std::size_t horizon_of(const std::vector<double>& costs) {
  const double optimum = costs.front();
  const double median = median_of_sorted(costs);
  const double target = median - 0.95 * (median - optimum);
  std::size_t low = 1, high = costs.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (baseline_cost(costs, middle) <= target)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

} // namespace

double ReplayResult::fraction(const ReplayRun& run, std::size_t evaluations) const {
  if (run.best.empty() || evaluations == 0)
    return 0;
  const double best = run.best[std::min(evaluations, run.best.size()) - 1];
  return std::isfinite(best) ? optimum / best : 0;
}

double ReplayResult::mean_fraction(std::size_t evaluations) const {
  double sum = 0;
  for (const ReplayRun& run : runs)
    sum += fraction(run, evaluations);
  return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

double ReplayResult::standard_error(std::size_t evaluations) const {
  if (runs.size() < 2)
    return 0;
  const double mean = mean_fraction(evaluations), n = static_cast<double>(runs.size());
  double squares = 0;
  for (const ReplayRun& run : runs)
    squares += std::pow(fraction(run, evaluations) - mean, 2);
  return std::sqrt(squares / (n - 1) / n);
}

std::optional<std::size_t> ReplayResult::evaluations_to(const ReplayRun& run, double target) const {
  for (std::size_t i = 0; i < run.best.size(); ++i)
    if (std::isfinite(run.best[i]) && optimum / run.best[i] >= target)
      return i + 1;
  return {};
}

std::optional<double> ReplayResult::seconds_to(const ReplayRun& run, double target) const {
  const auto evaluations = evaluations_to(run, target);
  return evaluations ? std::optional(run.clock[*evaluations - 1]) : std::nullopt;
}

double ReplayResult::engine_seconds_per_evaluation() const {
  double seconds = 0;
  std::size_t evaluations = 0;
  for (const ReplayRun& run : runs) {
    seconds += run.engine_seconds;
    evaluations += run.best.size();
  }
  return evaluations ? seconds / static_cast<double>(evaluations) : 0;
}

Result<ReplayResult> replay(const RecordedSpace& space, const ReplayOptions& options) {
  Records records;
  std::vector<Point> points;
  for (const auto& record : space.records) {
    records.emplace(record.point, &record);
    points.push_back(record.point);
  }
  std::vector<std::unique_ptr<Search>> engines;
  ReplayResult result;
  result.optimum = space.best_cost();
  result.runs.resize(options.seeds);

  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < options.seeds; i = next++) {
      const std::uint64_t seed = options.first_seed + i;
      auto engine = search::make_search(search::domain_of(space.parameters, points),
                                        {options.technique, seed, options.start,
                                         options.priors.empty() ? options.prior : options.priors[i],
                                         options.effort_weight, options.patience});
      if (!engine.ok()) {
        const std::scoped_lock lock(mutex);
        failure = engine.error();
        return;
      }
      result.runs[i] = run_once(**engine, space, records, options, seed);
    }
  };
  const unsigned cores =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::min<std::size_t>(cores, options.seeds); ++i)
      threads.emplace_back(work);
    work();
  }
  if (failure)
    return *failure;
  return result;
}

double random_fraction(const RecordedSpace& space, std::size_t evaluations) {
  const std::vector<double> costs = sorted_costs(space);
  const double optimum = costs.front();
  return expect_best(costs, evaluations,
                     [&](double cost) { return std::isfinite(cost) ? optimum / cost : 0.0; });
}

std::size_t performance_horizon(const RecordedSpace& space) {
  return horizon_of(sorted_costs(space));
}

double performance_score(const RecordedSpace& space, const ReplayResult& result) {
  const std::vector<double> costs = sorted_costs(space);
  // Replays that stop before the horizon are scored up to where they stop.
  std::size_t horizon = horizon_of(costs);
  for (const ReplayRun& run : result.runs)
    horizon = std::min(horizon, std::max<std::size_t>(1, run.best.size()));
  double all_seconds = 0;
  for (const auto& record : space.records)
    all_seconds += record.seconds;
  const bool timed = all_seconds > 0;
  const double seconds_each = timed ? all_seconds / static_cast<double>(space.records.size()) : 1;
  double worst = 0;
  for (double cost : costs)
    if (std::isfinite(cost))
      worst = cost;

  constexpr std::size_t points = 50;
  double sum = 0;
  std::size_t used = 0;
  for (std::size_t k = 1; k <= points; ++k) {
    const double time = static_cast<double>(horizon) * seconds_each * static_cast<double>(k) / points;
    const auto draws = static_cast<std::size_t>(time / seconds_each);
    if (draws == 0)
      continue;
    const double baseline = baseline_cost(costs, draws);
    if (baseline <= result.optimum)
      continue;
    double mean = 0;
    for (const ReplayRun& run : result.runs) {
      std::size_t evaluations = std::min(draws, run.best.size());
      if (timed)
        evaluations =
            static_cast<std::size_t>(std::ranges::upper_bound(run.seconds, time) - run.seconds.begin());
      // The baseline has drawn at least once by now, whatever the first evaluation of this run took.
      evaluations = std::max<std::size_t>(1, evaluations);
      const double best = run.best[evaluations - 1];
      mean += (std::isfinite(best) ? best : worst) / static_cast<double>(result.runs.size());
    }
    sum += (baseline - mean) / (baseline - result.optimum);
    ++used;
  }
  return used ? sum / static_cast<double>(used) : 0;
}

} // namespace lathe
