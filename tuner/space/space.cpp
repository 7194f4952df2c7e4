#include "tuner/space/space.h"

#include "tuner/space/diagram.h"
#include "tuner/space/model.h"
#include "tuner/space/solver.h"

#include <algorithm>
#include <limits>
#include <span>

namespace lathe {

using space::Component;
using space::Count;
using space::Diagram;
using space::Near;
using space::NodeId;
using space::Step;
using space::Tuple;

class Space::Implementation {
public:
  struct Group {
    std::vector<std::int32_t> parameters; // level -> parameter
    std::vector<std::size_t> sizes;       // of their value lists
    Diagram diagram;
  };
  struct Place {
    std::size_t group, level;
  };

  std::vector<Parameter> parameters;
  std::vector<space::ValueIndex> value_index;
  std::vector<Group> groups;
  std::vector<Place> place_of; // of each parameter
  Count total = 0;

  bool is_point(const Point& point) const {
    if (point.size() != parameters.size())
      return false;
    for (std::size_t i = 0; i < point.size(); ++i)
      if (point[i] >= parameters[i].values.size())
        return false;
    return true;
  }

  static Tuple tuple_of(const Point& point, const Group& group) {
    Tuple tuple;
    for (const std::int32_t parameter : group.parameters)
      tuple.push_back(point[static_cast<std::size_t>(parameter)]);
    return tuple;
  }

  static void put(const Tuple& tuple, const Group& group, Point& point) {
    for (std::size_t level = 0; level < tuple.size(); ++level)
      point[static_cast<std::size_t>(group.parameters[level])] = tuple[level];
  }

  // Walks the parameters in declaration order with one cursor in each group. `choose(parameter, group, node,
  // others)` returns the edge to follow; `others` counts the completions of all other groups.
  template <class Choose> void walk(Choose choose) const {
    std::vector<NodeId> node;
    std::vector<Count> completions;
    for (const Group& group : groups) {
      node.push_back(group.diagram.root);
      completions.push_back(group.diagram.total());
    }
    Count product = total;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto [g, level] = place_of[i];
      const Diagram& diagram = groups[g].diagram;
      const Count others = product / completions[g];
      const std::optional<std::uint32_t> edge = choose(i, diagram, level, node[g], others);
      if (!edge)
        return;
      completions[g] = diagram.edge_count(level, *edge);
      product = others * completions[g];
      if (level + 1 < diagram.levels.size())
        node[g] = diagram.levels[level].child[*edge];
    }
  }

  // Combines the tuples of all groups that together differ in at most `budget` parameters.
  void combine(const std::vector<std::vector<Near>>& near, std::size_t group, int budget, Point& point,
               std::vector<Point>& out) const {
    if (group == groups.size()) {
      out.push_back(point);
      return;
    }
    for (const Near& candidate : near[group]) {
      if (candidate.distance > budget)
        continue;
      put(candidate.tuple, groups[group], point);
      combine(near, group + 1, budget - candidate.distance, point, out);
    }
  }
};

