#include "refactor/guard/shapes.h"

#include "refactor/guard/size_units.h"
#include "tuner/space/space.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

namespace lathe::refactor {
namespace {

using Dimensions = std::map<std::string, std::int64_t>;

bool is_power_of_two(std::int64_t size) {
  return size > 0 && (size & (size - 1)) == 0;
}

// Products of the numeric knobs' values of each configuration: every tile that its block may cover.
std::set<std::int64_t> tiles(const std::vector<const Configuration*>& configurations) {
  std::set<std::int64_t> found{32, 128};
  for (const Configuration* configuration : configurations) {
    std::set<std::int64_t> products{1};
    for (const Value& value : configuration->knobs) {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (!number || *number <= 1 || products.size() > 64)
        continue;
      std::set<std::int64_t> longer = products;
      for (const std::int64_t product : products)
        if (product * *number <= 1 << 14)
          longer.insert(product * *number);
      products = std::move(longer);
    }
    found.insert(products.begin(), products.end());
    const auto& block = configuration->template_launch.block;
    found.insert(1ll * block[0] * block[1] * block[2]);
  }
  return found;
}

// Sizes of one dimension, the most telling first within each group; shuffled so that a cut keeps every group.
std::vector<std::int64_t> sizes_of(const std::string& dimension, const JudgedPair& subject,
                                   const std::set<std::int64_t>& tile_sizes, Random& random) {
  std::vector<std::int64_t> sizes{1, 2, 3, 5, 7, 13, 17, 31, 33, 61, 127, 129, 251, 257, 1009};
  for (const std::int64_t granularity : {4, 8, 16, 32})
    for (const std::int64_t factor : {1, 3, 5, 9, 17, 33, 67, 129, 131})
      sizes.push_back(granularity * factor);
  for (const std::int64_t tile : tile_sizes)
    for (const std::int64_t offset : {-1, 0, 1, -8, 8, 16, -16, 4, 2})
      sizes.push_back(tile + offset);
  for (const Problem& problem : subject.spec.problems)
    if (const auto found = problem.dimensions.find(dimension); found != problem.dimensions.end())
      sizes.push_back(found->second);
  std::erase_if(sizes, [](std::int64_t size) { return size < 1 || size > 1 << 15; });
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::shuffle(sizes.begin(), sizes.end(), random);
  return sizes;
}

// Every dimension at the smallest and the median of the problems' values.
std::vector<Dimensions> bases(const TuningSpec& spec) {
  Dimensions small, middle;
  for (const std::string& name : spec.dimensions) {
    std::vector<std::int64_t> values;
    for (const Problem& problem : spec.problems)
      if (const auto found = problem.dimensions.find(name); found != problem.dimensions.end())
        values.push_back(found->second);
    std::sort(values.begin(), values.end());
    small[name] = values.empty() ? 64 : values.front();
    middle[name] = values.empty() ? 64 : std::min<std::int64_t>(values[values.size() / 2], 4096);
  }
  Dimensions few = small;
  for (auto& [name, value] : few)
    value = std::min<std::int64_t>(value, 3);
  return {small, middle, few};
}

} // namespace

std::set<std::string> size_marks(const JudgedPair& subject, const Configuration& configuration,
                                 const Workload& workload) {
  std::set<std::string> marks;
  const std::set<std::int64_t> widths = tiles({&configuration});
  for (const auto& [name, size] : workload.problem.dimensions) {
    for (const std::int64_t width : widths) {
      const char* place = size == width       ? "at"
                          : size == width - 1 ? "below by one"
                          : size < width      ? "below"
                          : size % width == 0 ? "a multiple of"
                          : size % width == 1 ? "one more than multiples of"
                                              : "above";
      marks.insert(name + " " + place + " " + std::to_string(width));
    }
    if (!is_power_of_two(size))
      marks.insert(name + NO_POWER_OF_TWO);
    for (const std::int64_t number : subject.own_sizes)
      if (size == number)
        marks.insert(name + " is " + std::to_string(number));
  }
  return marks;
}

std::set<std::string> left_over(const Configuration& configuration, const Workload& workload) {
  std::set<std::string> dimensions;
  const auto usual = default_knobs(workload);
  if (!usual.ok())
    return dimensions;
  const std::vector<Knob>& knobs = workload.spec->knobs;
  for (std::size_t i = 0; i < knobs.size() && i < configuration.knobs.size(); ++i) {
    const auto *value = std::get_if<std::int64_t>(&configuration.knobs[i]),
               *own = std::get_if<std::int64_t>(&(*usual)[i]);
    if (knobs[i].kind != KnobKind::tile || !value || !own || *value <= 1 || *own <= 1)
      continue;
    for (const auto& [name, size] : workload.problem.dimensions)
      if (size > std::min(*value, *own) && (size % *value == 0) != (size % *own == 0))
        dimensions.insert(name);
  }
  return dimensions;
}

std::uint64_t bytes_of(const Workload& workload) {
  std::uint64_t bytes = 0;
  for (const Workload::Buffer& buffer : workload.buffers)
    bytes += buffer.count * static_cast<std::uint64_t>(std::max(1, dtype_size(buffer.dtype)));
  return bytes;
}

bool fits(const Workload& workload, const Launch& launch, std::uint64_t bytes, std::uint64_t threads) {
  double launched = 1;
  for (int axis = 0; axis < 3; ++axis)
    launched *= static_cast<double>(launch.grid[static_cast<std::size_t>(axis)]) *
                launch.block[static_cast<std::size_t>(axis)];
  return bytes_of(workload) <= bytes && launched <= static_cast<double>(threads);
}

namespace {

// Dimensions that a condition names beside this one: a row's part grows no longer than the row.
std::set<std::string> tied_to(const TuningSpec& spec, const std::string& dimension) {
  std::set<std::string> tied;
  for (const Condition& condition : spec.conditions) {
    const auto& names = condition.expression.names();
    if (std::ranges::find(names, dimension) == names.end())
      continue;
    for (const std::string& name : spec.dimensions)
      if (name != dimension && std::ranges::find(names, name) != names.end())
        tied.insert(name);
  }
  return tied;
}

// Gathers workloads, none twice, that the raw kernel can be launched with within the limits.
class ShapeList {
public:
  ShapeList(const JudgedPair& subject, const std::map<std::string, std::string>& types,
            const ShapeLimits& limits, std::size_t most, const Configuration* only)
      : subject_(subject), types_(types), limits_(limits), most_(most), only_(only) {}

