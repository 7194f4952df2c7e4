// A configuration's extreme sizes: looked for of all configurations together, since each step of growth waits
// for runs of the raw kernel, and few sizes do not keep the cores busy.
#include "refactor/guard/condition_edges.h"
#include "refactor/guard/run_plan.h"

#include <algorithm>
#include <numeric>

namespace lathe::refactor {
namespace {

constexpr std::size_t MOST = 4;
constexpr std::uint64_t GROWTH = 4;
constexpr std::uint64_t MOST_WORK = 1'000'000; // HostRunResult::work: each is one of many

} // namespace

std::size_t RunPlan::turn_of(const Configuration& configuration) const {
  std::size_t turn = 0;
  for (const auto* configurations : {&subject_.sampled, &subject_.swept})
    for (const Configuration& other : *configurations) {
      if (other.knobs == configuration.knobs)
        return turn;
      ++turn;
    }
  return 0;
}

// For each dimension a size at which it is as small as the configuration admits, the others as in its first
// size, and one at which all of them are: the boundary of each tile from below. And one at which it is as
// large as can be, with two of everything else where that is admitted, or one more, with one: what lies
// behind a thread's or a block's first round, of one row and of the next, and behind the last whole tile. And
// those at which a condition over knobs and sizes just still holds.
RunPlan::Groups RunPlan::extremes_of(const Configuration& configuration) const {
  const auto first = std::ranges::find_if(tasks_, [&](const Task& task) {
    return task.configuration.knobs == configuration.knobs &&
           task.configuration.workload->types == configuration.workload->types;
  });
  if (first == tasks_.end())
    return {};
  const Problem base = first->shape->workload->problem;
  Problem ones = base, twos = base;
  std::vector<std::pair<std::int64_t, std::string>> dimensions;
  for (const auto& [name, size] : base.dimensions)
    dimensions.emplace_back(-size, name);
  // Of many dimensions each configuration takes the next few.
  const auto take_turns = [turn = turn_of(configuration)](auto& all) {
    if (all.size() > MOST)
      std::ranges::rotate(all, all.begin() + static_cast<std::ptrdiff_t>(turn * MOST % all.size()));
  };
  std::vector<std::pair<std::int64_t, std::string>> largest_first = dimensions;
  std::ranges::sort(largest_first);
  take_turns(dimensions);
  take_turns(largest_first);
  Groups wanted;
  for (const auto& [negative, name] : dimensions) {
    const std::int64_t size = -negative;
    const auto least = least_shape(subject_, configuration, base, name, limits_);
    if (!least)
      continue;
    ones.dimensions[name] = least->problem.dimensions.at(name);
    twos.dimensions[name] = std::min(size, 2 * ones.dimensions[name]);
    if (wanted.size() < MOST)
      wanted.push_back({least});
  }
  for (auto& edge : edge_shapes(subject_, configuration, *first->shape->workload, limits_, MOST))
    wanted.push_back({std::move(edge)});
  // Many rows of the least length may take too long where one of them does not.
  if (auto shape = shape_of(subject_, configuration, ones, limits_))
    wanted.push_back({std::move(shape)});
  largest_first.resize(std::min(largest_first.size(), MOST));
  for (const auto& [negative, name] : largest_first)
    for (const bool is_of_ones : {false, true}) {
      Problem small = is_of_ones ? ones : twos;
      small.dimensions[name] = -negative;
      std::vector<std::shared_ptr<const Workload>> longer;
      for (const std::uint64_t growth :
           {GROWTH, GROWTH * GROWTH, GROWTH * GROWTH * GROWTH, GROWTH * GROWTH * GROWTH * GROWTH})
        if (auto shape = longest_shape(subject_, configuration, small, name,
                                       static_cast<std::int64_t>(growth), is_of_ones, limits_))
          longer.push_back(std::move(shape));
      wanted.push_back(std::move(longer));
    }
  return wanted;
}

std::vector<const ReferenceRuns*> RunPlan::run_extremes(const Groups& wanted) {
  std::vector<const ReferenceRuns*> chosen(wanted.size(), nullptr);
  std::vector<std::size_t> open(wanted.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (std::size_t step = 0; !open.empty(); ++step) {
    std::erase_if(open, [&](std::size_t group) { return step >= wanted[group].size(); });
    std::vector<std::shared_ptr<const Workload>> unknown;
    for (const std::size_t group : open) {
      const auto& workload = wanted[group][step];
      const auto [place, is_new] = extremes_.emplace(workload->key(), nullptr);
      for (const auto& shape : shapes_.at(workload->types))
        if (shape->workload->key() == workload->key())
          place->second = shape.get();
      if (is_new && !place->second)
        unknown.push_back(workload);
    }
    for (const ReferenceRuns* shape : run_raw_(unknown, true, false))
      extremes_[shape->workload->key()] = shape;
    // The next of the group executes so many times as much.
    std::erase_if(open, [&](std::size_t group) {
      const ReferenceRuns* shape = extremes_.at(wanted[group][step]->key());
      if (!shape || shape->raw[1].work > MOST_WORK)
        return true;
      chosen[group] = shape;
      return shape->raw[1].work > MOST_WORK / GROWTH;
    });
  }
  return chosen;
}

void RunPlan::foresee(const std::vector<Configuration>& configurations) {
  RunPlan tried(subject_, shapes_, limits_, {});
  Groups all;
  for (const Configuration& configuration : configurations)
    if (tried.add_shared_sizes(configuration) > 0)
      std::ranges::copy(tried.extremes_of(configuration), std::back_inserter(all));
  run_extremes(all);
}

void RunPlan::add_extremes(const Configuration& configuration) {
  for (const ReferenceRuns* shape : run_extremes(extremes_of(configuration)))
    if (shape)
      add(configuration, *shape);
}

void RunPlan::add_problems(const std::vector<Configuration>& configurations) {
  constexpr std::size_t MOST_OF_EACH = 3;
  constexpr std::uint64_t LITTLE_WORK = MOST_WORK / 4; // each configuration has several
  const std::vector<Problem> problems = problems_of(subject_.spec);
  Groups wanted;
  std::vector<const Configuration*> asking; // of each group
  const auto want = [&](const Configuration& configuration, const Problem& problem) {
    auto size = reduced_problem(subject_, configuration, problem, limits_);
    if (!size)
      return false;
    wanted.push_back({std::move(size)});
    asking.push_back(&configuration);
    return true;
  };
  for (std::size_t c = 0; c < configurations.size(); ++c) {
    for (std::size_t turn = 0, taken = 0; turn < problems.size() && taken < MOST_OF_EACH; ++turn)
      taken += want(configurations[c], problems[(c + turn) % problems.size()]);
    if (const std::vector<Problem> limits = problems_at_limits(configurations[c]); !limits.empty())
      want(configurations[c], limits[c % limits.size()]);
  }
  const std::vector<const ReferenceRuns*> shapes = run_extremes(wanted);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::size_t before = tasks_.size();
    if (!shapes[i] || shapes[i]->raw[1].work > LITTLE_WORK || !add(*asking[i], *shapes[i]))
      continue;
    // A fixed size of its own would be another kernel to compile.
    const bool is_compiled = std::any_of(
        tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(before), [&](const Task& task) {
          return task.configuration.template_instance == tasks_.back().configuration.template_instance;
        });
    if (is_compiled)
      tasks_.back().is_brief = tasks_.back().has_own_data = true;
    else
      tasks_.pop_back();
  }
}

} // namespace lathe::refactor
