#include "refactor/app/buffer_inference.h"

#include "refactor/app/places_apart.h"
#include "refactor/app/traced_growth.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <iterator>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

constexpr double QUICK_RUN_S = 3; // of a run that may not end

double elements_of(const Dimensions& sizes) {
  double elements = 1;
  for (const auto& [name, size] : sizes)
    elements *= static_cast<double>(size);
  return elements;
}

std::map<std::size_t, std::int8_t> all_as(const std::set<std::size_t>& arguments, std::int8_t number) {
  std::map<std::size_t, std::int8_t> numbers;
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

// Whether the runs leave a buffer untouched, or write nothing. What is known to be one element is no sign:
// the kernel may have no use for it.
bool is_silent(const Candidate& raw, const std::vector<std::vector<Extent>>& runs) {
  bool writes = false, touches_all = true;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    if (!raw.arguments[i].is_buffer)
      continue;
    writes |= std::ranges::any_of(runs, [&](const auto& run) { return run[i].written; });
    touches_all &= raw.arguments[i].count.text() == "1" ||
                   std::ranges::any_of(runs, [&](const auto& run) { return run[i].elements > 0; });
  }
  return !writes || !touches_all;
}

// Integers by which a kernel may tell what there is to do: a count, a mark of nothing, and the numbers that
// its text has for such marks.
std::vector<std::int8_t> telling_numbers(const std::string& text) {
  constexpr std::int8_t COUNT = 4, NOTHING = -1;
  constexpr std::size_t MOST = 5;
  std::vector<std::int8_t> numbers{COUNT, NOTHING};
  static const std::regex marks(R"([=!]=\s*\(?\s*(-?\d{1,2})\b)"
                                R"(|#\s*define\s+\w+\s+\(?\s*(-\d{1,2})\b)"
                                R"(|\bconst(?:expr)?\s+[\w ]+=\s*(-\d{1,2})\b)");
  for (std::sregex_iterator at(text.begin(), text.end(), marks), none; at != none; ++at) {
    const std::string number = (*at)[1].str() + (*at)[2].str() + (*at)[3].str();
    const auto mark = static_cast<std::int8_t>(std::stoi(number));
    if (mark != 0 && mark != 1 && std::ranges::find(numbers, mark) == numbers.end() && numbers.size() < MOST)
      numbers.push_back(mark);
  }
  return numbers;
}

// Has the specification fill these arguments with integers from `low` to `high`.
Status fill_with(Candidate& raw, const std::set<std::size_t>& arguments, std::int8_t low, std::int8_t high,
                 const std::string& why, std::vector<std::string>& notes) {
  LATHE_TRY(const Expression lowest, Expression::parse(std::to_string(low)));
  LATHE_TRY(const Expression highest, Expression::parse(std::to_string(high)));
  for (const std::size_t i : arguments) {
    Argument& argument = raw.arguments[i];
    argument.fill.kind = Fill::Kind::integer;
    argument.fill.integer_low = lowest;
    argument.fill.integer_high = highest;
    const std::string what = low != high ? fmt::format("numbers from {} to {}", low, high)
                             : low == 1  ? "ones"
                                         : fmt::format("{}", low);
    notes.push_back(
        fmt::format("{} holds {}, {} (a workload file says otherwise)", argument.name, what, why));
  }
  return Done{};
}

// Truth values are drawn when kernels are judged and measured, and are all false in a traced run, by which a
// kernel may leave out what it does: traces with true ones where these use more buffers, nothing otherwise.
Result<Growth> trace_with_true(const Candidate& raw, const Dimensions& base, TracedKernel& kernel,
                               const Growth& with_false) {
  std::set<std::size_t> flags;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i)
    if (const Argument& argument = raw.arguments[i];
        argument.is_buffer && argument.dtype == "bool" && argument.direction != Direction::out)
      flags.insert(i);
  if (flags.empty())
    return Error{};
  kernel.set_integers(all_as(flags, 1));
  auto traced = trace_growth(raw, base, kernel, QUICK_RUN_S);
  if (traced.ok() && uses(traced->runs.front()) > uses(with_false.runs.front()))
    return traced;
  kernel.set_integers({});
  return Error{};
}