  // Whether it was taken; with the text sizes of a trial where these are not such as go together, or do not
  // fit as they are.
  bool consider(const Dimensions& dimensions) {
    if (take(dimensions))
      return true;
    const std::vector<TextSize>& text_sizes = subject_.spec.text_sizes;
    if (text_sizes.empty() || text_sizes.front().trials.empty())
      return false;
    const std::size_t trial = turn_++ % text_sizes.front().trials.size();
    Dimensions tried = dimensions;
    for (const TextSize& size : text_sizes)
      tried[size.dimension] = size.trials[trial];
    return take(tried);
  }

  bool take(const Dimensions& dimensions) {
    if (shapes.size() >= most_ || !seen_.insert(dimensions).second)
      return false;
    Problem problem;
    problem.dimensions = dimensions;
    for (const auto& [name, value] : dimensions)
      problem.label += (problem.label.empty() ? "" : " ") + name + "=" + std::to_string(value);
    const auto workload = own_workload(subject_.spec, problem, types_, subject_.device);
    if (!workload)
      return false;
    const auto knobs = default_knobs(**workload);
    if (!knobs || !admitted(**workload, *knobs))
      return false;
    const auto launch = bind_launch(subject_.spec.reference.launch, **workload, *knobs);
    if (!launch)
      return false;
    const std::uint64_t more = is_capped(dimensions, launch->grid) ? OF_CAPPED_GRIDS : 1;
    if (!fits(**workload, *launch, limits_.bytes, more * limits_.threads))
      return false;
    if (only_) {
      const auto bound = bind_configuration(*workload, only_->knobs);
      if (!bound || !admitted(**workload, only_->knobs) ||
          !fits(**workload, bound->template_launch, limits_.bytes, more * limits_.template_threads))
        return false;
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (bound->template_launch.grid[axis] < limits_.fewest_blocks[axis])
          return false;
    }
    shapes.push_back(*workload);
    return true;
  }