Space::Space(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Space::~Space() = default;
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;

namespace {

enum class Outcome { built, empty, too_large };

Result<Outcome> build_groups(const std::vector<Parameter>& parameters,
                             const std::vector<Expression>& conditions, const Lookup& constants,
                             const space::SolverLimits& limits,
                             std::vector<Space::Implementation::Group>& groups) {
  LATHE_TRY(const std::unique_ptr<space::Problem> problem,
            space::make_problem(parameters, conditions, constants));
  if (problem->contradictory)
    return Outcome::empty;
  for (const Component& component : problem->components) {
    Space::Implementation::Group group;
    group.parameters = component.parameters;
    for (const std::int32_t parameter : group.parameters)
      group.sizes.push_back(parameters[static_cast<std::size_t>(parameter)].values.size());
    const space::Program program(*problem->pool, component.conjuncts, component.parameters);
    std::optional<Diagram> diagram = enumerate(program, limits);
    if (!diagram)
      return Outcome::too_large;
    if (diagram->total() == 0)
      return Outcome::empty;
    group.diagram = *std::move(diagram);
    groups.push_back(std::move(group));
  }
  return Outcome::built;
}

// The first condition that, with those before it, leaves no point. More conditions leave fewer points,
// therefore bisection finds it.
Error contradiction(const std::vector<Parameter>& parameters, const std::vector<Expression>& conditions,
                    const Lookup& constants, const space::SolverLimits& limits) {
  const auto is_empty = [&](std::span<const Expression> tried) {
    std::vector<Space::Implementation::Group> groups;
    const Result<Outcome> outcome =
        build_groups(parameters, {tried.begin(), tried.end()}, constants, limits, groups);
    return outcome.ok() && *outcome == Outcome::empty;
  };
  const std::span<const Expression> all = conditions;
  std::size_t fine = 0;
  std::size_t empty = conditions.size();
  while (fine + 1 < empty) {
    const std::size_t middle = (fine + empty) / 2;
    (is_empty(all.first(middle)) ? empty : fine) = middle;
  }
  const bool alone = is_empty(all.subspan(empty - 1, 1));
  return usage_error(
      "tuning space",
      "no configuration is valid: condition \"" + conditions[empty - 1].text() +
          (alone ? "\" holds for none" : "\" excludes all that the conditions before it leave"),
      "relax the condition or add values");
}

} // namespace

Result<Space> Space::build(std::vector<Parameter> parameters, const std::vector<Expression>& conditions,
                           const Lookup& constants, SpaceOptions options) {
  auto built = std::make_unique<Implementation>();
  space::SolverLimits limits;
  limits.bytes = options.memory_limit_bytes;
  limits.steps = std::numeric_limits<std::uint64_t>::max();
  LATHE_TRY(const Outcome outcome, build_groups(parameters, conditions, constants, limits, built->groups));
  if (outcome == Outcome::empty)
    return contradiction(parameters, conditions, constants, limits);
  if (outcome == Outcome::too_large)
    return usage_error("tuning space", "it is too large to enumerate");
  built->total = 1;
  built->place_of.resize(parameters.size());
  for (std::size_t i = 0; i < built->groups.size(); ++i) {
    const Implementation::Group& group = built->groups[i];
    for (std::size_t level = 0; level < group.parameters.size(); ++level)
      built->place_of[static_cast<std::size_t>(group.parameters[level])] = {i, level};
    if (__builtin_mul_overflow(built->total, group.diagram.total(), &built->total))
      return usage_error("tuning space", "it is too large to enumerate");
  }
  built->parameters = std::move(parameters);
  for (const Parameter& parameter : built->parameters) {
    built->value_index.emplace_back();
    for (const Value& value : parameter.values)
      built->value_index.back().add(value);
  }
  return Space(std::move(built));
}

const std::vector<Parameter>& Space::parameters() const {
  return implementation_->parameters;
}

double Space::cartesian_size() const {
  double size = 1;
  for (const Parameter& parameter : implementation_->parameters)
    size *= static_cast<double>(parameter.values.size());
  return size;
}

ValidCount Space::valid_count() const {
  ValidCount count;
  count.value = static_cast<double>(implementation_->total);
  return count;
}

bool Space::is_enumerated() const {
  return implementation_->total <= std::numeric_limits<std::uint64_t>::max();
}

bool Space::contains(const Point& point) const {
  if (!implementation_->is_point(point))
    return false;
  return std::all_of(implementation_->groups.begin(), implementation_->groups.end(), [&](const auto& group) {
    return group.diagram.contains(Implementation::tuple_of(point, group));
  });
}

std::optional<std::uint64_t> Space::index_of(const Point& point) const {
  if (!is_enumerated() || !implementation_->is_point(point))
    return std::nullopt;
  Count index = 0;
  bool valid = true;
  implementation_->walk([&](std::size_t parameter, const Diagram& diagram, std::size_t level, NodeId node,
                            Count others) -> std::optional<std::uint32_t> {
    const std::optional<std::uint32_t> found = diagram.find_edge(level, node, point[parameter]);
    valid = found.has_value();
    for (std::uint32_t edge = diagram.levels[level].first_edge[node]; valid && edge < *found; ++edge)
      index += diagram.edge_count(level, edge) * others;
    return found;
  });
  return valid ? std::optional(static_cast<std::uint64_t>(index)) : std::nullopt;
}

Point Space::point(std::uint64_t index) const {
  Point result;
  Count rest = index;
  implementation_->walk(
      [&](std::size_t, const Diagram& diagram, std::size_t level, NodeId node, Count others) {
        std::uint32_t edge = diagram.levels[level].first_edge[node];
        for (Count below = diagram.edge_count(level, edge) * others; rest >= below;
             below = diagram.edge_count(level, edge) * others) {
          rest -= below;
          ++edge;
        }
        result.push_back(diagram.levels[level].value[edge]);
        return std::optional(edge);
      });
  return result;
}

Point Space::sample(Random& random) const {
  Point point(implementation_->parameters.size());
  for (const Implementation::Group& group : implementation_->groups)
    Implementation::put(group.diagram.sample(random), group, point);
  return point;
}

std::vector<Point> Space::neighbours(const Point& point, Neighbourhood neighbourhood) const {
  if (!implementation_->is_point(point))
    return {};
  const int distance = neighbourhood == Neighbourhood::wide ? 2 : 1;
  const Step step = neighbourhood == Neighbourhood::adjacent ? Step::adjacent : Step::any;
  std::vector<std::vector<Near>> near;
  for (const Implementation::Group& group : implementation_->groups)
    near.push_back(group.diagram.near(Implementation::tuple_of(point, group), distance, step));
  std::vector<Point> found;
  Point current = point;
  implementation_->combine(near, 0, distance, current, found);
  std::erase(found, point);
  std::sort(found.begin(), found.end());
  return found;
}

Point Space::repair(const Point& point, Random& random) const {
  Point start = point;
  start.resize(implementation_->parameters.size(), 0);
  for (std::size_t i = 0; i < start.size(); ++i)
    start[i] = std::min<std::uint16_t>(
        start[i], static_cast<std::uint16_t>(implementation_->parameters[i].values.size() - 1));
  Point result = start;
  for (const Implementation::Group& group : implementation_->groups)
    Implementation::put(group.diagram.nearest(Implementation::tuple_of(start, group), group.sizes, random),
                        group, result);
  return result;
}

std::vector<Value> Space::values(const Point& point) const {
  std::vector<Value> values;
  for (std::size_t i = 0; i < point.size(); ++i)
    values.push_back(implementation_->parameters[i].values[point[i]]);
  return values;
}

std::optional<Point> Space::point_of(const std::vector<Value>& values) const {
  if (values.size() != implementation_->parameters.size())
    return std::nullopt;
  Point point;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<std::size_t> position = implementation_->value_index[i].find(values[i]);
    if (!position)
      return std::nullopt;
    point.push_back(static_cast<std::uint16_t>(*position));
  }
  return point;
}

} // namespace lathe
