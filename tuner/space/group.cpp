#include "tuner/space/group.h"

#include "tuner/space/order.h"

#include <algorithm>

namespace lathe::space {
namespace {

// Budgets of the first rounds, in evaluated lanes; about 1 ms and 0.1 s. An order that needs more than the
// other one by such a factor is the wrong one.
constexpr std::uint64_t first_round = 100'000;
constexpr std::uint64_t second_round = 10'000'000;

} // namespace

Group::State Group::build(const std::shared_ptr<Problem>& problem, const Component& component,
                          const SolverLimits& limits, std::vector<Group>& groups) {
  Group group;
  group.parameters_ = component.parameters;
  std::vector<std::int32_t> order = component.parameters;
  std::vector<std::int32_t> narrow;
  std::optional<Diagram> diagram;
  const Program declared(*problem->pool, component.conjuncts, component.parameters);
  std::optional<Program> alternative;
  for (const std::uint64_t round : {first_round, second_round, limits.steps}) {
    SolverLimits budget = limits;
    budget.steps = std::min(round, limits.steps);
    order = component.parameters;
    diagram = enumerate(declared, budget);
    if (diagram)
      break;
    if (narrow.empty()) {
      narrow = narrow_order(*problem->pool, component.conjuncts, component.parameters);
      if (narrow != component.parameters)
        alternative.emplace(*problem->pool, component.conjuncts, narrow);
    }
    if (!alternative)
      continue;
    order = narrow;
    diagram = enumerate(*alternative, budget);
    if (diagram)
      break;
  }
  if (diagram && diagram->total() == 0)
    return State::empty;
  if (diagram) {
    group.diagram_ = *std::move(diagram);
  } else {
    order = component.parameters;
    auto sampler = std::make_shared<Sampler>(problem, declared);
    Random random(1); // the estimate is the same in every run
    if (!sampler->estimate(random, second_round))
      return State::unknown;
    group.sampler_ = std::move(sampler);
  }
  group.in_order_ = order == component.parameters;
  for (const std::int32_t parameter : order)
    group.sizes_.push_back(problem->model.parameters[static_cast<std::size_t>(parameter)].values.size());
  for (const std::int32_t parameter : component.parameters)
    group.level_of_.push_back(
        static_cast<std::size_t>(std::find(order.begin(), order.end(), parameter) - order.begin()));
  const State state = group.is_enumerated() ? State::enumerated : State::sampled;
  groups.push_back(std::move(group));
  return state;
}

Tuple Group::to_levels(const Tuple& tuple) const {
  if (in_order_)
    return tuple;
  Tuple result(tuple.size());
  for (std::size_t i = 0; i < tuple.size(); ++i)
    result[level_of_[i]] = tuple[i];
  return result;
}

Tuple Group::from_levels(const Tuple& tuple) const {
  if (in_order_)
    return tuple;
  Tuple result(tuple.size());
  for (std::size_t i = 0; i < tuple.size(); ++i)
    result[i] = tuple[level_of_[i]];
  return result;
}

std::vector<std::uint16_t> Group::tuples() const {
  const std::size_t width = parameters_.size();
  std::vector<std::uint16_t> listed = diagram_.list();
  if (in_order_)
    return listed;
  std::vector<Tuple> sorted;
  sorted.reserve(listed.size() / width);
  for (auto tuple = listed.begin(); tuple != listed.end(); tuple += static_cast<std::ptrdiff_t>(width))
    sorted.push_back(from_levels({tuple, tuple + static_cast<std::ptrdiff_t>(width)}));
  std::ranges::sort(sorted);
  auto next = listed.begin();
  for (const Tuple& tuple : sorted)
    next = std::ranges::copy(tuple, next).out;
  return listed;
}

bool Group::contains(const Tuple& tuple) const {
  return sampler_ ? sampler_->contains(tuple) : diagram_.contains(to_levels(tuple));
}

Tuple Group::sample(Random& random) const {
  return from_levels(sampler_ ? sampler_->sample(random) : diagram_.sample(random));
}

std::vector<Near> Group::near(const Tuple& tuple, int distance, Step step) const {
  if (sampler_)
    return sampler_->near(tuple, distance, step);
  std::vector<Near> found = diagram_.near(to_levels(tuple), distance, step);
  for (Near& candidate : found)
    candidate.tuple = from_levels(candidate.tuple);
  return found;
}

Tuple Group::nearest(const Tuple& tuple, Random& random) const {
  if (sampler_)
    return sampler_->nearest(tuple, random);
  return from_levels(diagram_.nearest(to_levels(tuple), sizes_, random));
}

Group::Cursor::Cursor(const Group& group)
    : group_(&group), node_(group.diagram_.root), completions_(group.total()),
      fixed_(group.parameters_.size(), std::nullopt) {}

const std::vector<Group::Cursor::Branch>& Group::Cursor::branches() {
  branches_.clear();
  if (!group_->in_order_) {
    count_by_value();
    return branches_;
  }
  const Diagram& diagram = group_->diagram_;
  const Diagram::Level& stored = diagram.levels[level_];
  for (std::uint32_t edge = stored.first_edge[node_]; edge < stored.first_edge[node_ + 1]; ++edge)
    branches_.push_back({stored.value[edge], diagram.edge_count(level_, edge), edge});
  return branches_;
}

// The diagram branches in another order: counts the paths that agree with the fixed values, by the value at
// the wanted level, as (paths from the root) times (paths to a leaf). Takes a pass over the diagram.
void Group::Cursor::count_by_value() {
  const Diagram& diagram = group_->diagram_;
  const std::size_t wanted = group_->level_of_[level_];
  const std::size_t levels = diagram.levels.size();
  const auto allowed = [&](std::size_t level, std::uint32_t edge) {
    return !fixed_[level] || *fixed_[level] == diagram.levels[level].value[edge];
  };
  std::vector<Count> from_root(diagram.levels[0].count.size(), 0);
  from_root[diagram.root] = 1;
  for (std::size_t level = 0; level < wanted; ++level) {
    const Diagram::Level& stored = diagram.levels[level];
    std::vector<Count> next(diagram.levels[level + 1].count.size(), 0);
    for (NodeId node = 0; node < stored.count.size(); ++node)
      for (std::uint32_t edge = stored.first_edge[node];
           from_root[node] != 0 && edge < stored.first_edge[node + 1]; ++edge)
        if (allowed(level, edge))
          next[stored.child[edge]] += from_root[node];
    from_root = std::move(next);
  }
  std::vector<Count> to_leaf;
  for (std::size_t level = levels; level-- > wanted + 1;) {
    const Diagram::Level& stored = diagram.levels[level];
    std::vector<Count> here(stored.count.size(), 0);
    for (NodeId node = 0; node < stored.count.size(); ++node)
      for (std::uint32_t edge = stored.first_edge[node]; edge < stored.first_edge[node + 1]; ++edge)
        if (allowed(level, edge))
          here[node] += level + 1 == levels ? Count{1} : to_leaf[stored.child[edge]];
    to_leaf = std::move(here);
  }
  std::vector<Count> by_value(group_->sizes_[wanted], 0);
  const Diagram::Level& stored = diagram.levels[wanted];
  for (NodeId node = 0; node < stored.count.size(); ++node)
    for (std::uint32_t edge = stored.first_edge[node];
         from_root[node] != 0 && edge < stored.first_edge[node + 1]; ++edge)
      by_value[stored.value[edge]] +=
          from_root[node] * (wanted + 1 == levels ? Count{1} : to_leaf[stored.child[edge]]);
  for (std::size_t value = 0; value < by_value.size(); ++value)
    if (by_value[value] != 0)
      branches_.push_back({static_cast<std::uint16_t>(value), by_value[value], 0});
}

void Group::Cursor::choose(const Branch& branch) {
  const Diagram& diagram = group_->diagram_;
  completions_ = branch.completions;
  fixed_[group_->level_of_[level_]] = branch.value;
  if (group_->in_order_ && level_ + 1 < diagram.levels.size())
    node_ = diagram.levels[level_].child[branch.edge];
  ++level_;
}

} // namespace lathe::space
