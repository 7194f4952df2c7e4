#include "refactor/app/usual_problems.h"

#include "refactor/app/divided_sizes.h"
#include "refactor/app/launch_conditions.h"

#include "tuner/device/device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <set>

namespace lathe::refactor {
namespace {

// " num heads " of num_heads and of numHeads: what a name's words are is asked by substrings with spaces.
std::string words_of(const std::string& name) {
  std::string words = " ";
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto letter = static_cast<unsigned char>(name[i]);
    if (name[i] == '_') {
      words += ' ';
      continue;
    }
    if (i > 0 && std::isupper(letter) && std::islower(static_cast<unsigned char>(name[i - 1])))
      words += ' ';
    words += static_cast<char>(std::tolower(letter));
  }
  return words + ' ';
}

bool says_any(const std::string& words, std::initializer_list<const char*> wanted) {
  return std::ranges::any_of(wanted, [&](const char* word) { return words.find(word) != std::string::npos; });
}

} // namespace

bool halve_largest(Problem& problem, const std::vector<std::string>& names) {
  std::int64_t* largest = nullptr;
  for (const std::string& name : names)
    if (const auto found = problem.dimensions.find(name);
        found != problem.dimensions.end() && (!largest || found->second > *largest))
      largest = &found->second;
  if (!largest || *largest <= 1)
    return false;
  *largest /= 2;
  return true;
}

// Of one of the equal parts that a kernel divides a row of no usual length into: four accesses of eight
// bytes.
constexpr std::int64_t SHORTEST_PART = 32;

// Of a token's vector in a model.
constexpr std::int64_t USUAL_ROW = 4096;

// The first line that fits counts.
std::optional<std::int64_t> usual_size(const std::string& name) {
  struct Usual {
    std::initializer_list<const char*> words;
    std::int64_t size;
  };
  static const std::array usual{
      Usual{{" id ", " idx ", " index "}, 1},
      Usual{{" head size ", " head dim ", "headdim", " per head "}, 128},
      Usual{{" head", " nhead"}, 32},
      Usual{{" expert"}, 64},
      Usual{{" topk ", " top k "}, 8},
      Usual{{" vocab"}, 32768},
      Usual{{" rotary dim ", " rot dim "}, 64},
      Usual{{" kernel size ", " kernel h ", " kernel w ", " filter size ", " filter h ", " filter w "}, 3},
      Usual{{" pooled "}, 7},
      Usual{{" padding ", " pad ", " dilation", " mode ", " style ", " border", " halo", " radius ",
             " iteration", " iter ", " iters ", " step ", " rank ", " axis ", " axes ", " order "},
            1},
      Usual{{" ratio ", " scale factor "}, 2},
      Usual{{" bits ", " nbits ", " nbit ", " bit width ", " bitwidth "}, 8},
      Usual{{" block size ", " page size "}, 16},
      Usual{{" group"}, 128},
      Usual{{" hidden ", " embed dim ", " embedding dim ", " d model "}, USUAL_ROW},
  };
  const std::string words = words_of(name);
  if (says_any(words,
               {" numel ", " nelem ", " elements "})) // of what the rest of the name says, not that itself
    return {};
  for (const Usual& line : usual)
    if (says_any(words, line.words))
      return line.size;
  return {};
}

