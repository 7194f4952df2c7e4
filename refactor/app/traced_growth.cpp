#include "refactor/app/traced_growth.h"

#include "refactor/app/divided_sizes.h"
#include "refactor/app/launch_conditions.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

namespace lathe::refactor {
namespace {

constexpr double FURTHER_RUN_LIMIT_S = 10, ALL_RUNS_LIMIT_S = 20;
constexpr std::size_t MOST_RUNS = 64;

// The sizes, those of them larger that an empty grid follows: n / 1024 is none at small ones.
Dimensions with_blocks(Dimensions sizes, const Candidate& raw, const Dimensions& base,
                       const TracedKernel& kernel) {
  const auto is_empty = [&](const Expression& size) {
    const auto value = kernel.evaluate(size, sizes);
    const auto* number = value.ok() ? std::get_if<std::int64_t>(&*value) : nullptr;
    return number && *number <= 0;
  };
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto* axes : {&raw.launch.grid, &raw.launch.block})
      for (const Expression& size : *axes)
        if (is_empty(size))
          for (const std::string& name : size.names())
            if (const auto found = sizes.find(name); found != sizes.end() && found->second < base.at(name)) {
              found->second = std::min(2 * found->second, base.at(name));
              grows = true;
            }
  }
  return sizes;
}

// The sizes, those of them changed that the program only launches the kernel for multiples of: what is left
// of a tile may be nobody's, and hide how buffers grow. As they are where such multiples are above `base`.
Dimensions with_multiples(const Dimensions& sizes, const Candidate& raw, const Dimensions& base) {
  std::vector<Expression> asked;
  std::ranges::copy_if(raw.launched_where, std::back_inserter(asked), has_remainder);
  Problem problem;
  problem.dimensions = sizes;
  if (std::ranges::none_of(asked, [&](const Expression& need) { return fails_at(need, problem); }) ||
      !meet_conditions(asked, problem) || std::ranges::any_of(problem.dimensions, [&](const auto& changed) {
        return changed.second > base.at(changed.first);
      }))
    return sizes;
  return problem.dimensions;
}

// Sizes to try. Of a problem of many elements the cheapest first; of one whose sizes multiply to few, they
// themselves first, because a size below the block shows a block's work at any size. Kernels do not support
// all of them.
std::vector<Dimensions> attempts(const Dimensions& base) {
  constexpr double few_elements = 1 << 16;
  double elements = 1;
  for (const auto& [name, size] : base) // a loop's first round, 0, makes nothing small
    elements *= static_cast<double>(std::max<std::int64_t>(1, size));
  const bool is_small = elements <= few_elements;
  std::vector<Dimensions> tried{base};
  for (const std::int64_t most : is_small ? std::vector{1024, 128, 32, 16} : std::vector{128, 32, 16})
    if (Dimensions smaller = reduced(base, most); smaller != tried.back())
      tried.push_back(std::move(smaller));
  if (!is_small)
    std::reverse(tried.begin(), tried.end());
  return tried;
}

} // namespace

Dimensions reduced(const Dimensions& sizes, std::int64_t most) {
  Dimensions small = sizes;
  for (auto& [name, size] : small)
    while (size > most)
      size = (size + 1) / 2;
  return small;
}

std::vector<Dimensions> sizes_to_trace(const Candidate& raw, const Dimensions& base,
                                       const TracedKernel& kernel) {
  constexpr std::int64_t SHORT_PART =
      16; // the bytes of the widest access: in elements of any type no less than one of these
  const std::vector<DividedSize> divided = divided_sizes(raw);
  std::vector<Dimensions> found;
  for (Dimensions wanted : attempts(base)) {
    keep_parts(divided, base, SHORT_PART, wanted);
    if (const Dimensions sizes = with_multiples(with_blocks(wanted, raw, base, kernel), raw, base);
        std::ranges::find(found, sizes) == found.end())
      found.push_back(sizes);
  }
  return found;
}

Dimensions with_growing_grid(const Candidate& raw, const Dimensions& sizes, const Dimensions& base,
                             const TracedKernel& kernel) {
  Dimensions grown = sizes;
  for (const Expression& side : raw.launch.grid)
    for (const std::string& name : side.names()) {
      const auto own = grown.find(name);
      if (own == grown.end())
        continue;
      const std::int64_t before = own->second;
      const auto is_flat = [&] {
        const auto blocks = kernel.evaluate(side, grown);
        Dimensions doubled = grown;
        doubled[name] *= 2;
        const auto more = kernel.evaluate(side, doubled);
        return blocks.ok() && more.ok() && *blocks == *more;
      };
      while (is_flat() && own->second < base.at(name))
        own->second = std::min(2 * own->second, base.at(name));
      if (is_flat()) // the grid is of one size, or has its largest
        own->second = before;
    }
  return grown;
}

