#include "refactor/app/buffer_inference.h"

#include "refactor/app/extent_guess.h"
#include "refactor/app/traced_kernel.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {
namespace {

// A run that shows how buffers grow is a small one; one that takes long says that its sizes are too large.
constexpr double FIRST_RUN_LIMIT_S = 20, FURTHER_RUN_LIMIT_S = 10, ALL_RUNS_LIMIT_S = 20;
constexpr std::size_t MOST_RUNS = 64;

struct Traced {
  std::vector<Dimensions> sizes;         // of each run; the first is the base
  std::vector<std::vector<Extent>> runs; // one entry an argument; scalars stay empty
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> geometry; // of the grid, in each run
};

class Inference {
public:
  Inference(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel)
      : raw_(raw), base_(base), kernel_(kernel) {}

  Result<Traced> trace(const Dimensions& base) const;
  // The sizes, those of them larger that an empty grid follows: n / 1024 is none at small ones.
  Dimensions with_blocks(Dimensions sizes) const;

private:
  const Candidate& raw_;
  const Dimensions& base_;
  const TracedKernel& kernel_;
};

Dimensions Inference::with_blocks(Dimensions sizes) const {
  const auto is_empty = [&](const Expression& size) {
    const auto value = kernel_.evaluate(size, sizes);
    const auto* number = value.ok() ? std::get_if<std::int64_t>(&*value) : nullptr;
    return number && *number <= 0;
  };
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto* axes : {&raw_.launch.grid, &raw_.launch.block})
      for (const Expression& size : *axes)
        if (is_empty(size))
          for (const std::string& name : size.names())
            if (const auto found = sizes.find(name); found != sizes.end() && found->second < base_.at(name)) {
              found->second = std::min(2 * found->second, base_.at(name));
              grows = true;
            }
  }
  return sizes;
}

// Small sizes show how buffers grow as well as large ones do, in less time and room.
Dimensions reduced(const Dimensions& sizes, std::int64_t most) {
  Dimensions small = sizes;
  for (auto& [name, size] : small)
    while (size > most)
      size = (size + 1) / 2;
  return small;
}

// Sizes to try. Of a problem of many elements the cheapest first; of one whose sizes multiply to few, they
// themselves first, because a size below the block shows a block's work at any size. Kernels do not support
// all of them.
std::vector<Dimensions> attempts(const Dimensions& base) {
  constexpr double few_elements = 1 << 16;
  double elements = 1;
  for (const auto& [name, size] : base)
    elements *= static_cast<double>(size);
  const bool is_small = elements <= few_elements;
  std::vector<Dimensions> tried{base};
  for (const std::int64_t most : is_small ? std::vector{1024, 128, 32, 16} : std::vector{128, 32, 16})
    if (Dimensions smaller = reduced(base, most); smaller != tried.back())
      tried.push_back(std::move(smaller));
  if (!is_small)
    std::reverse(tried.begin(), tried.end());
  return tried;
}

// Runs at `base`, with each dimension doubled, with pairs of them doubled, and with all of them tripled. A
// pair tells something only where both of its dimensions alone change the same buffer.
Result<Traced> Inference::trace(const Dimensions& base) const {
  const auto begin = std::chrono::steady_clock::now();
  Traced traced;
  std::vector<std::string> names;
  for (const std::string& name : raw_.dimensions)
    if (base.contains(name))
      names.push_back(name);
  LATHE_TRY(std::vector<Extent> first, kernel_.run(base, FIRST_RUN_LIMIT_S));
  traced.sizes.push_back(base);
  traced.runs.push_back(std::move(first));
  // Sizes that the kernel does not support tell nothing.
  const auto add = [&](Dimensions sizes) -> const std::vector<Extent>* {
    auto extents = kernel_.run(sizes, FURTHER_RUN_LIMIT_S);
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
      LATHE_TRY(const Launch geometry, kernel_.launch(sizes));
      blocks.push_back(geometry.grid[axis]);
    }
    traced.geometry.emplace_back(raw_.launch.grid[axis].text(), std::move(blocks));
  }
  return traced;
}

