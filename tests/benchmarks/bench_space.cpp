// Construction and use of spaces.
#include "tests/tuner/space/known_spaces.h"
#include "tuner/space/space.h"

#include <benchmark/benchmark.h>

namespace lathe {
namespace {

std::vector<Parameter> parameters_of(const KnownSpace& known) {
  std::vector<Parameter> parameters;
  for (const auto& [name, values] : known.parameters)
    parameters.push_back({name, {values.begin(), values.end()}});
  return parameters;
}

Result<Space> build(const KnownSpace& known) {
  std::vector<Expression> conditions;
  for (const std::string& text : known.conditions) {
    LATHE_TRY(Expression condition, Expression::parse(text));
    conditions.push_back(std::move(condition));
  }
  return Space::build(parameters_of(known), conditions);
}

// From texts to a space that can be sampled and indexed.
void construct(benchmark::State& state, const KnownSpace& known) {
  for (auto _ : state) {
    const Result<Space> space = build(known);
    if (!space.ok() || space->valid_count().value != known.valid)
      state.SkipWithError("wrong count");
    benchmark::DoNotOptimize(space);
  }
}

void list(benchmark::State& state, const KnownSpace& known) {
  const Space space = *build(known);
  for (auto _ : state)
    benchmark::DoNotOptimize(space.list());
}

void sample(benchmark::State& state, const KnownSpace& known) {
  const Space space = *build(known);
  Random random(1);
  for (auto _ : state)
    benchmark::DoNotOptimize(space.sample(random));
}

void index(benchmark::State& state, const KnownSpace& known) {
  const Space space = *build(known);
  Random random(1);
  const auto count = static_cast<std::uint64_t>(known.valid);
  for (auto _ : state)
    benchmark::DoNotOptimize(space.index_of(space.point(random() % count)));
}

void neighbours(benchmark::State& state, const KnownSpace& known) {
  const Space space = *build(known);
  Random random(1);
  for (auto _ : state)
    benchmark::DoNotOptimize(space.neighbours(space.sample(random), Neighbourhood::hamming));
}

void repair(benchmark::State& state, const KnownSpace& known) {
  const Space space = *build(known);
  Random random(1);
  for (auto _ : state) {
    Point point;
    for (const Parameter& parameter : space.parameters())
      point.push_back(static_cast<std::uint16_t>(random() % parameter.values.size()));
    benchmark::DoNotOptimize(space.repair(point, random));
  }
}

const bool registered = [] {
  for (const KnownSpace& known : known_spaces()) {
    benchmark::RegisterBenchmark(("construct/" + known.name).c_str(), construct, known);
    benchmark::RegisterBenchmark(("list/" + known.name).c_str(), list, known);
    benchmark::RegisterBenchmark(("sample/" + known.name).c_str(), sample, known);
    benchmark::RegisterBenchmark(("index/" + known.name).c_str(), index, known);
    benchmark::RegisterBenchmark(("neighbours/" + known.name).c_str(), neighbours, known);
    benchmark::RegisterBenchmark(("repair/" + known.name).c_str(), repair, known);
  }
  return true;
}();

} // namespace
} // namespace lathe