  // A problem with one or two of its dimensions small.
  void consider_near(const Dimensions& own) {
    const std::int64_t small_sizes[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 32};
    const auto with = [](Dimensions dimensions, const std::string& name, std::int64_t size) {
      dimensions[name] = std::min(size, dimensions[name]);
      return dimensions;
    };
    consider(own);
    for (const std::int64_t size : small_sizes) // each dimension in turn: some of them cannot be made small
      for (const auto& [name, value] : own)
        consider(with(own, name, size));
    // Of dozens of dimensions some of the pairs have to do.
    constexpr std::size_t MOST_DIMENSIONS = 12, MOST_DRAWN = 3000;
    if (own.size() > MOST_DIMENSIONS) {
      Random random(subject_.seed ^ 0x2d1e5);
      const auto drawn_name = [&] {
        return std::next(own.begin(), static_cast<std::ptrdiff_t>(random() % own.size()))->first;
      };
      const auto drawn_size = [&] { return small_sizes[random() % std::size(small_sizes)]; };
      for (std::size_t draw = 0; draw < MOST_DRAWN && shapes.size() < most_; ++draw) {
        const std::string name = drawn_name(), other = drawn_name();
        const std::int64_t size = drawn_size();
        consider(with(with(own, name, size), other, drawn_size()));
      }
      return;
    }
    for (const auto& [name, value] : own)
      for (const std::int64_t size : small_sizes)
        for (const auto& [other, other_value] : own)
          for (const std::int64_t other_size : small_sizes)
            if (other != name)
              consider(with(with(own, name, size), other, other_size));
  }

  std::vector<std::shared_ptr<const Workload>> shapes;

private:
  // Whether the grid follows the size's largest dimension, but no further than here.
  bool is_capped(Dimensions dimensions, const std::array<std::uint32_t, 3>& grid) const {
    const auto largest =
        std::ranges::max_element(dimensions, {}, [](const auto& dimension) { return dimension.second; });
    const auto& sides = subject_.spec.reference.launch.grid;
    if (largest == dimensions.end() || std::ranges::none_of(sides, [&](const Expression& side) {
          return std::ranges::find(side.names(), largest->first) != side.names().end();
        }))
      return false;
    largest->second *= 2;
    Problem larger;
    larger.dimensions = std::move(dimensions);
    const auto workload = own_workload(subject_.spec, larger, types_, subject_.device);
    const auto knobs = workload ? default_knobs(**workload) : Result<KnobValues>(Error{});
    if (!knobs)
      return false;
    const auto launch = bind_launch(subject_.spec.reference.launch, **workload, *knobs);
    return launch.ok() && launch->grid == grid;
  }

