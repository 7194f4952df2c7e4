#include "refactor/guard/run_plan.h"

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <set>

namespace lathe::refactor {
namespace {

constexpr std::size_t SHAPES_PER_CONFIGURATION = 5;
constexpr std::size_t MOST_OWN_SIZES = 3; // of one configuration

// How many blocks a run has to have along each axis, at least: a first, a last, and one between, where any of
// the specification's problems has them.
std::array<std::uint32_t, 3> telling_blocks(const JudgedPair& subject, const Configuration& configuration) {
  constexpr std::uint32_t ENOUGH = 3;
  std::array<std::uint32_t, 3> blocks{1, 1, 1};
  for (const Problem& problem : problems_of(subject.spec)) {
    const auto workload = own_workload(subject.spec, problem, configuration.workload->types, subject.device);
    if (!workload || !admitted(**workload, configuration.knobs))
      continue;
    const auto launch = bind_launch(subject.spec.kernel.launch, **workload, configuration.knobs);
    for (std::size_t axis = 0; launch && axis < 3; ++axis)
      blocks[axis] = std::max(blocks[axis], std::min(ENOUGH, launch->grid[axis]));
  }
  return blocks;
}

// Of one dimension alone: many rows of one element make no rounds.
std::int64_t longest_dimension(const ReferenceRuns* shape) {
  std::int64_t most = 0;
  for (const auto& [name, size] : shape->workload->problem.dimensions)
    most = std::max(most, size);
  return most;
}

bool has_blocks(const Launch& launch, const std::array<std::uint32_t, 3>& blocks) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (launch.grid[axis] < blocks[axis])
      return false;
  return true;
}

} // namespace

bool RunPlan::add(const Configuration& configuration, const ReferenceRuns& shape, const ShapeLimits& limits,
                  std::size_t most_instances) {
  const bool known = std::ranges::any_of(tasks_, [&](const Task& task) {
    return task.shape == &shape && task.configuration.knobs == configuration.knobs;
  });
  auto bound = bind_configuration(shape.workload, configuration.knobs);
  // The raw kernel has more than the limit only where its grid is capped.
  const bool is_capped = !fits(*shape.workload, shape.usual.raw_launch, limits.bytes, limits.threads);
  const std::uint64_t threads = limits.template_threads * (is_capped ? OF_CAPPED_GRIDS : 1);
  if (known || !bound || !admitted(*shape.workload, configuration.knobs) ||
      !fits(*shape.workload, bound->template_launch, limits.bytes, threads) ||
      !has_blocks(bound->template_launch, limits.fewest_blocks))
    return false;
  std::set<std::string> instances;
  for (const Task& task : tasks_)
    if (task.configuration.knobs == configuration.knobs &&
        task.configuration.workload->types == shape.workload->types)
      instances.insert(task.configuration.template_instance);
  if (instances.size() >= most_instances && !instances.contains(bound->template_instance))
    return false;
  bound->is_default = configuration.is_default;
  // Of several raw kernels, the one that the launcher takes at that size is the reference.
  bound->raw_instance = shape.usual.raw_instance;
  bound->raw_launch = shape.usual.raw_launch;
  tasks_.push_back({std::move(*bound), &shape});
  return true;
}

bool RunPlan::add_sampled(const Configuration& configuration) {
  // The same values of all knobs may have been drawn for another problem, and have all the instances that
  // they may where each fixed size makes one.
  if (add_shared_sizes(configuration) == 0 && add_own_sizes(configuration) == 0)
    return std::ranges::any_of(tasks_, [&](const Task& task) {
      return task.configuration.knobs == configuration.knobs &&
             task.configuration.workload->types == configuration.workload->types;
    });
  add_odd(configuration);
  add_written_sizes(configuration);
  add_left_over(configuration);
  add_extremes(configuration);
  add_blocks_beside_each_other(configuration);
  return true;
}

// Of the sizes that all configurations share. Returns how many were added.
std::size_t RunPlan::add_shared_sizes(const Configuration& configuration) {
  const std::size_t large = add_largest(configuration);
  return large + add_telling(configuration, SHAPES_PER_CONFIGURATION - large);
}

void RunPlan::add_defaults(bool same_code) {
  for (const auto& [types, shapes] : shapes_) {
    std::set<std::string> instances;
    std::size_t taken = 0;
    for (const auto& shape : shapes) {
      const bool known = instances.contains(shape->usual.template_instance);
      if (taken >= (same_code ? 2 : SHAPES_PER_CONFIGURATION) || (!known && instances.size() >= 3))
        continue;
      Configuration usual = shape->usual;
      usual.is_default = true;
      if (add(usual, *shape)) {
        ++taken;
        instances.insert(shape->usual.template_instance);
      }
    }
  }
}