// Counts and flags in memory that are all zero let a kernel do nothing: where it leaves buffers untouched,
// the integers with which it uses most of them are other numbers. Traces anew with those; nothing where none
// helps.
Result<Growth> trace_with_counts(Candidate& raw, const Dimensions& base, TracedKernel& kernel,
                                 const Growth& with_zeros, std::vector<std::string>& notes) {
  constexpr double RUN_LIMIT_S = 2;
  constexpr std::chrono::seconds LONGEST{4};
  const auto deadline = std::chrono::steady_clock::now() + LONGEST;
  const Dimensions& sizes = with_zeros.sizes.front();
  std::size_t best = uses(with_zeros.runs.front());
  std::set<std::size_t> chosen;
  std::int8_t chosen_number = 0;
  bool is_heard = false;
  for (const std::int8_t number : telling_numbers(raw.text)) {
    for (const std::set<std::size_t>& choice : integer_choices(raw)) {
      // What is not read decides nothing.
      if (choice.size() == 1 && !with_zeros.runs.front()[*choice.begin()].read)
        continue;
      kernel.set_integers(all_as(choice, number));
      const auto extents = kernel.run(sizes, RUN_LIMIT_S);
      if (!extents.ok() || uses(*extents) <= best || std::ranges::any_of(*extents, &Extent::is_left))
        continue;
      best = uses(*extents), chosen = choice, chosen_number = number;
      is_heard = !is_silent(raw, {*extents});
    }
    if (is_heard || std::chrono::steady_clock::now() > deadline)
      break;
  }
  kernel.set_integers(all_as(chosen, chosen_number));
  if (chosen.empty())
    return Error{};
  LATHE_TRY(Growth traced, trace_growth(raw, base, kernel));
  LATHE_CHECK(fill_with(raw, chosen, std::min<std::int8_t>(0, chosen_number),
                        std::max<std::int8_t>(0, chosen_number), "as zeros leave buffers untouched", notes));
  return traced;
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

// A kernel that is told of ranges by an optional pointer has nothing to do where zeros say that they are
// empty, and something where the pointer is null. Traces with the one of the integer inputs that is read as
// null with which most buffers are used, be it where one size is larger (a row of whole vectors), and has the
// specification pass it so. Fails where none helps.
Result<Growth> trace_with_null(Candidate& raw, const TracedKernel& kernel, const Growth& with_zeros,
                               std::vector<std::string>& notes) {
  constexpr std::int64_t LARGER = 8;
  std::vector<Dimensions> tried{with_zeros.sizes.front()};
  for (const auto& [name, size] : with_zeros.sizes.front())
    (tried.emplace_back(with_zeros.sizes.front()))[name] *= LARGER;
  std::size_t most_uses = uses(with_zeros.runs.front());
  const Dimensions* sizes = nullptr;
  Argument* chosen = nullptr;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    Argument& argument = raw.arguments[i];
    const Extent& usual = with_zeros.runs.front()[i];
    if (!argument.is_buffer || argument.is_null || argument.fill.kind != Fill::Kind::zero || !usual.read ||
        usual.written)
      continue;
    argument.is_null = true;
    for (const Dimensions& larger : tried)
      if (const auto extents = kernel.run(larger, QUICK_RUN_S); extents.ok() && uses(*extents) > most_uses) {
        most_uses = uses(*extents);
        sizes = &larger;
        chosen = &argument;
      }
    argument.is_null = false;
  }
  if (!chosen)
    return Error{};
  chosen->is_null = true;
  auto traced = trace_growth_at(raw, *sizes, kernel, QUICK_RUN_S);
  chosen->is_null = traced.ok();
  if (traced.ok())
    notes.push_back(fmt::format("{0} is a null pointer, as zeros leave buffers untouched (say otherwise with "
                                "--argument {0}=COUNT)",
                                chosen->name));
  return traced;
}