  const JudgedPair& subject_;
  const std::map<std::string, std::string>& types_;
  const ShapeLimits& limits_;
  std::size_t most_;
  const Configuration* only_;
  std::size_t turn_ = 0; // of the trials of text sizes
  std::set<Dimensions> seen_;
};

// Of knobs that are tiles, in ascending order.
std::set<std::int64_t> tile_values(const std::vector<const Configuration*>& configurations) {
  std::set<std::int64_t> values;
  for (const Configuration* configuration : configurations) {
    const std::vector<Knob>& knobs = configuration->workload->spec->knobs;
    for (std::size_t i = 0; i < knobs.size() && i < configuration->knobs.size(); ++i)
      if (const auto* value = std::get_if<std::int64_t>(&configuration->knobs[i]);
          knobs[i].kind == KnobKind::tile && value && *value > 1)
        values.insert(*value);
  }
  return values;
}

// Each dimension as three of a tile, which twice that tile does not divide.
void consider_left_over(const std::set<std::int64_t>& values, const std::vector<Dimensions>& starts,
                        ShapeList& list) {
  constexpr std::int64_t ODD_MULTIPLE = 3, FEW_TILES = 64;
  constexpr std::size_t MOST = 9;
  if (values.size() < 2)
    return;
  Dimensions short_ones = starts.front();
  for (auto& [name, size] : short_ones)
    size = std::min(size, FEW_TILES);
  std::size_t taken = 0;
  for (auto value = values.begin(); std::next(value) != values.end(); ++value)
    for (const auto& [name, size] : short_ones)
      for (Dimensions dimensions : {starts.front(), short_ones, starts.back()}) {
        dimensions[name] = ODD_MULTIPLE * *value;
        if (taken < MOST && list.consider(dimensions)) {
          ++taken;
          break;
        }
      }
}

void consider_multiples(const std::map<std::string, std::int64_t>& units, ShapeList& list) {
  const auto is_multiple = [](const auto& unit) { return unit.second > 1; };
  if (std::ranges::count_if(units, is_multiple) < 2)
    return;
  list.consider(units);
  for (const std::int64_t factor : {3, 5})
    for (const auto& [name, unit] : units) {
      Dimensions dimensions = units;
      dimensions[name] = factor * unit;
      list.consider(dimensions);
    }
}

// Of each dimension more than 8 bits count, as the problems have it, with few of the others.
void consider_many(const TuningSpec& spec, const std::map<std::string, std::int64_t>& units,
                   ShapeList& list) {
  constexpr std::int64_t COUNTED = 256;
  constexpr std::size_t MOST = 8;
  std::size_t taken = 0;
  for (const auto& unit : units) {
    const std::string& name = unit.first;
    const bool is_usual = std::ranges::any_of(spec.problems, [&](const Problem& problem) {
      const auto own = problem.dimensions.find(name);
      return own != problem.dimensions.end() && own->second > COUNTED;
    });
    if (!is_usual)
      continue;
    const auto is_taken = [&](std::int64_t few) {
      for (const std::int64_t many : {1027, 259}) {
        Dimensions dimensions;
        for (const auto& [other, least] : units)
          dimensions[other] = ((other == name ? many : few) + least - 1) / least * least;
        if (list.consider(dimensions))
          return true;
      }
      return false;
    };
    // The fewest that there are, and the most that fit: no powers of two, so that tiles are left in part.
    for (const auto& few :
         {std::array<std::int64_t, 4>{1, 4, 16, 64}, std::array<std::int64_t, 4>{61, 23, 11, 5}})
      taken += taken < MOST && std::ranges::any_of(few, is_taken);
  }
}

// Each dimension of which the problems have powers of two alone as a small number that is none, with as much
// of the others as there is room for: pages of a few tokens, and many of them.
void consider_odd(const TuningSpec& spec, const Dimensions& start, ShapeList& list) {
  constexpr std::size_t MOST = 6;
  std::size_t taken = 0;
  for (const std::string& name : spec.dimensions) {
    const bool is_told = std::ranges::any_of(spec.problems, [&](const Problem& problem) {
      const auto own = problem.dimensions.find(name);
      return own != problem.dimensions.end() && !is_power_of_two(own->second);
    });
    const auto is_taken = [&](std::int64_t size) {
      Dimensions dimensions = start;
      dimensions[name] = size;
      while (!list.consider(dimensions)) {
        const auto largest = std::ranges::max_element(dimensions, {}, [&](const auto& dimension) {
          return dimension.first == name ? 0 : dimension.second;
        });
        if (largest->first == name || largest->second <= 8)
          return false;
        largest->second = (largest->second + 1) / 2;
      }
      return true;
    };
    if (!is_told && taken < MOST)
      taken += std::ranges::any_of(std::array<std::int64_t, 5>{5, 3, 6, 12, 24}, is_taken);
  }
}

} // namespace

ShapeLimits widened(ShapeLimits limits) {
  constexpr std::uint64_t GROWTH = 8;
  limits.bytes = std::max(limits.bytes, std::min(GROWTH * limits.bytes, MOST_BYTES));
  limits.threads *= GROWTH;
  limits.template_threads *= GROWTH;
  return limits;
}

std::vector<std::shared_ptr<const Workload>>
shapes_near_problem(const JudgedPair& subject, const std::map<std::string, std::string>& types,
                    const Configuration& configuration, const ShapeLimits& limits, std::size_t most) {
  ShapeList list(subject, types, limits, most, &configuration);
  list.consider_near(configuration.workload->problem.dimensions);
  return std::move(list.shapes);
}

std::vector<std::shared_ptr<const Workload>>
boundary_shapes(const JudgedPair& subject, const std::map<std::string, std::string>& types,
                const std::vector<const Configuration*>& configurations, const ShapeLimits& limits,
                std::size_t most, const Configuration* only) {
  Random random(subject.seed ^ 0x5ba9e5);
  const std::set<std::int64_t> tile_sizes = tiles(configurations);
  const std::vector<Dimensions> starts = bases(subject.spec);
  std::map<std::string, std::vector<std::int64_t>> sizes;
  std::size_t longest = 1;
  for (const std::string& name : subject.spec.dimensions)
    longest = std::max(longest, (sizes[name] = sizes_of(name, subject, tile_sizes, random)).size());

  ShapeList list(subject, types, limits, most, only);
  std::vector<std::shared_ptr<const Workload>>& shapes = list.shapes;
  const auto consider = [&](const Dimensions& dimensions) { list.consider(dimensions); };
  // One configuration is admitted at its own problem: that with some dimensions small, then next to it.
  if (only)
    list.consider_near(only->workload->problem.dimensions);
  // Several dimensions that have to be multiples are so together: few of each, and more of one.
  if (only) {
    consider_multiples(size_units(subject, only->workload->problem, types, &only->knobs), list);
  } else if (!subject.spec.problems.empty()) {
    const auto units = size_units(subject, subject.spec.problems.front(), types, nullptr);
    consider_multiples(units, list);
    consider_many(subject.spec, units, list);
    consider_odd(subject.spec, starts[0], list);
  }
  // Where all problems have powers of two for a dimension, a size near theirs that is none, or else the least
  // that is admitted: a mask or a shift in place of a remainder or a quotient is right at theirs alone.
  for (const std::string& name : subject.spec.dimensions) {
    constexpr std::int64_t FIRST = 3, LARGEST = FIRST << 12;
    std::int64_t most_of_problems = FIRST;
    bool is_told = only != nullptr;
    for (const Problem& problem : subject.spec.problems)
      if (const auto own = problem.dimensions.find(name); own != problem.dimensions.end()) {
        most_of_problems = std::max(most_of_problems, own->second);
        is_told |= !is_power_of_two(own->second);
      }
    const auto is_taken = [&](std::int64_t size) {
      Dimensions dimensions = starts[2];
      dimensions[name] = size;
      return list.consider(dimensions);
    };
    std::int64_t size = FIRST;
    while (2 * size <= std::min(most_of_problems, LARGEST))
      size *= 2;
    if (is_told || is_taken(size))
      continue;
    for (size = FIRST; size <= LARGEST && !is_taken(size);)
      size *= 2;
  }
  // The problems' own sizes first, with the other dimensions small.
  for (const Problem& problem : subject.spec.problems) {
    consider(problem.dimensions);
    for (const auto& [name, value] : problem.dimensions) {
      Dimensions dimensions = starts[2];
      dimensions[name] = value;
      if (shapes.size() < most / 4)
        consider(dimensions);
    }
  }
  consider_left_over(tile_values(configurations), starts, list);
  // Sizes that the template's text names and the raw kernel's does not, and those next to them.
  constexpr std::size_t MOST_NUMBERS = 6;
  for (std::size_t n = 0; n < std::min(MOST_NUMBERS, subject.own_sizes.size()); ++n)
    for (const std::string& name : subject.spec.dimensions)
      for (const std::int64_t offset : {0, 1})
        for (const Dimensions& start : starts) {
          Dimensions dimensions = start;
          dimensions[name] = subject.own_sizes[n] + offset;
          const std::size_t before = shapes.size();
          consider(dimensions);
          if (shapes.size() > before)
            break;
        }
  consider(starts[2]);
  // The smallest that each dimension may be: one tile of it, one pack of it.
  for (const std::string& name : subject.spec.dimensions)
    for (std::int64_t size = 1; size <= 4096; size *= 2) {
      Dimensions dimensions = starts[0];
      dimensions[name] = size;
      const std::size_t before = shapes.size();
      consider(dimensions);
      if (shapes.size() > before) {
        std::rotate(shapes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(1, before)),
                    shapes.end() - 1, shapes.end());
        break;
      }
    }
  Dimensions ones;
  for (const std::string& name : subject.spec.dimensions)
    ones[name] = 1;
  consider(ones);
  // Some of the dimensions, drawn: kernels of one element over many channels, one image of one line.
  constexpr std::size_t DRAWN_ONES = 4;
  Random of_ones(subject.seed ^ 0x01e5);
  for (std::size_t drawn = 0; drawn < DRAWN_ONES && ones.size() > 2; ++drawn) {
    Dimensions dimensions = starts[drawn % starts.size()];
    for (auto& [name, size] : dimensions)
      if (of_ones() % 2 == 0)
        size = 1;
    consider(dimensions);
  }
  for (std::size_t round = 0; round < 2 * longest && shapes.size() < most; ++round) {
    for (const std::string& name : subject.spec.dimensions) {
      Dimensions dimensions = starts[round % starts.size()];
      dimensions[name] = sizes[name][round % sizes[name].size()];
      consider(dimensions);
    }
    Dimensions together;
    for (const std::string& name : subject.spec.dimensions)
      together[name] = sizes[name][random() % sizes[name].size()];
    consider(together);
  }
  return shapes;
}