// The largest size that the configuration admits: its loops make more than one round where any does.
// Returns how many were added.
std::size_t RunPlan::add_largest(const Configuration& configuration) {
  const auto found = shapes_.find(configuration.workload->types);
  if (found == shapes_.end())
    return 0;
  std::vector<const ReferenceRuns*> ordered;
  for (const auto& shape : found->second)
    ordered.push_back(shape.get());
  std::ranges::stable_sort(ordered, std::ranges::greater{}, longest_dimension);
  for (const ReferenceRuns* shape : ordered)
    if (add(configuration, *shape))
      return 1;
  return 0;
}

// Sizes that lie otherwise to the configuration's tiles than those before them. Returns how many were added.
std::size_t RunPlan::add_telling(const Configuration& configuration, std::size_t most) {
  const auto found = shapes_.find(configuration.workload->types);
  if (found == shapes_.end())
    return 0;
  std::set<std::string> known;
  std::vector<std::pair<const ReferenceRuns*, std::set<std::string>>> left;
  for (const auto& shape : found->second)
    left.emplace_back(shape.get(), size_marks(subject_, configuration, *shape->workload));
  std::size_t taken = 0;
  while (taken < most && !left.empty()) {
    // How many dimensions are for the first time no power of two comes first: few sizes may be.
    const auto news = [&](const auto& candidate) {
      std::pair<std::size_t, std::size_t> count{0, 0};
      for (const std::string& mark : candidate.second)
        if (!known.contains(mark)) {
          count.first += mark.ends_with(NO_POWER_OF_TWO) ? 1 : 0;
          ++count.second;
        }
      return count;
    };
    const auto best =
        std::ranges::max_element(left, [&](const auto& a, const auto& b) { return news(a) < news(b); });
    if (add(configuration, *best->first)) {
      ++taken;
      known.insert(best->second.begin(), best->second.end());
    }
    left.erase(best);
  }
  return taken;
}

bool RunPlan::add_to_reach(const Configuration& configuration, const ReferenceRuns& shape) {
  if (add(configuration, shape))
    return true;
  constexpr std::size_t FURTHER_INSTANCES = 2;
  if (!add(configuration, shape, widened(limits_), MOST_INSTANCES + FURTHER_INSTANCES))
    return false;
  tasks_.back().is_brief = true;
  return true;
}

namespace {

// The name of the largest dimension.
std::string longest_name(const ReferenceRuns& shape) {
  const auto& dimensions = shape.workload->problem.dimensions;
  const auto largest =
      std::ranges::max_element(dimensions, {}, [](const auto& dimension) { return dimension.second; });
  return largest == dimensions.end() ? "" : largest->first;
}

} // namespace

std::size_t RunPlan::add_odd(const Configuration& configuration) {
  constexpr std::int64_t SMALL = 24, SMALLER = 8;
  const auto found = shapes_.find(configuration.workload->types);
  if (found == shapes_.end())
    return 0;
  const auto is_power_of_two = [](std::int64_t size) { return (size & (size - 1)) == 0; };
  std::vector<std::string> names;
  for (const std::string& name : subject_.spec.dimensions)
    if (std::ranges::all_of(subject_.spec.problems, [&](const Problem& problem) {
          const auto own = problem.dimensions.find(name);
          return own != problem.dimensions.end() && is_power_of_two(own->second);
        }))
      names.push_back(name);
  if (names.empty())
    return 0;
  const std::string& name = names[turn_of(configuration) % names.size()];
  const auto size_of = [&](const ReferenceRuns* shape) {
    return shape->workload->problem.dimensions.at(name);
  };
  std::vector<const ReferenceRuns*> odd;
  for (const auto& shape : found->second)
    if (const std::int64_t size = size_of(shape.get()); size <= SMALL && !is_power_of_two(size))
      odd.push_back(shape.get());
  const auto others = [&](const ReferenceRuns* shape) {
    double elements = 1;
    for (const auto& [other, size] : shape->workload->problem.dimensions)
      elements *= other == name ? 1 : static_cast<double>(size);
    return std::pair(size_of(shape) <= SMALLER, elements);
  };
  std::ranges::stable_sort(odd, std::ranges::greater{}, others);
  for (const ReferenceRuns* shape : odd)
    if (add(configuration, *shape))
      return 1;
  return 0;
}

