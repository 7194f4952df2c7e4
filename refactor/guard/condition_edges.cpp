#include "refactor/guard/condition_edges.h"

#include <algorithm>
#include <set>
#include <string>

namespace lathe::refactor {
namespace {

constexpr std::int64_t LARGEST = std::int64_t{1} << 24; // of a dimension that is looked at

class Edges {
public:
  Edges(const Configuration& configuration, const Workload& base)
      : knobs_(configuration.knobs), spec_(*base.spec), base_(base) {}

  // The largest size for which the condition holds, from the base's own on; nothing where it holds for all.
  std::optional<std::int64_t> last(const Condition& condition, const std::string& dimension) const {
    std::int64_t within = base_.problem.dimensions.at(dimension);
    if (!holds(condition, dimension, within))
      return std::nullopt;
    std::int64_t beyond = within;
    while (beyond <= LARGEST && holds(condition, dimension, beyond)) {
      within = beyond;
      beyond = std::max<std::int64_t>(1, 2 * beyond);
    }
    if (beyond > LARGEST)
      return std::nullopt;
    while (beyond - within > 1) {
      const std::int64_t middle = within + (beyond - within) / 2;
      (holds(condition, dimension, middle) ? within : beyond) = middle;
    }
    return within;
  }

  bool names_knob(const Condition& condition) const {
    return std::ranges::any_of(condition.expression.names(), [&](const std::string& name) {
      return std::ranges::find(spec_.knobs, name, &Knob::name) != spec_.knobs.end();
    });
  }

private:
  const KnobValues& knobs_;
  const TuningSpec& spec_;
  const Workload& base_;

  bool holds(const Condition& condition, const std::string& dimension, std::int64_t size) const {
    const auto value =
        condition.expression.evaluate_condition([&](std::string_view name) -> std::optional<Value> {
          if (name == dimension)
            return Value{size};
          for (std::size_t i = 0; i < spec_.knobs.size() && i < knobs_.size(); ++i)
            if (spec_.knobs[i].name == name)
              return knobs_[i];
          return base_.lookup(name);
        });
    return value.ok() && *value;
  }
};

// The problem with the dimension of that size, and those that are nowhere shorter no shorter than it: what
// lies within a row that ends before does not reach the edge.
Problem with_room(const TuningSpec& spec, const Problem& base, const std::string& dimension,
                  std::int64_t size) {
  Problem problem = base;
  for (auto& [name, other] : problem.dimensions) {
    const std::string& compared = name;
    const bool is_nowhere_shorter = std::ranges::all_of(spec.problems, [&](const Problem& one) {
      return one.dimensions.at(compared) >= one.dimensions.at(dimension);
    });
    if (is_nowhere_shorter)
      other = std::max(other, size);
  }
  problem.dimensions[dimension] = size;
  return problem;
}

// At the edge, or where the other conditions do not admit that, before it at a multiple of a small power of
// two.
std::shared_ptr<const Workload> shape_at_edge(const JudgedPair& subject, const Configuration& configuration,
                                              const Problem& base, const std::string& dimension,
                                              std::int64_t edge, const ShapeLimits& limits) {
  constexpr std::int64_t LARGEST_UNIT = 64;
  const std::int64_t within = base.dimensions.at(dimension);
  for (std::int64_t unit = 1; unit <= LARGEST_UNIT && edge - edge % unit >= within; unit *= 2) {
    if (unit > 1 && edge % unit == edge % (unit / 2))
      continue; // the same again
    const std::int64_t size = edge - edge % unit;
    if (auto shape = shape_of(subject, configuration, with_room(subject.spec, base, dimension, size), limits))
      return shape;
    Problem alone = base;
    alone.dimensions[dimension] = size;
    if (auto shape = shape_of(subject, configuration, alone, limits))
      return shape;
  }
  return nullptr;
}

} // namespace

std::vector<std::shared_ptr<const Workload>> edge_shapes(const JudgedPair& subject,
                                                         const Configuration& configuration,
                                                         const Workload& base, const ShapeLimits& limits,
                                                         std::size_t most) {
  const Edges edges(configuration, base);
  std::vector<std::shared_ptr<const Workload>> shapes;
  std::set<std::pair<std::string, std::int64_t>> known;
  for (const Condition& condition : base.spec->conditions) {
    if (!edges.names_knob(condition))
      continue;
    for (const std::string& name : condition.expression.names()) {
      if (shapes.size() == most)
        return shapes;
      const auto size = base.problem.dimensions.contains(name) ? edges.last(condition, name) : std::nullopt;
      if (!size || !known.emplace(name, *size).second)
        continue;
      if (auto shape = shape_at_edge(subject, configuration, base.problem, name, *size, limits))
        shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

std::vector<Problem> problems_at_limits(const Configuration& configuration) {
  const Workload& base = *configuration.workload;
  const Edges edges(configuration, base);
  std::vector<Problem> problems;
  for (const Condition& condition : base.spec->conditions) {
    if (edges.names_knob(condition))
      continue;
    for (const std::string& name : condition.expression.names()) {
      const auto own = base.problem.dimensions.find(name);
      const auto size = own != base.problem.dimensions.end() ? edges.last(condition, name) : std::nullopt;
      if (!size || *size <= own->second)
        continue;
      problems.push_back(base.problem);
      problems.back().dimensions[name] = *size;
    }
  }
  return problems;
}

} // namespace lathe::refactor