std::shared_ptr<const Workload> least_shape(const JudgedPair& subject, const Configuration& configuration,
                                            const Problem& base, const std::string& dimension,
                                            const ShapeLimits& limits) {
  constexpr std::int64_t EACH = 64; // from here on, twice the one before
  ShapeList list(subject, configuration.workload->types, limits, 1, &configuration);
  auto dimensions = base.dimensions;
  const std::int64_t own = dimensions.at(dimension);
  for (std::int64_t size = 1; size < own; size += size < EACH ? 1 : size) {
    dimensions[dimension] = size;
    if (list.consider(dimensions))
      return list.shapes.front();
  }
  // Conditions that tie the dimension to the knobs admit only sizes near this one: a round that is kept must
  // not be idle, say.
  std::int64_t less = 1;
  while (less * 2 < own)
    less *= 2;
  for (; less > 0; less /= 2) {
    dimensions[dimension] = own - less;
    if (own > less && list.consider(dimensions))
      return list.shapes.front();
  }
  return nullptr;
}

std::shared_ptr<const Workload> shape_of(const JudgedPair& subject, const Configuration& configuration,
                                         const Problem& problem, const ShapeLimits& limits) {
  ShapeList list(subject, configuration.workload->types, limits, 1, &configuration);
  return list.consider(problem.dimensions) ? list.shapes.front() : nullptr;
}