void RunPlan::add_swept(const Configuration& configuration) {
  constexpr std::size_t SIZES = 4, LONG_ONES = 4;
  const std::size_t first = tasks_.size();
  add_telling(configuration, SIZES - add_largest(configuration) - add_odd(configuration));
  // Those in which loops go round most often: the longest in each dimension, which take turns to be first.
  std::map<std::string, std::vector<const ReferenceRuns*>> extremes;
  for (const auto& [key, shape] : extremes_)
    if (shape && shape->workload->types == configuration.workload->types)
      extremes[longest_name(*shape)].push_back(shape);
  std::vector<std::vector<const ReferenceRuns*>> turns;
  for (auto& [name, shapes] : extremes) {
    std::ranges::stable_sort(shapes, std::ranges::greater{}, longest_dimension);
    turns.push_back(std::move(shapes));
  }
  std::size_t taken = 0;
  for (std::size_t i = 0; i < turns.size() && taken < LONG_ONES; ++i) {
    const auto& shapes = turns[(turn_of(configuration) * LONG_ONES + i) % turns.size()];
    taken +=
        std::ranges::any_of(shapes, [&](const ReferenceRuns* shape) { return add(configuration, *shape); });
  }
  for (std::size_t i = first; i < tasks_.size(); ++i)
    tasks_[i].is_brief = true;
}

// Sizes looked for on behalf of one configuration, whose conditions admit none of those that all share.
std::size_t RunPlan::add_own_sizes(const Configuration& configuration) {
  // More where the raw kernel runs clean at none of the first: rows that overlap, packs that are not aligned.
  for (const std::size_t sizes : {3, 12, 48}) {
    std::size_t taken = 0;
    for (const ReferenceRuns* shape :
         run_raw_(boundary_shapes(subject_, configuration.workload->types, {&configuration}, limits_, sizes,
                                  &configuration),
                  false, true))
      taken += taken < MOST_OWN_SIZES && add(configuration, *shape);
    if (taken > 0)
      return taken;
  }
  return 0;
}

// Sizes that stand as numbers in the template's text and not in the raw kernel's: what the template does
// there alone, each configuration may do in its own way. The largest numbers first: small ones count elements
// of packs.
void RunPlan::add_written_sizes(const Configuration& configuration) {
  constexpr std::size_t MOST = 3;
  const auto found = shapes_.find(configuration.workload->types);
  if (found == shapes_.end())
    return;
  const std::set<std::int64_t, std::greater<>> written(subject_.own_sizes.begin(), subject_.own_sizes.end());
  std::size_t taken = 0;
  for (const std::int64_t number : written) {
    const auto has_number = [&](const auto& shape) {
      return std::ranges::any_of(shape->workload->problem.dimensions,
                                 [&](const auto& dimension) { return dimension.second == number; });
    };
    for (const auto& shape : found->second | std::views::filter(has_number)) {
      if (taken >= MOST)
        return;
      if (add(configuration, *shape)) {
        ++taken;
        break;
      }
    }
  }
}

// For each dimension a size at which the configuration's tiles leave over what the default's do not, or the
// other way round.
void RunPlan::add_left_over(const Configuration& configuration) {
  const auto found = shapes_.find(configuration.workload->types);
  if (found == shapes_.end())
    return;
  std::set<std::string> seen;
  for (const auto& shape : found->second) {
    const std::set<std::string> dimensions = left_over(configuration, *shape->workload);
    if (!std::ranges::includes(seen, dimensions) && add(configuration, *shape)) {
      tasks_.back().is_brief = true;
      seen.insert(dimensions.begin(), dimensions.end());
    }
  }
}

// What goes wrong between blocks is seen where there are several, in all directions at once. Where the sizes
// above leave the template with fewer, one is looked for, if need be with more memory.
void RunPlan::add_blocks_beside_each_other(const Configuration& configuration) {
  ShapeLimits limits = limits_;
  limits.fewest_blocks = telling_blocks(subject_, configuration);
  if (std::ranges::any_of(tasks_, [&](const Task& task) {
        return task.configuration.knobs == configuration.knobs &&
               task.configuration.workload->types == configuration.workload->types &&
               has_blocks(task.configuration.template_launch, limits.fewest_blocks);
      }))
    return;
  for (const std::uint64_t more : {1, 4, 16}) {
    limits.bytes = more * limits_.bytes;
    limits.threads = more * limits_.threads;
    limits.template_threads = more * limits_.template_threads;
    const auto& types = configuration.workload->types;
    // Another configuration may have asked for one before.
    if (const auto found = shapes_.find(types); found != shapes_.end())
      for (const auto& shape : found->second)
        if (add(configuration, *shape, limits, MOST_INSTANCES))
          return;
    constexpr std::size_t SIZES = 2;
    bool added = false;
    for (const ReferenceRuns* shape : run_raw_(
             boundary_shapes(subject_, types, {&configuration}, limits, SIZES, &configuration), true, true))
      added |= add(configuration, *shape, limits, MOST_INSTANCES);
    if (added)
      return;
  }
}

} // namespace lathe::refactor
