#include "tuner/space/space.h"

#include "tuner/space/group.h"
#include "tuner/space/listing.h"
#include "tuner/space/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace lathe {

using space::Component;
using space::Count;
using space::Group;
using space::Near;
using space::Step;
using space::Tuple;

class Space::Implementation {
public:
  std::vector<Parameter> parameters;
  std::vector<space::ValueIndex> value_index;
  std::vector<Group> groups;
  std::vector<std::size_t> group_of; // of each parameter
  bool exact = true;                 // every group is enumerated
  bool countable = true;             // and `total` is the product of their sizes
  Count total = 1;

  void add_groups(std::vector<Group> built) {
    groups = std::move(built);
    group_of.resize(parameters.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (const std::int32_t parameter : groups[i].parameters())
        group_of[static_cast<std::size_t>(parameter)] = i;
      exact = exact && groups[i].is_enumerated();
      countable = exact && countable && !__builtin_mul_overflow(total, groups[i].total(), &total);
    }
  }

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
    for (const std::int32_t parameter : group.parameters())
      tuple.push_back(point[static_cast<std::size_t>(parameter)]);
    return tuple;
  }

  static void put(const Tuple& tuple, const Group& group, Point& point) {
    for (std::size_t level = 0; level < tuple.size(); ++level)
      point[static_cast<std::size_t>(group.parameters()[level])] = tuple[level];
  }

  // Walks the parameters in declaration order with one cursor in each group. `choose(parameter, branches,
  // others)` returns the branch to follow, or null to stop; `others` counts the completions of all other
  // groups.
  template <class Choose> void walk(Choose choose) const {
    std::vector<Group::Cursor> cursors(groups.begin(), groups.end());
    Count product = total;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Group::Cursor& cursor = cursors[group_of[i]];
      const Count others = product / cursor.completions();
      const Group::Cursor::Branch* branch = choose(i, cursor.branches(), others);
      if (branch == nullptr)
        return;
      cursor.choose(*branch);
      product = others * cursor.completions();
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

enum class Outcome { built, empty, unknown };

Result<Outcome> build_groups(const std::vector<Parameter>& parameters,
                             const std::vector<Expression>& conditions, const Lookup& constants,
                             const space::SolverLimits& limits, std::vector<Group>& groups) {
  LATHE_TRY(const std::shared_ptr<space::Problem> problem,
            space::make_problem(parameters, conditions, constants));
  if (problem->contradictory)
    return Outcome::empty;
  bool unknown = false;
  // A group without any tuple decides, whatever is unknown of the others.
  for (const Component& component : problem->components) {
    const Group::State state = Group::build(problem, component, limits, groups);
    if (state == Group::State::empty)
      return Outcome::empty;
    unknown = unknown || state == Group::State::unknown;
  }
  return unknown ? Outcome::unknown : Outcome::built;
}

// The first condition that, with those before it, leaves no point. More conditions leave fewer points,
// therefore bisection finds it.
Error contradiction(const std::vector<Parameter>& parameters, const std::vector<Expression>& conditions,
                    const Lookup& constants, const space::SolverLimits& limits) {
  const auto is_empty = [&](std::span<const Expression> tried) {
    std::vector<Group> groups;
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
  const space::SolverLimits limits{options.memory_limit_bytes, options.step_limit};
  std::vector<Group> groups;
  LATHE_TRY(const Outcome outcome, build_groups(parameters, conditions, constants, limits, groups));
  if (outcome == Outcome::empty)
    return contradiction(parameters, conditions, constants, limits);
  if (outcome == Outcome::unknown)
    return Error{"tuning space",
                 "it is too large to enumerate and no valid configuration was found by search",
                 "shorten the value lists or relax the conditions"};
  auto built = std::make_unique<Implementation>();
  built->parameters = std::move(parameters);
  built->add_groups(std::move(groups));
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
  ValidCount count{1, implementation_->exact, 0};
  double relative_variance = 0;
  for (const Group& group : implementation_->groups) {
    count.value *= group.count();
    const double relative = group.standard_error() / group.count();
    relative_variance += relative * relative;
  }
  if (implementation_->exact && implementation_->countable)
    count.value = static_cast<double>(implementation_->total);
  count.standard_error = count.value * std::sqrt(relative_variance);
  return count;
}

bool Space::is_enumerated() const {
  return implementation_->exact && implementation_->countable &&
         implementation_->total <= std::numeric_limits<std::uint64_t>::max();
}

bool Space::contains(const Point& point) const {
  return implementation_->is_point(point) &&
         std::all_of(implementation_->groups.begin(), implementation_->groups.end(), [&](const Group& group) {
           return group.contains(Implementation::tuple_of(point, group));
         });
}

std::optional<std::uint64_t> Space::index_of(const Point& point) const {
  using Branch = Group::Cursor::Branch;
  if (!is_enumerated() || !implementation_->is_point(point))
    return std::nullopt;
  Count index = 0;
  bool valid = true;
  implementation_->walk(
      [&](std::size_t parameter, const std::vector<Branch>& branches, Count others) -> const Branch* {
        for (const Branch& branch : branches) {
          if (branch.value == point[parameter])
            return &branch;
          index += branch.completions * others;
        }
        valid = false;
        return nullptr;
      });
  return valid ? std::optional(static_cast<std::uint64_t>(index)) : std::nullopt;
}

Point Space::point(std::uint64_t index) const {
  using Branch = Group::Cursor::Branch;
  Point result;
  Count rest = index;
  implementation_->walk([&](std::size_t, const std::vector<Branch>& branches, Count others) {
    const Branch* branch = branches.data();
    for (; rest >= branch->completions * others; ++branch)
      rest -= branch->completions * others;
    result.push_back(branch->value);
    return branch;
  });
  return result;
}

std::vector<std::uint16_t> Space::list() const {
  return space::list_points(implementation_->groups, implementation_->parameters.size(),
                            static_cast<std::size_t>(implementation_->total));
}

Point Space::sample(Random& random) const {
  Point point(implementation_->parameters.size());
  for (const Group& group : implementation_->groups)
    Implementation::put(group.sample(random), group, point);
  return point;
}

std::vector<Point> Space::neighbours(const Point& point, Neighbourhood neighbourhood) const {
  if (!implementation_->is_point(point))
    return {};
  const int distance = neighbourhood == Neighbourhood::wide ? 2 : 1;
  const Step step = neighbourhood == Neighbourhood::adjacent ? Step::adjacent : Step::any;
  std::vector<std::vector<Near>> near;
  for (const Group& group : implementation_->groups)
    near.push_back(group.near(Implementation::tuple_of(point, group), distance, step));
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
  for (const Group& group : implementation_->groups)
    Implementation::put(group.nearest(Implementation::tuple_of(start, group), random), group, result);
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
