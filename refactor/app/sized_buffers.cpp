#include "refactor/app/sized_buffers.h"

#include "refactor/app/buffer_inference.h"
#include "refactor/app/numbered_tables.h"
#include "refactor/app/offset_fill.h"
#include "refactor/app/traced_kernel.h"
#include "refactor/app/written_buffers.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe::refactor {
namespace {

// What all attempts at the sizes together may take of the processor: behind that none is begun.
class TimeForAttempts {
public:
  bool is_left() const { return seconds_of_children() - begin_ < MOST_S; }

private:
  static constexpr double MOST_S = 60;
  double begin_ = seconds_of_children();
};

// The problem with the fewest elements: cheap to trace.
std::map<std::string, std::int64_t> smallest(const std::vector<Problem>& problems) {
  const auto size = [](const Problem& problem) {
    double product = 1;
    for (const auto& [name, value] : problem.dimensions)
      product *= static_cast<double>(value);
    return product;
  };
  return std::min_element(problems.begin(), problems.end(),
                          [&](const Problem& a, const Problem& b) { return size(a) < size(b); })
      ->dimensions;
}

} // namespace

// The same with what is one there, and more in other problems, a few: (n - 1) * stride + m does not show at
// one column that it follows the stride.
std::map<std::string, std::int64_t> smallest_with_few(const std::vector<Problem>& problems) {
  constexpr std::int64_t FEW = 4;
  std::map<std::string, std::int64_t> sizes = smallest(problems);
  for (auto& [name, size] : sizes)
    if (size == 1 && std::ranges::any_of(problems, [&, &wanted = name](const Problem& problem) {
          const auto found = problem.dimensions.find(wanted);
          return found != problem.dimensions.end() && found->second >= FEW;
        }))
      size = FEW;
  return sizes;
}