namespace {

// Whether a dimension of this name counts things of which there are few in one call and many in another. The
// length of a row is no such count.
bool is_count(const std::string& name) {
  const std::string words = words_of(name);
  if (says_any(words, {" per row ", " per token ", " row size ", " row bytes ", " row len", " stride ",
                       " col ", " cols ", " column"}))
    return false;
  return says_any(words, {"token", "batch", "row", " num ", " seq", " blocks "}) || name == "n" ||
         name == "m";
}

// Of dimensions whose names say nothing: the more of them are multiplied, the smaller each has to be. Strides
// are what others are already.
std::int64_t usual_length(const std::vector<std::string>& dimensions) {
  const auto nameless = std::ranges::count_if(dimensions, [](const std::string& name) {
    return !usual_size(name) && !is_count(name) && !says_any(words_of(name), {" stride "});
  });
  return nameless <= 2 ? 4096 : nameless == 3 ? 256 : 64;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// A problem for each size of the only count. Of several counts all are small, middling and large together,
// and each is large alone: all combinations would be more than a tuning gets through.
std::vector<Problem> with_counts(const Problem& common, const std::vector<std::string>& counts,
                                 std::vector<std::string>& assumptions) {
  if (counts.empty())
    return {common};
  const bool is_only_dimension = counts.size() == 1 && common.dimensions.empty(); // a count of elements
  const std::array<std::int64_t, 3> sizes = is_only_dimension
                                                ? std::array<std::int64_t, 3>{1 << 16, 1 << 20, 1 << 24}
                                                : std::array<std::int64_t, 3>{1, 64, 4096};
  std::vector<Problem> problems;
  for (const std::int64_t size : sizes) {
    problems.push_back(common);
    for (const std::string& name : counts)
      problems.back().dimensions[name] = size;
  }
  if (counts.size() > 1)
    for (const std::string& large : counts) {
      problems.push_back(problems.front());
      problems.back().dimensions[large] = sizes.back();
    }
  for (const std::string& name : counts)
    assumptions.push_back(fmt::format("{} = {}{} (say otherwise with --problem or a workload file)", name,
                                      fmt::join(sizes, ", "), counts.size() > 1 ? ", not all with all" : ""));
  return problems;
}

enum class Width { widest, narrowest };

// A part of the raw launch at these sizes, with each type at its widest or narrowest; nothing where it has no
// value.
std::optional<std::int64_t> launch_value(const Candidate& raw, const DeviceInfo* device,
                                         const Problem& problem, const Expression& expression,
                                         Width width = Width::widest) {
  const std::map<std::string, Value> limits = device ? device->limits() : std::map<std::string, Value>();
  const auto lookup = [&](std::string_view name) -> std::optional<Value> {
    if (const auto found = problem.dimensions.find(std::string(name)); found != problem.dimensions.end())
      return Value{found->second};
    if (const auto limit = limits.find(std::string(name)); limit != limits.end())
      return limit->second;
    for (const TypeParameter& type : raw.types)
      if (name == "sizeof_" + type.name) {
        const auto [narrowest, widest] = std::ranges::minmax_element(type.dtypes, {}, dtype_size);
        return Value{std::int64_t{dtype_size(width == Width::widest ? *widest : *narrowest)}};
      }
    return std::nullopt;
  };
  const auto value = expression.evaluate(lookup);
  const auto* number = value.ok() ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number ? std::optional(*number) : std::nullopt;
}

// Of all buffers together at these sizes; a count that is more than 64 bits hold is more than there is.
double buffer_bytes(const Candidate& raw, const Problem& problem) {
  constexpr double TOO_MANY = 1e30;
  const auto is_size = [&](const std::string& name) {
    return problem.dimensions.contains(name) || name.starts_with("sizeof_");
  };
  double sum = 0;
  for (const Argument& argument : raw.arguments)
    if (argument.is_buffer) {
      const auto type = std::ranges::find(raw.types, argument.dtype, &TypeParameter::name);
      const std::string& dtype = type == raw.types.end() ? argument.dtype : type->dtypes.front();
      const auto count = launch_value(raw, nullptr, problem, argument.count);
      const bool is_beyond = !count && std::ranges::all_of(argument.count.names(), is_size);
      sum += (is_beyond ? TOO_MANY : static_cast<double>(count.value_or(0))) * dtype_size(dtype);
    }
  return sum;
}

// Whether an integer that is passed at these sizes is more than its type holds.
bool overflows(const Candidate& raw, const Problem& problem, const Argument& argument) {
  static const std::map<std::string, std::int64_t> most{
      {"i32", std::numeric_limits<std::int32_t>::max()}, {"u32", std::numeric_limits<std::uint32_t>::max()},
      {"i16", std::numeric_limits<std::int16_t>::max()}, {"u16", std::numeric_limits<std::uint16_t>::max()},
      {"i8", std::numeric_limits<std::int8_t>::max()},   {"u8", std::numeric_limits<std::uint8_t>::max()}};
  const auto own = most.find(argument.dtype);
  return !argument.is_buffer && own != most.end() &&
         std::ranges::any_of(std::array{Width::widest, Width::narrowest}, [&](Width width) {
           return launch_value(raw, nullptr, problem, argument.value, width).value_or(0) > own->second;
         });
}

// Whether the raw launch has at least one block and one thread at these sizes, whatever the types: n / 4 may
// be none.
bool has_blocks(const Candidate& raw, const DeviceInfo* device, const Problem& problem) {
  const auto is_positive = [&](const Expression& expression) {
    return launch_value(raw, device, problem, expression, Width::widest).value_or(0) > 0 &&
           launch_value(raw, device, problem, expression, Width::narrowest).value_or(0) > 0;
  };
  return std::all_of(raw.launch.grid.begin(), raw.launch.grid.end(), is_positive) &&
         std::all_of(raw.launch.block.begin(), raw.launch.block.end(), is_positive);
}

// Arguments that are quotients of sizes: how many parts of one size another has. A kernel does nothing where
// that is none.
std::vector<Expression> counts_of_parts(const Candidate& raw) {
  std::vector<Expression> counts;
  for (const Argument& argument : raw.arguments)
    if (!argument.is_buffer && argument.value.text().find(" / ") != std::string::npos &&
        argument.value.names().size() > 1)
      counts.push_back(argument.value);
  return counts;
}

bool has_parts(const Candidate& raw, const DeviceInfo* device, const Problem& problem) {
  return std::ranges::none_of(counts_of_parts(raw), [&](const Expression& count) {
    return launch_value(raw, device, problem, count) == 0;
  });
}

// Whether a block at these sizes has no more threads and shared memory than the device holds.
bool block_fits(const Candidate& raw, const DeviceInfo& device, const Problem& problem) {
  std::int64_t threads = 1;
  for (const Expression& size : raw.launch.block)
    threads *= std::clamp<std::int64_t>(launch_value(raw, &device, problem, size).value_or(1), 1, 1 << 20);
  return threads <= device.max_threads_per_block &&
         launch_value(raw, &device, problem, raw.launch.shared_bytes).value_or(0) <=
             device.shared_per_block_optin;
}

// Halves the sizes that the block and its shared memory follow, the largest first, until the device holds
// them. True where that was needed.
bool fit_to_device(const Candidate& raw, const DeviceInfo& device, Problem& problem) {
  std::vector<std::string> followed = raw.launch.shared_bytes.names();
  for (const Expression& size : raw.launch.block)
    followed.insert(followed.end(), size.names().begin(), size.names().end());
  bool is_smaller = false;
  while (!block_fits(raw, device, problem) && halve_largest(problem, followed))
    is_smaller = true;
  return is_smaller;
}

// Whether the device takes the raw launch at these sizes, and the kernel has something to do.
bool has_launch(const Candidate& raw, const DeviceInfo& device, const Problem& problem) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (launch_value(raw, &device, problem, raw.launch.grid[axis]).value_or(0) > device.max_grid[axis])
      return false;
  for (const Argument& argument : raw.arguments)
    if (!argument.is_buffer && argument.dtype.starts_with("u") &&
        launch_value(raw, &device, problem, argument.value).value_or(0) < 0)
      return false; // a part that begins behind the end
  return has_blocks(raw, &device, problem) && block_fits(raw, device, problem) &&
         has_parts(raw, &device, problem);
}

// And whether the launcher has this launch there.
bool is_launchable(const Candidate& raw, const DeviceInfo& device, const Problem& problem) {
  return has_launch(raw, device, problem) &&
         std::ranges::none_of(raw.launched_where,
                              [&](const Expression& condition) { return fails_at(condition, problem); });
}

// Where nothing can be launched at the guessed sizes, nothing is done (a quotient of two of them is 0, a
// product too many blocks) or the launcher launches something else, one or two of them are changed, as little
// as will do. True where that was needed and helped.
bool make_launchable(const Candidate& raw, const DeviceInfo& device, Problem& problem) {
  if (is_launchable(raw, device, problem))
    return false;
  Problem met = problem;
  const bool holds_all = meet_conditions(raw.launched_where, met);
  if (holds_all ? is_launchable(raw, device, met)
                : met.dimensions != problem.dimensions && has_launch(raw, device, met)) {
    problem = std::move(met);
    return true;
  }
  std::set<std::string> names;
  for (const auto* axes : {&raw.launch.grid, &raw.launch.block})
    for (const Expression& size : *axes)
      for (const std::string& name : size.names())
        if (problem.dimensions.contains(name))
          names.insert(name);
  std::vector<Expression> asked = counts_of_parts(raw);
  asked.insert(asked.end(), raw.launched_where.begin(), raw.launched_where.end());
  for (const Expression& one : asked)
    for (const std::string& name : one.names())
      if (problem.dimensions.contains(name))
        names.insert(name);
  constexpr int DOUBLINGS = 24; // a grid of n / 2^18 blocks has one
  std::optional<Problem> best;
  int least_change = 0;
  const auto consider = [&](const Problem& changed, int change) {
    if ((!best || change < least_change) && is_launchable(raw, device, changed)) {
      best = changed;
      least_change = change;
    }
  };
  const auto change_of = [&](const std::string& name, int doublings) {
    const auto now =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(problem.dimensions.at(name)))) - 1;
    return std::abs(doublings - now);
  };
  for (const std::string& name : names)
    for (int size = 0; size <= DOUBLINGS; ++size) {
      Problem one = problem;
      one.dimensions[name] = std::int64_t{1} << size;
      consider(one, change_of(name, size));
      for (const std::string& other : names)
        for (int other_size = 0; other > name && other_size <= DOUBLINGS; ++other_size) {
          Problem two = one;
          two.dimensions[other] = std::int64_t{1} << other_size;
          consider(two, change_of(name, size) + change_of(other, other_size));
        }
    }
  if (best)
    problem = *best;
  return best.has_value();
}

