// The search's own time: what asking for a configuration and telling its cost take, on CLBlast's Xgemm
// (116,928 valid configurations, all of them laid out) and on a space of 10^9 points that is asked point by
// point; from nothing, and with the results of another search of the same space.
#include "tests/tuner/space/known_spaces.h"
#include "tuner/search/search.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <string>

namespace lathe {
namespace {

Space build(const std::vector<Parameter>& parameters, const std::vector<std::string>& texts) {
  std::vector<Expression> conditions;
  for (const std::string& text : texts)
    conditions.push_back(*Expression::parse(text));
  return *Space::build(parameters, conditions);
}

Space gemm() {
  for (const KnownSpace& known : known_spaces())
    if (known.name == "gemm") {
      std::vector<Parameter> parameters;
      for (const auto& [name, values] : known.parameters)
        parameters.push_back({name, {values.begin(), values.end()}});
      return build(parameters, known.conditions);
    }
  std::abort();
}

// Nine parameters of ten values; the products of neighbours are bounded: 5.4 % of 10^9 points are valid.
Space large() {
  std::vector<Parameter> parameters;
  std::vector<std::string> conditions;
  for (int i = 0; i < 9; ++i) {
    std::string name = "p";
    name.append(std::to_string(i));
    parameters.push_back({name, {}});
    for (std::int64_t value = 1; value <= 10; ++value)
      parameters.back().values.emplace_back(value);
    if (i > 0)
      conditions.push_back(std::string(parameters[static_cast<std::size_t>(i) - 1].name)
                               .append(" * ")
                               .append(name)
                               .append(" <= 30"));
  }
  return build(parameters, conditions);
}

// A rugged bowl whose bottom is not on a corner; one configuration in sixteen fails. What costs more takes
// longer. Another `device` has its bottom elsewhere.
Observation evaluate(const Space& space, const Point& point, int device = 0) {
  double cost = 1;
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto last = static_cast<double>(space.parameters()[i].values.size()) - 1;
    const double x = last > 0 ? static_cast<double>(point[i]) / last : 0;
    cost += std::pow(x - 0.3 - 0.04 * static_cast<double>(i % 8) - 0.1 * device, 2);
    hash = (hash ^ point[i]) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  cost *= 1 + 0.1 * static_cast<double>(hash % 1024) / 1024;
  return {point, hash / 1024 % 16 != 0, cost, 0.1 + cost / 10};
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// What a search of so many configurations finds on the other device.
std::vector<Observation> earlier_results(const Space& space, std::size_t evaluations) {
  std::vector<Observation> results;
  const auto engine = *make_search(space, {});
  while (results.size() < evaluations)
    for (const Point& point : engine->ask(1)) {
      results.push_back(evaluate(space, point, 1));
      engine->tell(results.back());
    }
  return results;
}

// state.range(0) evaluations. `ms_per_evaluation`: the mean, what taking in `prior` needs included;
// `ms_at_the_end`: over the last tenth.
void search(benchmark::State& state, const Space& space, const std::vector<Observation>& prior) {
  const auto evaluations = static_cast<std::size_t>(state.range(0));
  double whole = 0, end = 0;
  for (auto _ : state) {
    const double start = processor_seconds();
    SearchOptions options;
    options.prior = prior;
    const auto engine = *make_search(space, options);
    double last_tenth = start;
    for (std::size_t i = 0; i < evaluations; ++i) {
      if (i == evaluations - evaluations / 10)
        last_tenth = processor_seconds();
      for (const Point& point : engine->ask(1))
        engine->tell(evaluate(space, point));
    }
    const double now = processor_seconds();
    whole += now - start;
    end += now - last_tenth;
  }
  const double runs = static_cast<double>(state.iterations()) * static_cast<double>(evaluations);
  state.counters["ms_per_evaluation"] = 1e3 * whole / runs;
  state.counters["ms_at_the_end"] = 1e4 * end / runs;
  state.counters["proposals_per_second"] = runs / whole;
}

constexpr std::size_t earlier_evaluations = 200;

void gemm_search(benchmark::State& state) {
  search(state, gemm(), {});
}
void large_search(benchmark::State& state) {
  search(state, large(), {});
}
void guided_gemm_search(benchmark::State& state) {
  const Space space = gemm();
  search(state, space, earlier_results(space, earlier_evaluations));
}
void guided_large_search(benchmark::State& state) {
  const Space space = large();
  search(state, space, earlier_results(space, earlier_evaluations));
}

BENCHMARK(gemm_search)->Arg(100)->Arg(400)->Arg(10'000)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(large_search)->Arg(100)->Arg(400)->Arg(10'000)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(guided_gemm_search)->Arg(5)->Arg(50)->Arg(160)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(guided_large_search)->Arg(5)->Arg(50)->Arg(160)->Iterations(1)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace lathe