// Runs at the first of several sizes at which the raw kernel shows how its buffers grow. The first sizes'
// reason is told where there are none: larger ones fail for want of time besides.
Result<Traced> trace_raw(const Inference& inference, const Dimensions& base) {
  Result<Traced> traced = Error{};
  std::set<Dimensions> tried;
  for (const Dimensions& wanted : attempts(base)) {
    const Dimensions sizes = inference.with_blocks(wanted);
    if (!tried.insert(sizes).second)
      continue;
    auto attempt = inference.trace(sizes);
    // One run alone, where larger sizes do not run, does not show how buffers grow.
    const bool is_telling = attempt.ok() && (attempt->runs.size() > 1 || sizes.empty());
    const bool is_better = !traced.ok() && (attempt.ok() || traced.error().what.empty());
    if (is_telling || is_better)
      traced = std::move(attempt);
    if (is_telling)
      break;
  }
  return traced;
}

std::map<std::size_t, std::uint8_t> all_as(const std::set<std::size_t>& arguments, std::uint8_t number) {
  std::map<std::size_t, std::uint8_t> numbers;
  for (const std::size_t argument : arguments)
    numbers[argument] = number;
  return numbers;
}

// The arguments whose integers a traced run may choose: each alone, and all of them.
std::vector<std::set<std::size_t>> integer_choices(const Candidate& raw) {
  std::vector<std::set<std::size_t>> choices;
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i)
    if (const Argument& argument = raw.arguments[i]; argument.is_buffer &&
                                                     argument.direction != Direction::out &&
                                                     argument.fill.kind == Fill::Kind::zero) {
      choices.push_back({i});
      all.insert(i);
    }
  if (all.size() > 1)
    choices.push_back(all);
  return choices;
}

// In how many ways the kernel touches its buffers.
std::size_t uses(const std::vector<Extent>& extents) {
  std::size_t count = 0;
  for (const Extent& extent : extents)
    count += static_cast<std::size_t>(extent.read) + static_cast<std::size_t>(extent.written);
  return count;
}

// Counts and flags in memory that are all zero let a kernel do nothing: where it leaves buffers untouched,
// the integers with which it uses most of them are small numbers. Traces anew with those; nothing where none
// helps.
Result<Traced> trace_with_counts(Candidate& raw, const Dimensions& base, TracedKernel& kernel,
                                 const Traced& with_zeros, std::vector<std::string>& notes) {
  constexpr std::uint8_t MOST = 4;
  constexpr double RUN_LIMIT_S = 2;
  const Dimensions& sizes = with_zeros.sizes.front();
  std::size_t best = uses(with_zeros.runs.front());
  std::set<std::size_t> chosen;
  for (const std::set<std::size_t>& choice : integer_choices(raw)) {
    // What is not read decides nothing.
    if (choice.size() == 1 && !with_zeros.runs.front()[*choice.begin()].read)
      continue;
    kernel.set_integers(all_as(choice, MOST));
    const auto extents = kernel.run(sizes, RUN_LIMIT_S);
    if (extents.ok() && uses(*extents) > best)
      best = uses(*extents), chosen = choice;
  }
  kernel.set_integers(all_as(chosen, MOST));
  if (chosen.empty())
    return Error{};
  LATHE_TRY(Traced traced, trace_raw(Inference(raw, base, kernel), base));
  LATHE_TRY(const Expression low, Expression::parse("0"));
  LATHE_TRY(const Expression high, Expression::parse(std::to_string(MOST)));
  for (const std::size_t i : chosen) {
    Argument& argument = raw.arguments[i];
    argument.fill.kind = Fill::Kind::integer;
    argument.fill.integer_low = low;
    argument.fill.integer_high = high;
    notes.push_back(fmt::format("{} holds numbers from 0 to {}, as zeros leave buffers untouched (a workload "
                                "file says otherwise)",
                                argument.name, MOST));
  }
  return traced;
}

// Whether the runs leave a buffer untouched, or write nothing.
bool is_silent(const Candidate& raw, const std::vector<std::vector<Extent>>& runs) {
  bool writes = false, touches_all = true;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    if (!raw.arguments[i].is_buffer)
      continue;
    writes |= std::ranges::any_of(runs, [&](const auto& run) { return run[i].written; });
    touches_all &= std::ranges::any_of(runs, [&](const auto& run) { return run[i].elements > 0; });
  }
  return !writes || !touches_all;
}