namespace {

// Sizes below `least` become that, or the largest that any of the problems has.
Dimensions enlarged(Dimensions sizes, std::int64_t least, const std::vector<Problem>& problems) {
  for (auto& [name, size] : sizes) {
    std::int64_t largest = size;
    for (const Problem& problem : problems)
      if (const auto found = problem.dimensions.find(name); found != problem.dimensions.end())
        largest = std::max(largest, found->second);
    size = std::max(size, std::min(least, largest));
  }
  return sizes;
}

bool has_given_direction(const Subject& subject, const Argument& argument) {
  const auto given = subject.facts.arguments.find(argument.name);
  return given != subject.facts.arguments.end() && given->second.direction.has_value();
}

std::vector<std::string> given_directions(const Subject& subject) {
  std::vector<std::string> names;
  for (const Argument& argument : subject.raw.arguments)
    if (has_given_direction(subject, argument))
      names.push_back(argument.name);
  return names;
}

// Reads the sizes of buffers off traced runs, with `without_offsets` for those of tables.
Status infer_sizes(Subject& subject, const std::vector<Argument>& without_offsets,
                   const ParseOptions& options, const TimeForAttempts& time) {
  const std::vector<std::string> fixed_directions = given_directions(subject);
  const std::vector<Problem>& problems = subject.facts.problems;
  // Where a few of each are too few (rows of whole vectors and tiles), more; then as few as there may be.
  constexpr std::int64_t WHOLE_VECTOR = 16; // bytes of the widest access, in elements of any type
  const auto few = smallest_with_few(problems);
  std::vector<Dimensions> tried;
  for (const Dimensions& sizes : {few, enlarged(few, WHOLE_VECTOR, problems), smallest(problems)})
    if (std::ranges::find(tried, sizes) == tried.end())
      tried.push_back(sizes);
  Status sized = Error{};
  for (const Dimensions& sizes : tried) {
    if (&sizes != &tried.front() && !time.is_left())
      break;
    auto attempt = infer_buffers(subject.raw, sizes, fixed_directions, subject.architecture, subject.notes,
                                 &subject.writes_nothing);
    const bool is_sized = attempt.ok();
    if (is_sized || &sizes == &tried.front() || &sizes == &tried.back())
      sized = std::move(attempt);
    if (is_sized)
      break;
  }
  LATHE_CHECK(std::move(sized));
  mark_written(subject.raw, fixed_directions, options, subject.notes);
  return lay_out_tables(subject.tables, without_offsets, subject.raw, subject.notes);
}

// Reads the sizes of buffers off traced runs where nobody gave them, with what looks like offsets of ranges
// rising where the raw kernel runs so.
Status size_buffers_as_given(Subject& subject, const ParseOptions& options, const TimeForAttempts& time) {
  const bool all_known = std::ranges::all_of(subject.raw.arguments, [&](const Argument& argument) {
    return !argument.is_buffer || (argument.count.text() != "0" && (argument.direction == Direction::in ||
                                                                    has_given_direction(subject, argument)));
  });
  const std::vector<Argument> without_offsets = subject.raw.arguments;
  const std::vector<std::string> offsets = mark_offsets(subject.raw, subject.facts.arguments, options);
  if (all_known && offsets.empty())
    return Done{};
  Status inferred = infer_sizes(subject, without_offsets, options, time);
  if (inferred.ok() || offsets.empty())
    return inferred.ok() ? bound_offsets(subject.raw, offsets, subject.notes) : inferred;
  subject.notes.push_back(
      fmt::format("{} could be offsets of ranges, but the raw kernel does not run so ({}): "
                  "zeros instead",
                  fmt::join(offsets, ", "), inferred.error().why));
  subject.raw.arguments = without_offsets;
  if (all_known)
    return Done{};
  return time.is_left() ? infer_sizes(subject, without_offsets, options, time) : inferred;
}

// Whether the raw kernel runs without the switches that were taken to be true: then that is what it is.
bool size_buffers_without_switches(Subject& subject, const ParseOptions& options,
                                   const TimeForAttempts& time) {
  if (subject.assumed_switches.empty() || !time.is_left())
    return false;
  Subject without = subject;
  for (Argument& argument : without.raw.arguments)
    if (std::ranges::find(without.assumed_switches, argument.name) != without.assumed_switches.end()) {
      argument.value = Expression(Value{std::int64_t{0}});
      std::erase_if(without.notes,
                    [&](const std::string& note) { return note.starts_with(argument.name + " = true"); });
      without.notes.push_back(fmt::format(
          "{0} = false, as the raw kernel does not run otherwise (say otherwise with --argument {0}=1)",
          argument.name));
    }
  if (!size_buffers_as_given(without, options, time).ok())
    return false;
  subject = std::move(without);
  return true;
}

// Whether the raw kernel runs, and writes, with another of the first values of its enumerations than the one
// that was taken (a mode that is not implemented, a default that the host resolves): then that is what it is.
bool size_buffers_in_another_mode(Subject& subject, const ParseOptions& options,
                                  const TimeForAttempts& time) {
  constexpr std::size_t MOST_MODES = 6;
  for (std::size_t i = 0; i < MOST_MODES && time.is_left(); ++i) {
    Subject other = subject;
    bool is_other = false;
    for (Argument& argument : other.raw.arguments) {
      const auto modes = other.assumed_modes.find(argument.name);
      if (modes == other.assumed_modes.end() || i >= modes->second.size() || modes->second[i] == 0)
        continue;
      is_other = true;
      argument.value = Expression(Value{modes->second[i]});
      std::erase_if(other.notes,
                    [&](const std::string& note) { return note.starts_with(argument.name + " = 0 "); });
      other.notes.push_back(
          fmt::format("{0} = {1}, as the raw kernel does not run, or writes nothing, with 0 "
                      "(say otherwise with --argument {0}=VALUE)",
                      argument.name, modes->second[i]));
    }
    if (!is_other || !size_buffers_as_given(other, options, time).ok() || other.writes_nothing)
      continue;
    subject = std::move(other);
    return true;
  }
  return false;
}

// Whether the raw kernel, which writes nothing otherwise, writes with offsets of ranges in its integer
// inputs, in all of them or in one: the text may reach them in ways that do not show what they are.
bool size_buffers_with_offsets(Subject& subject, const ParseOptions& options, const TimeForAttempts& time) {
  constexpr std::size_t MOST_CHOICES = 4;
  const std::vector<std::string> possible = possible_offsets(subject.raw, subject.facts.arguments);
  std::vector<std::vector<std::string>> choices{possible};
  for (const std::string& name : possible)
    if (possible.size() > 1 && choices.size() < MOST_CHOICES)
      choices.push_back({name});
  for (const std::vector<std::string>& choice : choices) {
    Subject with = subject;
    mark_as_offsets(with.raw, choice);
    if (choice.empty() || !time.is_left() || !infer_sizes(with, subject.raw.arguments, options, time).ok() ||
        with.writes_nothing || !bound_offsets(with.raw, choice, with.notes).ok())
      continue;
    subject = std::move(with);
    return true;
  }
  return false;
}

} // namespace

Status size_buffers(Subject& subject, const ParseOptions& options) {
  Subject before = subject;
  const TimeForAttempts time;
  Status sized = size_buffers_as_given(subject, options, time);
  if (sized.ok() && !subject.writes_nothing)
    return sized;
  if ((!sized.ok() && size_buffers_without_switches(before, options, time)) ||
      size_buffers_in_another_mode(before, options, time) ||
      (sized.ok() && size_buffers_with_offsets(before, options, time))) {
    subject = std::move(before);
    return Done{};
  }
  return sized;
}

} // namespace lathe::refactor
