#include "refactor/app/related_sizes.h"

#include "refactor/app/traced_growth.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <utility>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

// What a size may have to be beside others that are sixteen: twice, four times, three times as much, their
// product, one more, or a number of its own.
constexpr std::int64_t COMMON = 16;
constexpr std::int64_t ALONE[] = {32, 64, 256, 17, 48, 128, 1024, 4096, 8, 4, 2, 3, 1};
constexpr std::int64_t IN_PAIRS[] = {64, 256, 32, 4, 1};

// Whether the kernel runs, and stays behind the begin of its buffers.
bool stays_inside(const Result<std::vector<Extent>>& extents) {
  return extents.ok() && std::ranges::none_of(*extents, &Extent::is_left);
}

bool has_no_end(const Result<std::vector<Extent>>& extents) {
  return !extents.ok() && (extents.error().why.find(DID_NOT_END) != std::string::npos ||
                           extents.error().why.find(WAITS_FOR_A_BLOCK) != std::string::npos);
}

bool writes(const std::vector<Extent>& extents) {
  return std::ranges::any_of(extents, &Extent::written);
}

// What is wrong with the usual sizes, and may not be with others.
enum class Fault { none, does_not_run, writes_nothing };

// `none` where another change is the one, too: runs that do not end, and what other integers in memory mend.
Fault fault_of(const Candidate& raw, const std::vector<Problem>& problems, TracedKernel& kernel) {
  constexpr double RUN_LIMIT_S = 2;
  bool runs = false;
  std::map<std::size_t, std::int8_t> integers;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i)
    if (raw.arguments[i].is_buffer && raw.arguments[i].fill.kind == Fill::Kind::zero)
      integers[i] = 0;
  constexpr std::array<std::int8_t, 3> NUMBERS{0, 1, -1};
  for (const std::int8_t number : NUMBERS) {
    for (auto& [argument, integer] : integers)
      integer = number;
    kernel.set_integers(integers);
    for (const Problem& problem : problems)
      for (const Dimensions& sizes : sizes_to_trace(raw, problem.dimensions, kernel)) {
        const auto extents = kernel.run(sizes, RUN_LIMIT_S);
        if (stays_inside(extents) ? writes(*extents) : has_no_end(extents))
          return Fault::none;
        runs |= stays_inside(extents);
      }
    if (integers.empty())
      break;
  }
  kernel.set_integers({});
  if (runs && !integers.empty())
    return Fault::none; // counts and marks in memory may be why
  return runs ? Fault::writes_nothing : Fault::does_not_run;
}

// What the text compares a size with, if it is passed as it is: which of a few ways is meant, or a number
// that goes with one of them (`assert(mode != 1 || k == 3)`).
std::map<std::string, std::vector<std::int64_t>> compared_numbers(const Candidate& raw) {
  constexpr std::size_t MOST = 4;
  std::map<std::string, std::vector<std::int64_t>> numbers;
  for (const Argument& argument : raw.arguments) {
    const std::string size = argument.is_buffer ? "" : argument.value.text();
    if (std::ranges::find(raw.dimensions, size) == raw.dimensions.end())
      continue;
    std::vector<std::int64_t>& own = numbers[size];
    const std::regex comparison("\\b" + argument.name + R"(\s*[=!<>]=\s*(\d{1,3})\b)");
    for (std::sregex_iterator at(raw.text.begin(), raw.text.end(), comparison), none; at != none; ++at)
      if (const std::int64_t number = std::stoi((*at)[1]);
          number > 0 && own.size() < MOST && std::ranges::find(own, number) == own.end())
        own.push_back(number);
  }
  return numbers;
}

class Search {
public:
  Search(const TracedKernel& kernel, std::map<std::string, std::vector<std::int64_t>> compared)
      : kernel_(kernel), compared_(std::move(compared)) {}

  bool is_clean(const Dimensions& sizes) const {
    const auto extents = kernel_.run(sizes, RUN_LIMIT_S);
    return stays_inside(extents) && writes(*extents);
  }