// Zeros may be no integers for the kernel: it divides by them, or goes from one to the next without end.
// Traces with another number in one of the integer inputs, or in all of them, and has the specification fill
// them so. Fails where that does not help.
Result<Growth> trace_without_zeros(Candidate& raw, const Dimensions& base, TracedKernel& kernel, bool divides,
                                   std::vector<std::string>& notes) {
  constexpr double RUN_LIMIT_S = 0.5;
  const auto small = std::ranges::min(sizes_to_trace(raw, base, kernel), {}, elements_of);
  std::vector<std::int8_t> numbers{1};
  if (!divides)
    std::ranges::copy(telling_numbers(raw.text), std::back_inserter(numbers));
  for (const std::int8_t number : numbers)
    for (const std::set<std::size_t>& choice : integer_choices(raw)) {
      kernel.set_integers(all_as(choice, number));
      if (!divides && !kernel.run(small, RUN_LIMIT_S).ok())
        continue;
      auto traced = trace_growth(raw, base, kernel);
      if (!traced.ok() || writes_nothing_in(*traced)) // a mark by which nothing is done, and nothing fails
        continue;
      LATHE_CHECK(fill_with(raw, choice, number, number,
                            divides ? "as the kernel divides by it"
                                    : "as the raw kernel does not run with zeros there",
                            notes));
      return traced;
    }
  kernel.set_integers({});
  return Error{};
}

bool reaches_left(const Growth& growth) {
  return std::ranges::any_of(growth.runs,
                             [](const auto& run) { return std::ranges::any_of(run, &Extent::is_left); });
}

// Integers that count from one (pivots, one-based indices) lead in front of a buffer where they are zero:
// traces with ones in one of the integer inputs, or in all of them, and has the specification fill them so.
// Fails where that does not help.
Result<Growth> trace_from_one(Candidate& raw, const Dimensions& base, TracedKernel& kernel,
                              std::vector<std::string>& notes) {
  for (const std::set<std::size_t>& choice : integer_choices(raw)) {
    kernel.set_integers(all_as(choice, 1));
    auto traced = trace_growth(raw, base, kernel, QUICK_RUN_S);
    if (!traced.ok() || reaches_left(*traced))
      continue;
    LATHE_CHECK(
        fill_with(raw, choice, 1, 1, "as with zeros the raw kernel reaches in front of a buffer", notes));
    return traced;
  }
  kernel.set_integers({});
  return Error{};
}

// Elements, as expressions over the dimensions, by argument.
using Counts = std::map<std::size_t, std::string>;

Counts guesses_of(const Candidate& raw, const Growth& traced) {
  Counts counts;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i)
    if (raw.arguments[i].is_buffer)
      counts[i] = guess_of(traced, i).count;
  return counts;
}

// The buffers into which a run at these sizes reaches further than what is guessed of them.
std::vector<std::size_t> outgrown(const Counts& guessed, const TracedKernel& kernel,
                                  const std::vector<Extent>& extents, const Dimensions& sizes) {
  std::vector<std::size_t> found;
  for (const auto& [i, text] : guessed) {
    const auto count = Expression::parse(text);
    const auto value = count.ok() ? kernel.evaluate(*count, sizes) : Result<Value>(Error{});
    const auto* room = value.ok() ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (room && extents[i].elements > *room)
      found.push_back(i);
  }
  return found;
}

// Where integers in memory say where threads write, a part of a buffer may hold many of them (a page of a
// cache), and a few of them do not show how the buffer grows: what is seen from sizes at which more of
// something reaches further is added to what is guessed. Only of the buffers that this changes.
Counts counts_beyond_parts(const Candidate& raw, const TracedKernel& kernel, const Growth& traced) {
  Counts guessed = guesses_of(raw, traced), changed;
  for (const std::int64_t factor : {8, 64})
    for (const auto& [name, size] : traced.sizes.front()) {
      Dimensions sizes = traced.sizes.front();
      sizes[name] *= factor;
      const auto extents = kernel.run(sizes, QUICK_RUN_S);
      const auto short_ones =
          extents.ok() ? outgrown(guessed, kernel, *extents, sizes) : std::vector<std::size_t>();
      const auto further =
          short_ones.empty() ? Result<Growth>(Error{}) : trace_growth_at(raw, sizes, kernel, QUICK_RUN_S);
      if (further.ok() && is_telling(*further))
        for (const std::size_t i : short_ones)
          guessed[i] = changed[i] = guessed[i] + " + " + guess_of(*further, i).count;
    }
  return changed;
}

