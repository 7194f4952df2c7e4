#include "tuner/search/domain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lathe::search {

namespace {

// Above this many points the table's memory and the surrogates' scan over it cost more than they give.
constexpr double table_limit = 200'000;

// Calls `visit` with every point that differs from `point` in one parameter.
template <class Visit>
void for_each_move(const std::vector<Parameter>& parameters, Point& point, bool adjacent, std::size_t first,
                   Visit visit) {
  for (std::size_t i = first; i < point.size(); ++i) {
    const std::uint16_t original = point[i];
    const std::size_t count = parameters[i].values.size();
    const std::size_t low = adjacent && original > 0 ? original - 1u : 0u;
    const std::size_t high = adjacent ? std::min<std::size_t>(count, original + 2u) : count;
    for (std::size_t value = low; value < high; ++value) {
      if (value == original)
        continue;
      point[i] = static_cast<std::uint16_t>(value);
      visit(i);
    }
    point[i] = original;
  }
}

// How far two points are apart: the sum over parameters of the step count relative to the list's length, with
// a constant for every difference so that points that share more values are nearer.
double distance(const std::vector<Parameter>& parameters, std::span<const std::uint16_t> a,
                std::span<const std::uint16_t> b, double bound) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && sum < bound; ++i)
    if (a[i] != b[i])
      sum += 0.25 + std::abs(static_cast<double>(a[i]) - b[i]) /
                        static_cast<double>(std::max<std::size_t>(1, parameters[i].values.size() - 1));
  return sum;
}

class TableDomain final : public Domain {
public:
  TableDomain(std::vector<Parameter> parameters, PointTable table)
      : parameters_(std::move(parameters)), table_(std::move(table)) {}

  const std::vector<Parameter>& parameters() const override { return parameters_; }
  double size() const override { return static_cast<double>(table_.size()); }
  bool contains(const Point& point) const override {
    return point.size() == parameters_.size() && table_.find(point).has_value();
  }
  Point sample(Random& random) const override {
    return table_.point(std::uniform_int_distribution<std::size_t>(0, table_.size() - 1)(random));
  }

  std::vector<Point> neighbours(const Point& centre, Neighbourhood neighbourhood) const override {
    std::vector<Point> found;
    Point point = centre;
    const bool adjacent = neighbourhood == Neighbourhood::adjacent;
    for_each_move(parameters_, point, adjacent, 0, [&](std::size_t changed) {
      if (table_.find(point))
        found.push_back(point);
      if (neighbourhood == Neighbourhood::wide)
        for_each_move(parameters_, point, false, changed + 1, [&](std::size_t) {
          if (table_.find(point))
            found.push_back(point);
        });
    });
    return found;
  }

  Point repair(const Point& point, Random& random) const override {
    if (contains(point))
      return point;
    double best = std::numeric_limits<double>::infinity();
    std::size_t chosen = 0, ties = 0;
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const double d = distance(parameters_, point, table_.row(i), best + 1e-9);
      if (d > best + 1e-9)
        continue;
      ties = d < best - 1e-9 ? 1 : ties + 1;
      if (ties == 1 || std::uniform_int_distribution<std::size_t>(1, ties)(random) == 1)
        chosen = i;
      best = std::min(best, d);
    }
    return table_.point(chosen);
  }

  const PointTable* table() const override { return &table_; }

private:
  std::vector<Parameter> parameters_;
  PointTable table_;
};

class SpaceDomain final : public Domain {
public:
  explicit SpaceDomain(const Space& space) : space_(space), size_(space.valid_count().value) {}

  const std::vector<Parameter>& parameters() const override { return space_.parameters(); }
  double size() const override { return size_; }
  bool contains(const Point& point) const override { return space_.contains(point); }
  Point sample(Random& random) const override { return space_.sample(random); }
  std::vector<Point> neighbours(const Point& point, Neighbourhood neighbourhood) const override {
    return space_.neighbours(point, neighbourhood);
  }
  Point repair(const Point& point, Random& random) const override { return space_.repair(point, random); }

private:
  const Space& space_;
  double size_;
};

} // namespace

std::size_t PointHash::of(std::span<const std::uint16_t> point) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (std::uint16_t value : point) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

PointTable::PointTable(std::vector<std::uint16_t> values, std::size_t width)
    : size_(values.size() / width), width_(width), values_(std::move(values)) {
  std::size_t capacity = 16;
  while (capacity < 2 * size_)
    capacity *= 2;
  slots_.assign(capacity, 0);
  for (std::size_t i = 0; i < size_; ++i) {
    std::size_t slot = PointHash::of(row(i)) & (capacity - 1);
    while (slots_[slot] != 0)
      slot = (slot + 1) & (capacity - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

std::optional<std::size_t> PointTable::find(std::span<const std::uint16_t> point) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = PointHash::of(point) & mask; slots_[slot] != 0; slot = (slot + 1) & mask)
    if (std::ranges::equal(row(slots_[slot] - 1), point))
      return slots_[slot] - 1;
  return {};
}

std::unique_ptr<Domain> domain_of(const Space& space) {
  const ValidCount count = space.valid_count();
  if (!space.is_enumerated() || !count.exact || count.value > table_limit)
    return std::make_unique<SpaceDomain>(space);
  return std::make_unique<TableDomain>(space.parameters(),
                                       PointTable(space.list(), space.parameters().size()));
}

std::unique_ptr<Domain> domain_of(std::vector<Parameter> parameters, const std::vector<Point>& points) {
  std::vector<std::uint16_t> values;
  for (const Point& point : points)
    values.insert(values.end(), point.begin(), point.end());
  const std::size_t width = parameters.size();
  return std::make_unique<TableDomain>(std::move(parameters), PointTable(std::move(values), width));
}

} // namespace lathe::search