  std::optional<Dimensions> near(Dimensions sizes) const {
    for (auto& [name, size] : sizes)
      size = COMMON;
    if (auto as_compared = with_compared(sizes))
      return as_compared;
    for (const std::int64_t size : ALONE)
      for (const auto& [name, common] : sizes)
        if (Dimensions one = changed(sizes, name, size); is_worth_a_run() && is_clean(one))
          return one;
    for (const std::int64_t size : IN_PAIRS)
      for (const std::int64_t other_size : IN_PAIRS)
        for (auto name = sizes.begin(); name != sizes.end(); ++name)
          for (auto other = std::next(name); other != sizes.end(); ++other)
            if (Dimensions two = changed(changed(sizes, name->first, size), other->first, other_size);
                is_worth_a_run() && is_clean(two))
              return two;
    return std::nullopt;
  }

  // All of them `times` as large; what was changed may be a product of the others, or a number that stays.
  std::optional<Dimensions> enlarged(const Dimensions& sizes, std::int64_t times) const {
    for (const std::int64_t of_changed : {times, times * times, std::int64_t{1}}) {
      Dimensions larger = sizes;
      for (auto& [name, size] : larger)
        size *= size == COMMON ? times : of_changed;
      if (is_clean(larger))
        return larger;
    }
    return std::nullopt;
  }

private:
  static constexpr double RUN_LIMIT_S = 0.5;
  static constexpr std::chrono::seconds LONGEST{5};

  static Dimensions changed(Dimensions sizes, const std::string& name, std::int64_t size) {
    sizes[name] = size;
    return sizes;
  }
  bool is_worth_a_run() const { return Clock::now() < deadline_; }

  // One or two of them numbers that the text compares them with.
  std::optional<Dimensions> with_compared(const Dimensions& sizes) const {
    for (auto one = compared_.begin(); one != compared_.end(); ++one)
      for (const std::int64_t number : one->second)
        if (Dimensions alone = changed(sizes, one->first, number); is_worth_a_run() && is_clean(alone))
          return alone;
    for (auto one = compared_.begin(); one != compared_.end(); ++one)
      for (auto other = std::next(one); other != compared_.end(); ++other)
        for (const std::int64_t number : one->second)
          for (const std::int64_t of_other : other->second)
            if (Dimensions two = changed(changed(sizes, one->first, number), other->first, of_other);
                is_worth_a_run() && is_clean(two))
              return two;
    return std::nullopt;
  }

  const TracedKernel& kernel_;
  std::map<std::string, std::vector<std::int64_t>> compared_;
  Clock::time_point deadline_ = Clock::now() + LONGEST;
};

std::string text_of(const Dimensions& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size);
  return text;
}

} // namespace

void relate_sizes(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                  std::vector<std::string>& notes) {
  constexpr std::size_t MOST_SIZES = 8; // of more, one or two alone are seldom at fault
  if (problems.empty() || raw.dimensions.size() < 2 || raw.dimensions.size() > MOST_SIZES)
    return;
  TracedKernel kernel(raw, architecture);
  if (!kernel.compile().ok())
    return;
  const Fault fault = fault_of(raw, problems, kernel);
  if (fault == Fault::none)
    return;
  const Search search(kernel, compared_numbers(raw));
  const std::optional<Dimensions> found = search.near(problems.front().dimensions);
  if (!found)
    return;
  std::vector<Problem> related;
  const auto add = [&](const Dimensions& sizes) {
    related.push_back(problems.front());
    related.back().dimensions = sizes;
    related.back().label.clear();
    notes.push_back(fmt::format(
        "the raw kernel {} at the usual sizes; it does at {} (say otherwise with --problem)",
        fault == Fault::writes_nothing ? "does not write" : "does not run clean", text_of(sizes)));
  };
  add(*found);
  for (const std::int64_t times : {4, 16})
    if (const auto larger = search.enlarged(*found, times))
      add(*larger);
  problems = std::move(related);
}

} // namespace lathe::refactor