// Rows shorter than a tile, or a share of them that is none, hide how buffers grow: at each of some larger
// sizes, up to `base`, a run that reaches further than what is guessed has buffers traced anew from there,
// and what is seen there is room for, too. Only of the buffers that this changes. A run that would take long,
// by the one before, is not made.
Counts counts_at_larger_sizes(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel,
                              const Growth& traced, Counts guessed) {
  using Clock = std::chrono::steady_clock;
  constexpr int MOST_TRACES = 2;
  Counts changed;
  Dimensions before = traced.sizes.front();
  double seconds = 0;
  int traces = 0;
  for (const std::int64_t most : {64, 128, 256, 512, 1024}) {
    Dimensions sizes = before;
    for (const auto& [name, size] : reduced(base, most))
      sizes[name] = std::max(sizes[name], size);
    if (sizes == before)
      continue;
    if (seconds * elements_of(sizes) / elements_of(before) > QUICK_RUN_S)
      break;
    const auto begin = Clock::now();
    const auto extents = kernel.run(sizes, QUICK_RUN_S);
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!extents.ok())
      break;
    before = sizes;
    const auto short_ones = outgrown(guessed, kernel, *extents, sizes);
    if (short_ones.empty())
      continue;
    const auto further =
        ++traces > MOST_TRACES ? Result<Growth>(Error{}) : trace_growth_at(raw, sizes, kernel, QUICK_RUN_S);
    if (!further.ok() || !is_telling(*further))
      break;
    for (const std::size_t i : short_ones)
      guessed[i] = changed[i] = "max(" + guessed[i] + ", " + guess_of(*further, i).count + ")";
  }
  return changed;
}

// Where threads beyond the sizes work, too (a launch of whole blocks, which the kernel does not check), one
// block's work hides how buffers grow: where a run of more blocks reaches further than what is guessed,
// traces anew from sizes at which the grid grows with them. Nothing otherwise.
Result<Growth> trace_over_blocks(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel,
                                 const Growth& traced) {
  const Dimensions& sizes = traced.sizes.front();
  const Dimensions wider = with_growing_grid(raw, sizes, base, kernel);
  Dimensions doubled = wider;
  for (auto& [name, size] : doubled)
    if (size != sizes.at(name))
      size *= 2;
  const auto extents =
      wider == sizes ? Result<std::vector<Extent>>(Error{}) : kernel.run(doubled, QUICK_RUN_S);
  if (!extents.ok())
    return Error{};
  if (outgrown(guesses_of(raw, traced), kernel, *extents, doubled).empty())
    return Error{};
  LATHE_TRY(Growth grown, trace_growth_at(raw, wider, kernel, QUICK_RUN_S));
  return is_telling(grown) ? Result<Growth>(std::move(grown)) : Error{};
}

// A buffer that is counted in bytes, as nothing says what it holds, may hold elements of a type that is open.
bool is_in_bytes(const Argument& argument) {
  return argument.is_buffer && argument.dtype == "u8" && argument.count.text() == "0";
}

// Where buffers are counted in bytes: of each, by index, the factor over sizeof_T by which it grows with the
// type T. Nothing of those that do not, and where the kernel does not run with another type.
std::map<std::size_t, std::string> factors_by_type(const Candidate& raw, const TracedKernel& first,
                                                   const Growth& traced, const std::string& architecture) {
  std::map<std::size_t, std::string> factors;
  if (std::ranges::none_of(raw.arguments, is_in_bytes))
    return factors;
  for (const TypeParameter& type : raw.types) {
    const int usual = dtype_size(type.dtypes.front());
    const auto other = std::ranges::find_if(
        type.dtypes, [&](const std::string& dtype) { return dtype_size(dtype) != usual; });
    if (other == type.dtypes.end())
      continue;
    std::map<std::string, std::string> types = first.types();
    types[type.name] = *other;
    TracedKernel kernel(raw, architecture);
    kernel.set_types(std::move(types));
    kernel.set_integers(first.integers());
    const auto extents = kernel.compile().ok() ? kernel.run(traced.sizes.front(), QUICK_RUN_S)
                                               : Result<std::vector<Extent>>(Error{});
    if (!extents.ok())
      continue;
    for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
      const std::int64_t before = traced.runs.front()[i].elements, after = (*extents)[i].elements;
      const std::int64_t own = after * usual, expected = before * dtype_size(*other);
      // Or nearly: a vector at the end need not be loaded whole.
      if (is_in_bytes(raw.arguments[i]) && before > 0 && !factors.contains(i) && own <= expected &&
          10 * own >= 9 * expected)
        factors[i] = fmt::format("sizeof_{} / {}", type.name, usual);
    }
  }
  return factors;
}

} // namespace

