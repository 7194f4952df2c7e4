#include "refactor/app/buffer_inference.h"

#include "refactor/app/extent_guess.h"
#include "refactor/app/traced_growth.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {
namespace {

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
Result<Growth> trace_with_counts(Candidate& raw, const Dimensions& base, TracedKernel& kernel,
                                 const Growth& with_zeros, std::vector<std::string>& notes) {
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
  LATHE_TRY(Growth traced, trace_growth(raw, base, kernel));
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
Result<Growth> trace_at_larger_sizes(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel,
                                     const Growth& silent) {
  Result<Growth> best = Error{};
  std::size_t most_uses = uses(silent.runs.front());
  for (const Dimensions& sizes : sizes_to_trace(raw, base, kernel)) {
    auto traced = trace_growth_at(raw, sizes, kernel);
    if (!traced.ok() || !is_telling(*traced) || uses(traced->runs.front()) <= most_uses)
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
Result<Growth> trace_with_ones(Candidate& raw, const Dimensions& base, TracedKernel& kernel,
                               std::vector<std::string>& notes) {
  Result<Growth> traced = Error{};
  LATHE_TRY(const Expression one, Expression::parse("1"));
  for (const std::set<std::size_t>& choice : integer_choices(raw)) {
    kernel.set_integers(all_as(choice, 1));
    traced = trace_growth(raw, base, kernel);
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
  Result<Growth> traced = trace_growth(raw, base, kernel);
  if (!traced.ok() && traced.error().sentence().find(DIVISION_BY_ZERO) != std::string::npos)
    if (auto with_ones = trace_with_ones(raw, base, kernel, notes); with_ones.ok())
      traced = std::move(with_ones);
  if (traced.ok() && is_silent(raw, traced->runs)) {
    auto louder = trace_with_counts(raw, base, kernel, *traced, notes);
    if (!louder.ok())
      louder = trace_at_larger_sizes(raw, base, kernel, *traced);
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