// A pair of doubled dimensions tells something only where both of them alone change the same buffer.
Result<Growth> trace_growth_at(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel,
                               double first_run_limit_s) {
  const auto begin = std::chrono::steady_clock::now();
  Growth traced;
  std::vector<std::string> names;
  for (const std::string& name : raw.dimensions)
    if (const auto size = base.find(name); size != base.end() && size->second != 0)
      names.push_back(name);
  LATHE_TRY(std::vector<Extent> first, kernel.run(base, first_run_limit_s));
  traced.sizes.push_back(base);
  traced.runs.push_back(std::move(first));
  // Sizes that the kernel does not support tell nothing.
  const auto add = [&](Dimensions sizes) -> const std::vector<Extent>* {
    auto extents = kernel.run(sizes, FURTHER_RUN_LIMIT_S);
    if (!extents.ok())
      return nullptr;
    traced.sizes.push_back(std::move(sizes));
    traced.runs.push_back(std::move(*extents));
    return &traced.runs.back();
  };
  const auto goes_on = [&] {
    return traced.runs.size() < MOST_RUNS &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < ALL_RUNS_LIMIT_S;
  };
  Dimensions tripled = base;
  for (auto& [name, size] : tripled)
    size *= 3;
  add(std::move(tripled));
  // Sets by size: what all the sets one smaller change decides whether a set is of interest.
  using Set = std::vector<std::string>;
  std::map<Set, std::set<std::size_t>> changed; // by set: the buffers that it changes
  // Whether a further dimension is worth a run: it changes what the set changes, and so do all the smaller
  // sets.
  const auto tells_something = [&](const Set& set, const std::string& further,
                                   const std::set<std::size_t>& buffers) {
    const auto alone = changed.find(Set{further});
    if (alone == changed.end() ||
        std::ranges::none_of(alone->second, [&](std::size_t i) { return buffers.contains(i); }))
      return false;
    for (std::size_t left_out = 0; left_out < set.size(); ++left_out) {
      Set smaller = set;
      smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(left_out));
      smaller.push_back(further);
      if (!changed.contains(smaller))
        return false;
    }
    return true;
  };
  std::vector<Set> level;
  for (const std::string& name : names)
    level.push_back({name});
  constexpr std::size_t largest_set = 5;
  for (std::size_t size = 1; size <= largest_set && !level.empty(); ++size) {
    std::vector<Set> next;
    for (const Set& set : level) {
      if (!goes_on())
        break;
      Dimensions sizes = base;
      for (const std::string& name : set)
        sizes[name] *= 2;
      const std::vector<Extent>* extents = add(std::move(sizes));
      if (extents == nullptr)
        continue;
      std::set<std::size_t>& buffers = changed[set];
      for (std::size_t i = 0; i < extents->size(); ++i)
        if ((*extents)[i].elements != traced.runs.front()[i].elements)
          buffers.insert(i);
    }
    for (const auto& [set, buffers] : changed)
      for (auto name = std::ranges::find(names, set.back()) + 1; set.size() == size && name != names.end();
           ++name)
        if (Set larger = set; tells_something(larger, *name, buffers)) {
          larger.push_back(*name);
          next.push_back(std::move(larger));
        }
    level = std::move(next);
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<std::int64_t> blocks;
    for (const Dimensions& sizes : traced.sizes) {
      LATHE_TRY(const Launch geometry, kernel.launch(sizes));
      blocks.push_back(geometry.grid[axis]);
    }
    traced.geometry.emplace_back(raw.launch.grid[axis].text(), std::move(blocks));
  }
  return traced;
}

ExtentGuess guess_of(const Growth& growth, std::size_t argument) {
  std::vector<std::int64_t> elements;
  for (const std::vector<Extent>& run : growth.runs)
    elements.push_back(run[argument].elements);
  return guess_extent(growth.sizes, elements, growth.geometry);
}

bool writes_nothing_in(const Growth& growth) {
  return std::ranges::none_of(growth.runs,
                              [](const auto& run) { return std::ranges::any_of(run, &Extent::written); });
}

bool is_telling(const Growth& growth) {
  return growth.runs.size() > 1 || growth.sizes.front().empty();
}

Result<Growth> trace_growth(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel,
                            double first_run_limit_s) {
  Result<Growth> traced = Error{};
  for (const Dimensions& sizes : sizes_to_trace(raw, base, kernel)) {
    auto attempt = trace_growth_at(raw, sizes, kernel, first_run_limit_s);
    const bool tells = attempt.ok() && is_telling(*attempt);
    const bool is_better = !traced.ok() && (attempt.ok() || traced.error().what.empty());
    if (tells || is_better)
      traced = std::move(attempt);
    if (tells)
      break;
  }
  return traced;
}

} // namespace lathe::refactor