Status infer_buffers(Candidate& raw, const Dimensions& base, const std::vector<std::string>& fixed_directions,
                     const std::string& architecture, std::vector<std::string>& notes, bool* writes_nothing) {
  TracedKernel kernel(raw, architecture);
  LATHE_CHECK(kernel.compile());
  Result<Growth> traced = trace_growth(raw, base, kernel, QUICK_RUN_S);
  const bool runs_with_zeros = traced.ok();
  const auto fails_with = [&](const char* reason) {
    return !traced.ok() && traced.error().sentence().find(reason) != std::string::npos;
  };
  if (!traced.ok()) {
    auto otherwise = trace_without_zeros(raw, base, kernel, fails_with(DIVISION_BY_ZERO), notes);
    if (otherwise.ok())
      traced = std::move(otherwise);
  }
  if (fails_with(DID_NOT_END))
    traced = trace_growth(raw, base, kernel);
  if (runs_with_zeros && reaches_left(*traced))
    if (auto from_one = trace_from_one(raw, base, kernel, notes); from_one.ok())
      traced = std::move(from_one);
  if (traced.ok() && is_silent(raw, traced->runs)) {
    auto louder = trace_with_true(raw, base, kernel, *traced);
    if (!louder.ok())
      louder = trace_with_counts(raw, base, kernel, *traced, notes);
    if (!louder.ok())
      louder = trace_at_larger_sizes(raw, base, kernel, *traced);
    if (louder.ok())
      traced = std::move(louder);
    if (is_silent(raw, traced->runs))
      if (auto with_null = trace_with_null(raw, kernel, *traced, notes); with_null.ok())
        traced = std::move(with_null);
  }
  if (traced.ok())
    if (auto grown = trace_over_blocks(raw, base, kernel, *traced); grown.ok())
      traced = std::move(grown);
  Counts beyond;
  if (traced.ok())
    if (auto apart = trace_with_places_apart(raw, architecture, kernel, *traced, notes); apart.ok()) {
      traced = std::move(apart);
      beyond = counts_beyond_parts(raw, kernel, *traced);
    }
  if (traced.ok() && beyond.empty())
    beyond = counts_at_larger_sizes(raw, base, kernel, *traced, guesses_of(raw, *traced));
  if (!traced.ok())
    return Error{
        "cannot see the buffers of " + raw.kernel, traced.error().sentence(),
        "give sizes that it supports with --problem, or every buffer's size with --argument NAME=COUNT"};
  if (writes_nothing)
    *writes_nothing = writes_nothing_in(*traced);
  const auto factors = factors_by_type(raw, kernel, *traced, architecture);
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    Argument& argument = raw.arguments[i];
    if (!argument.is_buffer)
      continue;
    bool read = false, written = false;
    for (const std::vector<Extent>& run : traced->runs) {
      read |= run[i].read;
      written |= run[i].written;
    }
    const bool fixed =
        std::find(fixed_directions.begin(), fixed_directions.end(), argument.name) != fixed_directions.end();
    if (!fixed && argument.direction != Direction::in)
      argument.direction = !written ? Direction::in : read ? Direction::inout : Direction::out;
    if (argument.count.text() != "0")
      continue;
    ExtentGuess guess = guess_of(*traced, i);
    if (const auto more = beyond.find(i); more != beyond.end())
      guess.count = more->second;
    if (const auto factor = factors.find(i); factor != factors.end())
      guess.count = "(" + guess.count + ") * " + factor->second;
    LATHE_TRY(argument.count, Expression::parse(guess.count));
    notes.push_back(fmt::format("{} has {} elements ({}; say otherwise with --argument {}=COUNT)",
                                argument.name, argument.count.text(), guess.why, argument.name));
  }
  return Done{};
}

} // namespace lathe::refactor
