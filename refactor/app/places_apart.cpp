#include "refactor/app/places_apart.h"

#include "refactor/app/offset_fill.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace lathe::refactor {
namespace {

constexpr double LONGEST_RUN_S = 3;

using Counts = std::map<std::size_t, Expression>; // by argument

// Integers that may be places, with how many there are.
Counts possible_places(const Candidate& raw, const TracedKernel& kernel, const Growth& traced) {
  static const std::set<std::string> wide_enough{"i32", "u32", "i64", "u64"};
  Counts counts;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    const Argument& argument = raw.arguments[i];
    const Extent& extent = traced.runs.back()[i];
    const auto type = kernel.types().find(argument.dtype);
    const std::string& dtype = type == kernel.types().end() ? argument.dtype : type->second;
    if (!argument.is_buffer || argument.fill.kind != Fill::Kind::zero || !wide_enough.contains(dtype) ||
        kernel.integers().contains(i) || !extent.read || extent.written || extent.elements < 2)
      continue;
    const bool is_known = argument.count.text() != "0";
    if (auto count = Expression::parse(is_known ? argument.count.text() : guess_of(traced, i).count);
        count.ok())
      counts.emplace(i, std::move(*count));
  }
  return counts;
}

// Whether a buffer whose size is known is reached behind.
bool reaches_too_far(const Candidate& raw, const TracedKernel& kernel, const Growth& growth) {
  for (std::size_t run = 0; run < growth.runs.size(); ++run)
    for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
      const Argument& argument = raw.arguments[i];
      if (!argument.is_buffer || argument.count.text() == "0")
        continue;
      const auto count = kernel.evaluate(argument.count, growth.sizes[run]);
      const auto* elements = count.ok() ? std::get_if<std::int64_t>(&*count) : nullptr;
      if (growth.runs[run][i].is_left || (elements && growth.runs[run][i].elements > *elements))
        return true;
    }
  return false;
}

// Sizes at which rows that places number lie apart: strides (by their names) are longer than what they step
// over, those of outer dimensions the longest, as they come first.
Dimensions enlarged_strides(const Candidate& raw, Dimensions sizes) {
  constexpr std::int64_t LONG = 1024, LONGER = 32 * LONG; // of a few rows what is watched holds
  bool is_first = true;
  for (const std::string& name : raw.dimensions)
    if (const auto found = sizes.find(name); found != sizes.end() && name.find("stride") != std::string::npos)
      found->second = std::exchange(is_first, false) ? LONGER : LONG;
  return sizes;
}

struct Choice {
  Counts counts;
  Fill::Kind kind = Fill::Kind::permutation;
};

// The choice with the fewest places that threads write together, fewer than with zeros; no counts where none
// is better.
Result<Choice> fewest_clashes(TracedKernel& watched, const Counts& possible, const Dimensions& sizes) {
  watched.set_places({});
  Choice chosen;
  LATHE_TRY(std::size_t fewest, watched.clashes(sizes, LONGEST_RUN_S));
  if (fewest == 0)
    return chosen;
  std::vector<Choice> choices;
  for (const Fill::Kind kind : {Fill::Kind::permutation, Fill::Kind::offsets}) {
    for (const auto& [argument, count] : possible)
      choices.push_back({{{argument, count}}, kind});
    if (possible.size() > 1)
      choices.push_back({possible, kind});
  }
  for (const Choice& choice : choices) {
    watched.set_places(choice.counts, choice.kind);
    if (const auto clashes = watched.clashes(sizes, LONGEST_RUN_S); clashes.ok() && *clashes < fewest) {
      fewest = *clashes;
      chosen = choice;
    }
    if (fewest == 0)
      break;
  }
  return chosen;
}

} // namespace

Result<Growth> trace_with_places_apart(Candidate& raw, const std::string& architecture, TracedKernel& kernel,
                                       const Growth& with_zeros, std::vector<std::string>& notes) {
  const Counts possible = possible_places(raw, kernel, with_zeros);
  if (possible.empty() || writes_nothing_in(with_zeros))
    return Error{};
  TracedKernel watched(raw, architecture);
  watched.set_types(kernel.types());
  watched.set_integers(kernel.integers());
  LATHE_CHECK(watched.compile_watched());
  const Dimensions& sizes = with_zeros.sizes.back();
  LATHE_TRY(Choice chosen, fewest_clashes(watched, possible, sizes));
  if (const Dimensions apart = enlarged_strides(raw, sizes); chosen.counts.empty() && apart != sizes)
    if (auto other = fewest_clashes(watched, possible, apart); other.ok())
      chosen = std::move(*other);
  if (chosen.counts.empty())
    return Error{};
  kernel.set_places(chosen.counts, chosen.kind);
  auto traced = trace_growth_at(raw, with_zeros.sizes.front(), kernel, LONGEST_RUN_S);
  if (!traced.ok() || writes_nothing_in(*traced) || reaches_too_far(raw, kernel, *traced)) {
    kernel.set_places({});
    return Error{};
  }
  for (const auto& [i, count] : chosen.counts) {
    Argument& argument = raw.arguments[i];
    argument.fill.kind = chosen.kind;
    const bool rises = chosen.kind == Fill::Kind::offsets;
    if (rises) {
      LATHE_TRY(argument.fill.integer_high, usual_end(count.text(), argument.dtype));
    }
    notes.push_back(
        fmt::format("{} holds {}, as with zeros threads write to the same places (a workload file says "
                    "otherwise)",
                    argument.name,
                    rises ? "offsets of ranges, from 0 to " + argument.fill.integer_high.text()
                          : "each number below its length once"));
  }
  return traced;
}

} // namespace lathe::refactor