// Whether half the size leaves nothing to be launched or done, where there is something now.
bool ends_launch(const Candidate& raw, const Problem& problem, const std::string& name) {
  const auto found = problem.dimensions.find(name);
  if (found == problem.dimensions.end())
    return false;
  Problem less = problem;
  less.dimensions[name] = found->second / 2;
  return (has_blocks(raw, nullptr, problem) && !has_blocks(raw, nullptr, less)) ||
         (has_parts(raw, nullptr, problem) && !has_parts(raw, nullptr, less));
}

// Whether half the size leaves parts that are too short, where they are long enough now.
bool ends_parts(const std::vector<DividedSize>& divided, const Problem& problem, const std::string& name) {
  return std::ranges::any_of(divided, [&](const DividedSize& one) {
    const auto whole = problem.dimensions.find(one.whole), parts = problem.dimensions.find(one.parts);
    if (one.whole != name || whole == problem.dimensions.end() || parts == problem.dimensions.end())
      return false;
    const std::int64_t least = SHORTEST_PART * parts->second;
    return whole->second >= least && whole->second / 2 < least;
  });
}

} // namespace

std::vector<Problem> usual_problems(const Candidate& raw,
                                    const std::map<std::string, std::int64_t>& own_sizes,
                                    const std::string& architecture, std::vector<std::string>& assumptions) {
  Problem common;
  std::vector<std::string> counts; // dimensions that are small in one call and large in another
  const std::int64_t length = usual_length(raw.dimensions);
  // Rows are at least as far apart as they are long, or they would overlap.
  const bool has_usual_rows = std::ranges::any_of(
      raw.dimensions, [](const std::string& name) { return usual_size(name) == USUAL_ROW; });
  const auto length_of = [&](const std::string& name) {
    return has_usual_rows && says_any(words_of(name), {" stride "}) ? std::max(length, USUAL_ROW) : length;
  };
  std::vector<std::string> usual_sizes;
  for (const std::string& name : raw.dimensions) {
    if (const auto own = own_sizes.find(name); own != own_sizes.end()) {
      common.dimensions[name] = own->second;
      continue;
    }
    const std::optional<std::int64_t> usual = usual_size(name);
    if (!usual && (raw.dimensions.size() == 1 || is_count(name))) {
      counts.push_back(name);
      continue;
    }
    common.dimensions[name] = usual.value_or(length_of(name));
    usual_sizes.push_back(name);
  }
  for (const DividedSize& divided : divided_sizes(raw))
    if (!usual_size(divided.whole) && is_among(usual_sizes, divided.whole) &&
        is_among(usual_sizes, divided.parts))
      common.dimensions[divided.whole] =
          std::max(common.dimensions[divided.whole], SHORTEST_PART * common.dimensions[divided.parts]);
  for (const std::string& name : usual_sizes)
    assumptions.push_back(fmt::format("{} = {} (say otherwise with --problem or a workload file)", name,
                                      common.dimensions[name]));
  std::vector<Problem> problems = with_counts(common, counts, assumptions);
  const auto device = known_device(architecture);
  if (device.ok()) {
    bool is_smaller = false;
    std::set<std::string> changes;
    std::vector<Problem> held;
    for (Problem& problem : problems) {
      is_smaller |= fit_to_device(raw, *device, problem);
      const Problem guessed = problem;
      if (make_launchable(raw, *device, problem))
        for (const auto& [name, size] : problem.dimensions)
          if (size != guessed.dimensions.at(name))
            changes.insert(
                fmt::format("{} = {} in place of {}, at which nothing is done, or not by this launch", name,
                            size, guessed.dimensions.at(name)));
      if (std::ranges::find(held, problem.dimensions, &Problem::dimensions) == held.end())
        held.push_back(std::move(problem));
    }
    problems = std::move(held);
    assumptions.insert(assumptions.end(), changes.begin(), changes.end());
    if (is_smaller)
      assumptions.push_back("sizes at which a block asks for more threads or shared memory than " +
                            architecture + " has are halved until it does not");
  }
  std::vector<Problem> launched;
  std::copy_if(problems.begin(), problems.end(), std::back_inserter(launched), [&](const Problem& problem) {
    return has_blocks(raw, device.ok() ? &*device : nullptr, problem);
  });
  return launched.empty() ? problems : launched;
}