std::shared_ptr<const Workload> reduced_problem(const JudgedPair& subject, const Configuration& configuration,
                                                const Problem& problem, const ShapeLimits& limits) {
  if (auto whole = shape_of(subject, configuration, problem, limits))
    return whole;
  constexpr std::uint64_t SHARE = 8; // it is one of many
  ShapeLimits few = limits;
  few.bytes /= SHARE;
  few.threads /= SHARE;
  few.template_threads /= SHARE;
  ShapeList list(subject, configuration.workload->types, few, 1, &configuration);
  Dimensions dimensions = problem.dimensions;
  const auto size = [](const auto& dimension) { return dimension.second; };
  while (!list.consider(dimensions)) {
    const auto largest = std::ranges::max_element(dimensions, {}, size);
    if (largest == dimensions.end() || largest->second <= 1)
      return nullptr;
    largest->second /= 2;
  }
  return list.shapes.front();
}

std::shared_ptr<const Workload> longest_shape(const JudgedPair& subject, const Configuration& configuration,
                                              const Problem& base, const std::string& dimension,
                                              std::int64_t growth, bool one_more, const ShapeLimits& limits) {
  ShapeList list(subject, configuration.workload->types, limits, 32, &configuration);
  const std::int64_t own = base.dimensions.at(dimension);
  const std::set<std::string> tied = tied_to(subject.spec, dimension);
  const auto is_taken = [&](std::int64_t size) {
    auto dimensions = base.dimensions;
    dimensions[dimension] = size;
    if (list.consider(dimensions))
      return true;
    for (const std::string& other : tied)
      dimensions[other] = std::max<std::int64_t>(1, dimensions[other] * size / own);
    return !tied.empty() && list.consider(dimensions);
  };
  // Where a grid has as many blocks as it may, more may be too many, and many more not.
  for (std::int64_t size = 2 * own; size < 2 * growth * own; size *= 2)
    if (!(one_more && is_taken(size + 1)))
      is_taken(size);
  return list.shapes.empty() ? nullptr : list.shapes.back();
}

} // namespace lathe::refactor