// At small sizes a kernel may have nothing to do: traces from the smallest ones at which it writes and
// touches every buffer, or else from those at which it does more of both than `silent` does at its own.
// Nothing where there are none.
Result<Traced> trace_at_larger_sizes(const Candidate& raw, const Inference& inference, const Dimensions& base,
                                     const Traced& silent) {
  Result<Traced> best = Error{};
  std::size_t most_uses = uses(silent.runs.front());
  for (const Dimensions& wanted : attempts(base)) {
    auto traced = inference.trace(inference.with_blocks(wanted));
    if (!traced.ok() || traced->runs.size() < 2 || uses(traced->runs.front()) <= most_uses)
      continue;
    most_uses = uses(traced->runs.front());
    best = std::move(traced);
    if (!is_silent(raw, {best->runs.front()}))
      break;
  }
  return best;
}

// Integers that the kernel divides by are no zeros: traces with ones in one of the integer inputs, or in all
// of them, and has the specification fill them so. Fails where that does not help.
Result<Traced> trace_with_ones(Candidate& raw, const Dimensions& base, TracedKernel& kernel,
                               std::vector<std::string>& notes) {
  Result<Traced> traced = Error{};
  LATHE_TRY(const Expression one, Expression::parse("1"));
  for (const std::set<std::size_t>& choice : integer_choices(raw)) {
    kernel.set_integers(all_as(choice, 1));
    traced = trace_raw(Inference(raw, base, kernel), base);
    if (!traced.ok())
      continue;
    for (const std::size_t i : choice) {
      Argument& argument = raw.arguments[i];
      argument.fill.kind = Fill::Kind::integer;
      argument.fill.integer_low = argument.fill.integer_high = one;
      notes.push_back(fmt::format(
          "{} holds ones, as the kernel divides by it (a workload file says otherwise)", argument.name));
    }
    break;
  }
  return traced;
}

} // namespace

Status infer_buffers(Candidate& raw, const Dimensions& base, const std::vector<std::string>& fixed_directions,
                     const std::string& architecture, std::vector<std::string>& notes) {
  TracedKernel kernel(raw, architecture);
  LATHE_CHECK(kernel.compile());
  const Inference inference(raw, base, kernel);
  Result<Traced> traced = trace_raw(inference, base);
  if (!traced.ok() && traced.error().sentence().find(DIVISION_BY_ZERO) != std::string::npos)
    if (auto with_ones = trace_with_ones(raw, base, kernel, notes); with_ones.ok())
      traced = std::move(with_ones);
  if (traced.ok() && is_silent(raw, traced->runs)) {
    auto louder = trace_with_counts(raw, base, kernel, *traced, notes);
    if (!louder.ok())
      louder = trace_at_larger_sizes(raw, inference, base, *traced);
    if (louder.ok())
      traced = std::move(louder);
  }
  if (!traced.ok())
    return Error{
        "cannot see the buffers of " + raw.kernel, traced.error().sentence(),
        "give sizes that it supports with --problem, or every buffer's size with --argument NAME=COUNT"};
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    Argument& argument = raw.arguments[i];
    if (!argument.is_buffer)
      continue;
    bool read = false, written = false;
    std::vector<std::int64_t> elements;
    for (const std::vector<Extent>& run : traced->runs) {
      read |= run[i].read;
      written |= run[i].written;
      elements.push_back(run[i].elements);
    }
    const bool fixed =
        std::find(fixed_directions.begin(), fixed_directions.end(), argument.name) != fixed_directions.end();
    if (!fixed && argument.direction != Direction::in)
      argument.direction = !written ? Direction::in : read ? Direction::inout : Direction::out;
    if (argument.count.text() != "0")
      continue;
    const ExtentGuess guess = guess_extent(traced->sizes, elements, traced->geometry);
    LATHE_TRY(argument.count, Expression::parse(guess.count));
    notes.push_back(fmt::format("{} has {} elements ({}; say otherwise with --argument {}=COUNT)",
                                argument.name, argument.count.text(), guess.why, argument.name));
  }
  return Done{};
}

} // namespace lathe::refactor