void fit_to_memory(const Candidate& raw, std::vector<Problem>& problems,
                   std::vector<std::string>& assumptions) {
  constexpr double MOST_BYTES = 8e9; // half of what the smallest devices of today hold
  const std::vector<DividedSize> divided = divided_sizes(raw);
  std::vector<Problem> held;
  std::set<std::string> changes;
  for (Problem problem : problems) {
    const Problem guessed = problem;
    std::vector<std::string> followed;
    do {
      followed.clear();
      for (const Argument& argument : raw.arguments) {
        const std::vector<std::string> names =
            argument.is_buffer && buffer_bytes(raw, problem) > MOST_BYTES ? argument.count.names()
            : overflows(raw, problem, argument)                           ? argument.value.names()
                                                                          : std::vector<std::string>();
        followed.insert(followed.end(), names.begin(), names.end());
      }
      std::erase_if(followed, [&](const std::string& name) {
        return ends_launch(raw, problem, name) || ends_parts(divided, problem, name);
      });
    } while (halve_largest(problem, followed));
    for (const auto& [name, size] : problem.dimensions)
      if (size != guessed.dimensions.at(name))
        changes.insert(fmt::format("{} = {} in place of {}, at which the buffers are too large for a device "
                                   "or a count for its type",
                                   name, size, guessed.dimensions.at(name)));
    if (std::ranges::find(held, problem.dimensions, &Problem::dimensions) == held.end())
      held.push_back(std::move(problem));
  }
  problems = std::move(held);
  assumptions.insert(assumptions.end(), changes.begin(), changes.end());
}

} // namespace lathe::refactor
